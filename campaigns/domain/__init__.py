"""Pure: standard library, numpy and RE2 only. No clock, no I/O, no Django."""
