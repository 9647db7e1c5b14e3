"""Sweeps of several arms side by side: a row for each value, the same few figures of each arm.

The cells are those of each sweep's own table, which has all figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from campaigns.domain.shown.results import SweepAnswer
from campaigns.domain.shown.tables import Cell, Row
from campaigns.domain.units import DASH
from campaigns.views.line_styles import LineStyle, line_style

_KEYS = ("rate", "mean", "p95", "speed_up", "efficiency", "under_way", "trusted")
_HEADS = {
    "rate": ("throughput", "ok/s"),
    "mean": ("mean", "ms"),
    "p95": ("p95", "ms"),
    "speed_up": ("speed-up", ""),
    "efficiency": ("efficiency", "%"),
    "under_way": ("under way", ""),
    "trusted": ("trusted", "runs"),
}


@dataclass(frozen=True, slots=True)
class ArmCell:
    """A figure of an arm at one value. `interval` is "" without one; `is_end`: growth ends here."""

    cell: Cell
    interval: str = ""
    is_end: bool = False


@dataclass(frozen=True, slots=True)
class ArmAtValue:
    """`cells` are empty where the arm was not measured at this value; `is_apart`: not trusted."""

    cells: list[ArmCell]
    is_apart: bool = False


@dataclass(frozen=True, slots=True)
class SideBySide:
    """`arms`: [(name, style)]; `heads`: [(title, unit)] of each; `rows`: [(value, arms)]; `doubts`:
    [(value and arm, why it is not trusted)]."""

    label_title: str
    arms: list[tuple[str, LineStyle]]
    heads: list[tuple[str, str]]
    rows: list[tuple[str, list[ArmAtValue]]]
    doubts: list[tuple[str, str]]


def side_by_side(sweeps: Sequence[SweepAnswer]) -> SideBySide:
    keys = [key for key in _KEYS if any(_has(sweep, key) for sweep in sweeps)]
    values = sorted({point.value for sweep in sweeps for point in sweep.points})
    by_value = [_rows_by_value(sweep) for sweep in sweeps]
    labels = {value: row.label for rows in by_value for value, row in rows.items()}
    return SideBySide(
        sweeps[0].table.label_title,
        [(sweep.name, line_style(number)) for number, sweep in enumerate(sweeps)],
        [_HEADS[key] for key in keys],
        [
            (
                labels[value],
                [
                    _at_value(sweep, rows.get(value), keys)
                    for sweep, rows in zip(sweeps, by_value, strict=True)
                ],
            )
            for value in values
        ],
        [
            (f"{labels[point.value]}, {sweep.name}", point.why)
            for sweep in sweeps
            for point in sweep.points
            if point.why
        ],
    )


def _has(sweep: SweepAnswer, key: str) -> bool:
    return key in [column.key for column in sweep.table.columns]


def _rows_by_value(sweep: SweepAnswer) -> Mapping[float, Row]:
    return {point.value: row for point, row in zip(sweep.points, sweep.table.rows, strict=True)}


def _at_value(sweep: SweepAnswer, row: Row | None, keys: Sequence[str]) -> ArmAtValue:
    if row is None:
        return ArmAtValue([])
    names = [column.key for column in sweep.table.columns]
    cells = dict(zip(names, row.cells, strict=True))
    is_end = row.kind == "sweep-end"
    return ArmAtValue(
        [
            ArmCell(
                cells[key],
                _interval(cells) if key == "rate" else "",
                is_end=is_end and key == "rate",
            )
            for key in keys
        ],
        is_apart=row.kind == "sweep-apart",
    )


def _interval(cells: Mapping[str, Cell]) -> str:
    ends = [cells[key].text for key in ("rate_low", "rate_high")]
    return "" if DASH in ends else " to ".join(ends)
