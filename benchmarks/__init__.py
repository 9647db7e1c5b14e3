"""Measurements of our own tool. `make benchmark` runs `python -m benchmarks`."""
