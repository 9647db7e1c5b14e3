"""Exports for other programs and the terminal."""

from campaigns.exports.seconds import csv_of_seconds
from campaigns.exports.tables import csv_of_tables
from campaigns.exports.text import text_of_tables

__all__ = ["csv_of_seconds", "csv_of_tables", "text_of_tables"]
