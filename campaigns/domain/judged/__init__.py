"""What may be said of what was seen: validity, thresholds, steady state, repeats, comparison."""
