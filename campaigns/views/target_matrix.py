"""The matrix of several targets as the campaign page draws it: texts, and marks on one axis."""

from dataclasses import dataclass
from typing import Any

from campaigns.domain.shown.network import difference_texts, network_decimals
from campaigns.domain.shown.target_matrix import (
    MatrixCell,
    TargetMatrix,
    difference_interval,
    difference_words,
    interval_words,
    mean_words,
)
from campaigns.views.drawings import Mark, RatioAxis
from campaigns.views.line_styles import line_style


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


def drawn_matrix(matrix: TargetMatrix | None, threshold: float) -> dict[str, Any] | None:
    """{"axis", "columns": [(number, name, style)], "relative", "reference", "rows": [(row, cells)],
    "overall": the rows of all plans, "has_places": bool, "network": [(label, [texts])]}; a cell is
    None where a plan has no test of that target."""
    if matrix is None:
        return None
    axis = RatioAxis([[_ends(cell) for cell in matrix.cells if _has_interval(cell)]], threshold)
    return {
        "axis": axis,
        "columns": [(n + 1, name, line_style(n)) for n, name in enumerate(matrix.columns)],
        "relative": matrix.relative,
        "reference": matrix.columns[matrix.relative - 1],
        "has_short": any(cell.is_short for cell in matrix.cells),
        "rows": [
            (row, [cell and _drawn(cell, row.best, matrix.decimals, axis) for cell in row.cells])
            for row in matrix.all_rows
        ],
        "overall": matrix.overall,
        "has_places": len({row.place for row in matrix.rows}) > 1,
        "network": _network(matrix),
    }


def _network(matrix: TargetMatrix) -> list[tuple[str, list[tuple[str, str] | None]]]:
    decimals = network_decimals(matrix.network)
    return [
        (row.label, [each and difference_texts(each, decimals) for each in row.columns])
        for row in matrix.network
    ]


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
    )
