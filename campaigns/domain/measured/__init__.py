"""What was seen: seconds, timings and totals, and what follows from them by arithmetic alone."""
