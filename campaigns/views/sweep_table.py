"""Sweeps of several arms side by side: a row for each value, the same few figures of each arm.

The cells are those of each sweep's own table, which has all figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from campaigns.domain.judged.words import Word
from campaigns.domain.shown.results import SweepAnswer
from campaigns.domain.shown.tables import Cell, Row
from campaigns.domain.units import DASH
from campaigns.views.line_styles import LineStyle, line_style

_KEYS = ("rate", "mean", "p95", "speed_up", "efficiency", "under_way", "trusted")
_AGAINST = ("difference", "difference_low", "difference_high", "word")
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
class ArmAgainst:
    """How an arm's mean compares with the reference's at one value: texts, "" where there is none.
    `why`: why there is no word."""

    difference: str = ""
    interval: str = ""
    word: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class ValueRow:
    """`against`: of each arm but the reference."""

    label: str
    arms: list[ArmAtValue]
    against: list[ArmAgainst]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """`arms`: [(name, style)]; `relative`: the number of the reference among them, from 1;
    `heads`: [(title, unit)] of each; `compared`: the names of the others; `open_why`: why words are
    missing or inconclusive where the points are trusted, each reason once."""

    label_title: str
    arms: list[tuple[str, LineStyle]]
    relative: int
    heads: list[tuple[str, str]]
    compared: list[str]
    rows: list[ValueRow]
    open_why: list[str]

    @property
    def reference(self) -> str:
        return self.arms[self.relative - 1][0]


def side_by_side(sweeps: Sequence[SweepAnswer], *, trusted_only: bool = False) -> SideBySide:
    """`trusted_only`: without what is not trusted, and without values that have nothing else."""
    keys = [key for key in _KEYS if any(_has_column(sweep, key) for sweep in sweeps)]
    values = sorted({point.value for sweep in sweeps for point in sweep.points})
    by_value = [_rows_by_value(sweep) for sweep in sweeps]
    labels = {value: row.label for rows in by_value for value, row in rows.items()}
    others = [number for number, sweep in enumerate(sweeps) if sweep.reference]
    rows = []
    for value in values:
        found = [each.get(value) for each in by_value]
        if trusted_only:
            found = [row and (None if row.kind == "sweep-apart" else row) for row in found]
        if any(found) or not trusted_only:
            arms = [_at_value(*each, keys) for each in zip(sweeps, found, strict=True)]
            against = [_against(sweeps[n], by_value[n].get(value)) for n in others]
            rows.append(ValueRow(labels[value], arms, against))
    return SideBySide(
        sweeps[0].table.label_title,
        [(sweep.name, line_style(number)) for number, sweep in enumerate(sweeps)],
        next((n for n, sweep in enumerate(sweeps, 1) if not sweep.reference), 1),
        [_HEADS[key] for key in keys],
        [sweeps[n].name for n in others],
        rows,
        _open_why(sweeps),
    )


def _open_why(sweeps: Sequence[SweepAnswer]) -> list[str]:
    told = {point.why for sweep in sweeps for point in sweep.points}
    every = [point.against for sweep in sweeps for point in sweep.points if point.against]
    whys = [each.why for each in every if each.word in {"", Word.INCONCLUSIVE}]
    return [why for why in dict.fromkeys(whys) if why and why not in told]


def _against(sweep: SweepAnswer, row: Row | None) -> ArmAgainst:
    if row is None:
        return ArmAgainst()
    difference, low, high, word = (_cells(sweep, row)[key] for key in _AGAINST)
    if difference.value is None:
        return ArmAgainst(word="no verdict", why=difference.why)
    ends = "" if low.value is None else f"[{low.text}, {high.text}]"
    said = "no verdict" if word.value is None else word.text
    return ArmAgainst(f"{difference.text}\N{NARROW NO-BREAK SPACE}%", ends, said, word.why)


def _cells(sweep: SweepAnswer, row: Row) -> Mapping[str, Cell]:
    names = [column.key for column in sweep.table.columns]
    return dict(zip(names, row.cells, strict=True))


def _has_column(sweep: SweepAnswer, key: str) -> bool:
    return key in [column.key for column in sweep.table.columns]


def _rows_by_value(sweep: SweepAnswer) -> Mapping[float, Row]:
    return {point.value: row for point, row in zip(sweep.points, sweep.table.rows, strict=True)}


def _at_value(sweep: SweepAnswer, row: Row | None, keys: Sequence[str]) -> ArmAtValue:
    if row is None:
        return ArmAtValue([])
    cells = _cells(sweep, row)
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
