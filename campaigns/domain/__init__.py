"""Pure: standard library and numpy only. No clock, no I/O, no Django."""
