"""Judgements on measurements: judgement, thresholds, steady state, repeats, comparison."""
