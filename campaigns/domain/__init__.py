"""Pure: standard library and numpy. No clock, no input or output, no Django."""
