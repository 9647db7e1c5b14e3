"""Measurements: seconds, timings and totals, and what can be computed from them."""
