"""A table of figures: pages, API, CSV and the terminal all show the same cells."""

from dataclasses import dataclass, field, replace
from typing import Any

from campaigns.domain.units import said_of


@dataclass(frozen=True, slots=True)
class Column:
    """`key` is the metric's name (shown.metrics); `title` and `unit` are the two header lines."""

    key: str
    title: str
    unit: str = ""
    help: str = ""
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """`value` in the column's unit, rounded as shown; `text` as a page shows it ("–" if empty).

    `weak`: fewer than ten samples lie beyond this percentile. `why` says why the cell is empty or
    weak. `tone` is "", "good", "warn" or "bad".
    """

    value: float | int | str | None
    text: str
    weak: bool = False
    why: str = ""
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """`kind` is run, mean, pooled, or the table's own; `link` names what the row is about."""

    label: str
    cells: tuple[Cell, ...]
    kind: str = ""
    note: str = ""
    link: dict[str, Any] = field(default_factory=dict)  # such as {"run": 14}


@dataclass(frozen=True, slots=True)
class Table:
    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    label_title: str = ""
    note: str = ""

    def said_of(self, nouns: str) -> "Table":
        """The same figures in the words of what is counted; labels are names that people gave."""
        columns = (
            replace(each, title=said_of(nouns, each.title), help=said_of(nouns, each.help))
            for each in self.columns
        )
        rows = (
            replace(
                row,
                cells=tuple(replace(cell, why=said_of(nouns, cell.why)) for cell in row.cells),
                note=said_of(nouns, row.note),
            )
            for row in self.rows
        )
        return replace(self, columns=tuple(columns), rows=tuple(rows))

    def to_json(self) -> dict[str, Any]:
        """{"key", "title", "note", "columns": [{key, title, unit}], "rows": [{label, kind, …}]}."""
        return {
            "key": self.key,
            "title": self.title,
            "note": self.note,
            "columns": [
                {"key": column.key, "title": column.title, "unit": column.unit}
                for column in self.columns
            ],
            "rows": [
                {
                    "label": row.label,
                    "kind": row.kind,
                    "note": row.note,
                    **row.link,
                    "values": {
                        column.key: cell.value
                        for column, cell in zip(self.columns, row.cells, strict=True)
                    },
                    "weak": [
                        column.key
                        for column, cell in zip(self.columns, row.cells, strict=True)
                        if cell.weak
                    ],
                }
                for row in self.rows
            ],
        }
