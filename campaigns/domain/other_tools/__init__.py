"""Plans as other tools' commands, and results as their reports."""
