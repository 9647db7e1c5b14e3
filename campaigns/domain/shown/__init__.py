"""How results are put, the same on page, API and terminal: tables, figures, tiles, sentences."""
