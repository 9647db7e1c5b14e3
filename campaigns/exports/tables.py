"""Tables as CSV: the figures of the page to the last digit, units in the header."""

import csv
from collections.abc import Iterable
from io import StringIO

from campaigns.domain.shown.tables import Cell, Column, Table

# A spreadsheet would compute a text that begins like this. Numbers are written as numbers.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def safe(text: str) -> str:
    """The text as a spreadsheet may read it: none of ours becomes a formula."""
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA_STARTS) else text


def csv_of_tables(tables: Iterable[Table]) -> str:
    """Table after table, a blank line between: title, header, rows. Empty cells stay empty."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    for index, table in enumerate(tables):
        if index:
            writer.writerow([])
        writer.writerow([safe(table.title)])
        writer.writerow([safe(table.label_title), *(safe(_head(each)) for each in table.columns)])
        for row in table.rows:
            writer.writerow([safe(row.label), *(_plain(cell) for cell in row.cells)])
    return out.getvalue()


def _head(column: Column) -> str:
    return f"{column.title} ({column.unit})" if column.unit else column.title


def _plain(cell: Cell) -> str:
    """The digits of the page with a decimal point and without separators of thousands."""
    if cell.value is None:
        return ""
    if isinstance(cell.value, str):
        return safe(cell.value)
    return cell.text.replace(",", "").replace("\u2212", "-").lstrip("+")
