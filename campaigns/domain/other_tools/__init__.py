"""Plans and results in the words of other tools: their commands and their reports."""
