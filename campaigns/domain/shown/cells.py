"""Columns of figures: one rounding for the whole column, a reason in every empty cell."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaigns.domain.judged.repeats import MeanInterval
from campaigns.domain.shown.tables import Cell
from campaigns.domain.units import (
    DASH,
    column_decimals,
    decimals_beside,
    decimals_to_see,
    number,
    rounded,
    rounded_text,
)

# Why a cell is empty, where several tables say so.
NO_RUN = "No usable runs yet."
NO_INTERVAL = "An interval needs two usable repeats."
_RATIO_DECIMALS, _MOST_OF_RATIO = 3, 6


@dataclass(frozen=True, slots=True)
class Figure:
    """A value before rounding, in its column's unit; `why` explains None or a weak value."""

    value: float | None
    why: str = ""
    weak: bool = False


def empty(why: str) -> Cell:
    return Cell(None, DASH, why=why)


def text_cell(text: str, why: str = "", tone: str = "") -> Cell:
    return Cell(text or None, text or DASH, why=why, tone=tone)


def count_cell(value: int | None, why: str = "", tone: str = "") -> Cell:
    """`why` is of None."""
    return empty(why) if value is None else Cell(value, number(value), tone=tone)


def figure_cell(figure: Figure, decimals: int, *, signed: bool = False) -> Cell:
    """A cell whose value is rounded to the digits of its text: `decimals`, more where it would
    read 0."""
    value = figure.value
    if value is None:
        return empty(figure.why)
    exact = rounded(value, decimals)
    if not exact:
        exact = rounded(value, decimals_to_see(value, decimals))
    # No −0.
    plain = float(exact) + 0.0
    text = rounded_text(exact, signed=signed)
    return Cell(plain, text, weak=figure.weak, why=figure.why if figure.weak else "")


def column_cells(
    figures: Sequence[Figure], *, decimals: int | None = None, signed: bool = False
) -> list[Cell]:
    """The column with equal decimals: three significant digits for its typical value,
    more where a small one would read 0."""
    if decimals is None:
        decimals = column_decimals([figure.value for figure in figures])
    return [figure_cell(figure, decimals, signed=signed) for figure in figures]


def ratio_cells(ratios: Sequence[Figure]) -> list[Cell]:
    """With three decimals, or as many more as a ratio needs not to read 1: where one end of its
    interval does, it looks as if nothing could be said of what is slower."""
    return [figure_cell(each, _decimals_of_ratio(each.value)) for each in ratios]


def mean_cells(mean: MeanInterval) -> tuple[Cell, ...]:
    """Mean and ends with the same decimals, and how many runs there are."""
    ends = [Figure(each, NO_INTERVAL) for each in (mean.low, mean.high)]
    return (*column_cells([Figure(mean.mean), *ends]), count_cell(mean.k))


def _decimals_of_ratio(ratio: float | None) -> int:
    if ratio is None:
        return _RATIO_DECIMALS
    return decimals_beside(round(ratio, _MOST_OF_RATIO), 1, _RATIO_DECIMALS)
