"""Tables as CSV: the same figures as on the page, units in the header."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any

from campaigns.domain.shown.tables import Cell, Column, Row, Table

# A spreadsheet evaluates text that begins like this as a formula; some take the wide forms of the
# signs, too. Numbers are not affected.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def safe(text: str) -> str:
    """The text, escaped so that a spreadsheet does not evaluate it as a formula."""
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA_STARTS) else text


def csv_of_tables(tables: Iterable[Table]) -> str:
    """Each table's title, header and rows, separated by blank lines. Empty cells stay empty.

    What is said of a whole table stands beside its title, so that below the header are only rows.
    Where rows have weak cells, or notes, such as why there is no interval, they are in last
    columns.
    """
    out = StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    for index, table in enumerate(tables):
        if index:
            writer.writerow([])
        writer.writerow(map(safe, filter(None, [table.title, table.note])))
        weak = [_weak(table, row) for row in table.rows]
        notes = [row.note for row in table.rows]
        beside = {head: texts for head, texts in (("weak", weak), ("note", notes)) if any(texts)}
        heads = [table.label_title, *map(_head, table.columns), *beside]
        writer.writerow(map(safe, heads))
        for number, row in enumerate(table.rows):
            last = (safe(texts[number]) for texts in beside.values())
            writer.writerow([safe(row.label), *map(_plain, row.cells), *last])
    return out.getvalue()


def csv_of_lines(lines: Iterable[Sequence[Any]]) -> str:
    """A part of a file: lines of cells that need no escaping."""
    out = StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(lines)
    return out.getvalue()


def csv_of_rows(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A header and a row each; what a row does not have stays empty."""
    out = StringIO()
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\r\n", extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        plain = {key: safe(each) if isinstance(each, str) else each for key, each in row.items()}
        writer.writerow(plain)
    return out.getvalue()


def _weak(table: Table, row: Row) -> str:
    """The heads of the columns in which a page has ~ in this row."""
    pairs = zip(table.columns, row.cells, strict=True)
    return ", ".join(_head(column) for column, cell in pairs if cell.weak)


def _head(column: Column) -> str:
    return f"{column.title} ({column.unit})" if column.unit else column.title


def _plain(cell: Cell) -> str:
    """The page's digits with a decimal point and without thousands separators."""
    if cell.value is None:
        return ""
    if isinstance(cell.value, str):
        return safe(cell.value)
    return cell.text.replace(",", "").replace("\u2212", "-").lstrip("+")
