"""The repeats of one plan, all targets of a matrix side by side: the few figures that tables of
studies have. The cells are those of each test's own table, which has all figures."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from campaigns.domain.shown.results import Answer
from campaigns.domain.shown.tables import Cell, Row, Table
from campaigns.domain.shown.target_matrix import MatrixRow
from campaigns.views.line_styles import LineStyle, line_style

_HEADS = (
    ("duration", "total", "s"),
    ("mean", "mean", "ms"),
    ("min", "min", "ms"),
    ("max", "max", "ms"),
)
_MEAN = "Mean"


@dataclass(frozen=True, slots=True)
class RepeatCells:
    """A target's figures in one repeat; [] where it has none. `why`: what is wrong with the run."""

    cells: list[Cell]
    why: str = ""
    is_apart: bool = False


@dataclass(frozen=True, slots=True)
class RepeatRow:
    label: str
    targets: list[RepeatCells]
    is_mean: bool


@dataclass(frozen=True, slots=True)
class RepeatTable:
    """`plans`: [(number, name, is it shown)]; `targets`: [(name, style)]."""

    plan: str
    plans: list[tuple[int, str, bool]]
    targets: list[tuple[str, LineStyle]]
    rows: list[RepeatRow]

    @property
    def heads(self) -> list[tuple[str, str]]:
        """(title, unit) of each target's figures."""
        return [(title, unit) for _, title, unit in _HEADS]


def repeat_table(answer: Answer, asked: Mapping[str, str]) -> RepeatTable | None:
    """Of the plan of ?plan=, counted from 1, or of the first; None without a matrix."""
    if answer.matrix is None:
        return None
    typed = asked.get("plan", "")
    number = int(typed) if re.fullmatch("[1-9][0-9]{0,2}", typed) else 1
    rows, shown = answer.matrix.rows, (number if number <= len(answer.matrix.rows) else 1)
    row, tests = rows[shown - 1], {test.test_id: test for test in answer.tests}
    of_targets = [tests[cell.test_id].table if cell else None for cell in row.cells]
    return RepeatTable(
        _name(row),
        [(n, _name(each), n == shown) for n, each in enumerate(rows, 1)],
        [(name, line_style(n)) for n, name in enumerate(answer.matrix.columns)],
        _rows(of_targets),
    )


def _name(row: MatrixRow) -> str:
    return f"{row.plan}, {row.place}" if row.place else row.plan


def _rows(tables: list[Table | None]) -> list[RepeatRow]:
    """The means first, then every repeat that a target has."""
    # Empty for what is not shown here. Means are of fewer runs where some do not count.
    by_label = [
        {{"mean": _MEAN, "run": row.label}.get(row.kind, ""): row for row in table.rows}
        if table
        else {}
        for table in tables
    ]
    labels = dict.fromkeys(label for rows in by_label for label in rows if label)
    ordered = sorted(labels, key=lambda label: label != _MEAN)
    return [
        RepeatRow(
            label,
            [_cells(table, rows.get(label)) for table, rows in zip(tables, by_label, strict=True)],
            label == _MEAN,
        )
        for label in ordered
    ]


def _cells(table: Table | None, row: Row | None) -> RepeatCells:
    if table is None or row is None:
        return RepeatCells([])
    keys = [column.key for column in table.columns]
    is_apart = row.link.get("trust") == "not_usable"
    cells = [row.cells[keys.index(key)] for key, *_ in _HEADS]
    return RepeatCells(cells, row.note, is_apart)
