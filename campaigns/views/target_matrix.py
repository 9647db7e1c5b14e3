"""The matrix of several targets as the campaign page draws it: texts, and marks on one axis."""

from dataclasses import dataclass
from typing import Any

from campaigns.domain.shown.network import difference_texts, network_decimals
from campaigns.domain.shown.target_matrix import (
    MatrixCell,
    MatrixRow,
    TargetMatrix,
    difference_interval,
    difference_words,
    interval_words,
    mean_words,
)
from campaigns.domain.units import number
from campaigns.views.drawings import LineStyle, Mark, RatioAxis, line_style

_GAP = 22.0  # percent between two labels: a plot is as wide as a column


@dataclass(frozen=True, slots=True)
class MatrixColumn:
    """A target. `number` counts from 1 and is what the address calls it."""

    number: int
    name: str
    style: LineStyle
    is_reference: bool


@dataclass(frozen=True, slots=True)
class DrawnCell:
    """`interval` and `difference_interval` are "" without one, and then `mark` is None."""

    test_id: int | None
    mean: str
    interval: str
    difference: str
    difference_interval: str
    mark: Mark | None
    is_best: bool
    is_short: bool
    why: str
    doubt: str


def drawn_matrix(matrix: TargetMatrix | None, threshold: float) -> dict[str, Any] | None:
    """{"axis", "columns", "n_cells": in a row, beside its plan; "reference": its name; "rows":
    [(row, [(column, cell)])], "overall": the rows of all plans, "has_places": bool, "network":
    [(label, [texts])], "like": [LikeLine], "n_unlike"}; a cell is None where a plan has no test of
    that target."""
    if matrix is None:
        return None
    ends = [_ends(cell) for cell in matrix.cells if _has_interval(cell)]
    axis = RatioAxis([ends], threshold, _GAP, _percent_tick)
    columns = [
        MatrixColumn(n, name, line_style(n - 1), n == matrix.relative)
        for n, name in enumerate(matrix.columns, 1)
    ]
    decimals = network_decimals(matrix.network)
    return {
        "axis": axis,
        "columns": columns,
        "n_cells": 2 * len(columns),
        "reference": matrix.columns[matrix.relative - 1],
        "has_short": any(cell.is_short for cell in matrix.cells),
        "has_doubt": any(cell.doubt for cell in matrix.cells),
        "rows": [
            (row, list(zip(columns, _drawn_cells(row, matrix.decimals, axis), strict=True)))
            for row in matrix.all_rows
        ],
        "overall": matrix.overall,
        "has_places": len({row.place for row in matrix.rows}) > 1,
        "network": [
            (row.label, [each and difference_texts(each, decimals) for each in row.columns])
            for row in matrix.network
        ],
        "like": matrix.like,
        "n_unlike": sum(not line.is_alike for line in matrix.like),
    }


def _percent_tick(ratio: float) -> str:
    return number(100 * (ratio - 1), signed=True)


def _drawn_cells(row: MatrixRow, decimals: int, axis: RatioAxis) -> list[DrawnCell | None]:
    return [cell and _drawn(cell, row.best, decimals, axis) for cell in row.cells]


def _has_interval(cell: MatrixCell) -> bool:
    return cell.against is not None and bool(difference_interval(cell.against))


def _ends(cell: MatrixCell) -> dict[str, Any]:
    found = cell.against.interval
    return {"low": found.low, "high": found.high, "ratio": found.ratio, "primary": False}


def _drawn(cell: MatrixCell, best: str, decimals: int, axis: RatioAxis) -> DrawnCell:
    is_best = bool(best) and best == cell.target
    mark = axis.mark(_ends(cell) | {"primary": is_best}) if _has_interval(cell) else None
    return DrawnCell(
        test_id=cell.test_id,
        mean=mean_words(cell, decimals) if cell.mean else "",
        interval=interval_words(cell, decimals) if cell.mean else "",
        difference=difference_words(cell.against) if cell.against else "",
        difference_interval=difference_interval(cell.against) if cell.against else "",
        mark=mark,
        is_best=is_best,
        is_short=cell.is_short,
        why=cell.why,
        doubt=cell.doubt,
    )
