"""Judgements on measurements: validity, thresholds, steady state, repeats, comparison."""
