"""Presentation of results for pages, API and terminal: tables, figures, tiles, sentences."""
