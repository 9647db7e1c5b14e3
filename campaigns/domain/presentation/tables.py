"""A table of figures: pages, API, CSV and the terminal all show the same cells. Columns of figures
have one rounding for the whole column, and a reason in every empty cell.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

from campaigns.domain.analysis.messages import say
from campaigns.domain.analysis.pair import PairResult
from campaigns.domain.analysis.ratio import MeanInterval
from campaigns.domain.units import (
    DASH,
    TO,
    are_apart,
    change_percent,
    column_decimals,
    decimals_beside,
    decimals_to_see,
    in_ms,
    number,
    rounded,
    rounded_text,
    said_of,
)


@dataclass(frozen=True, slots=True)
class Column:
    """`title` and `unit` are the two header lines. `is_name`: of what people gave names to."""

    key: Annotated[str, "The metric's name: see /metrics/."]
    title: str
    unit: str = ""
    help: str = ""
    is_text: bool = False
    is_name: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """`value` in the column's unit, rounded as shown; `text` as a page shows it ("–" if empty).

    `low`: the lower end of a value that is the upper one; the text has both where `are_apart`.
    `weak`: fewer than ten samples lie beyond this percentile. `why` says why the cell is empty or
    weak. `tone` is "", "good", "warn" or "bad".
    """

    value: float | int | str | None
    text: str
    weak: bool = False
    why: str = ""
    tone: str = ""
    low: float | None = None

    @property
    def has_both_ends(self) -> bool:
        return self.low is not None and TO in self.text

    @property
    def value_text(self) -> str:
        """Of a figure: without its lower end."""
        return self.text.rpartition(TO)[2]


@dataclass(frozen=True, slots=True)
class Row:
    """`kind` is run, mean, pooled, or the table's own; `link` names what the row is about.
    `decides`: the table's verdict is on its figure."""

    label: str
    cells: tuple[Cell, ...]
    kind: str = ""
    note: str = ""
    link: dict[str, Any] = field(default_factory=dict)  # such as {"run": 14}
    decides: bool = False


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

    def without_empty_columns(self) -> "Table":
        """For a page; files have the same columns whatever was measured."""
        places = [
            n
            for n in range(len(self.columns))
            if any(row.cells[n].text not in ("", DASH) for row in self.rows)
        ]
        rows = (replace(row, cells=tuple(row.cells[n] for n in places)) for row in self.rows)
        return replace(self, columns=tuple(self.columns[n] for n in places), rows=tuple(rows))

    def with_ends_told(self) -> "Table":
        """With a note on lower ends, if any is shown."""
        if not any(cell.has_both_ends for row in self.rows for cell in row.cells):
            return self
        return replace(self, note=" ".join(filter(None, [self.note, BOTH_ENDS])))

    def to_json(self) -> dict[str, Any]:
        """{"key", "title", "note", "columns": [{key, title, unit}], "rows": [{label, kind, …}]}."""
        keys = [column.key for column in self.columns]
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
                    "values": {key: cell.value for key, cell in cells.items()},
                    "low": {key: cell.low for key, cell in cells.items() if cell.low is not None},
                    "weak": [key for key, cell in cells.items() if cell.weak],
                }
                for row in self.rows
                for cells in [dict(zip(keys, row.cells, strict=True))]
            ],
        }


# Why a cell is empty, where several tables say so.
NO_RUN = "No usable runs yet."
NO_INTERVAL = say("interval_of_mean")
BOTH_ENDS = (
    "Of two ends the lower is without the injector's part, in the quieter half of the seconds; "
    "the upper is as measured."
)
_RATIO_DECIMALS, _MOST_OF_RATIO = 3, 6


@dataclass(frozen=True, slots=True)
class Figure:
    """A value and its lower end before rounding, in their column's unit; `why` explains None or a
    weak value."""

    value: float | None
    why: str = ""
    weak: bool = False
    low: float | None = None


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
    plain, text = _rounded_text(value, decimals, signed=signed)
    low, low_text = (None, text) if figure.low is None else _rounded_text(figure.low, decimals)
    if low_text != text and are_apart(figure.low, value):
        text = f"{low_text}{TO}{text}"
    return Cell(plain, text, weak=figure.weak, why=figure.why if figure.weak else "", low=low)


def _rounded_text(value: float, decimals: int, *, signed: bool = False) -> tuple[float, str]:
    exact = rounded(value, decimals)
    if not exact:
        exact = rounded(value, decimals_to_see(value, decimals))
    # No −0.
    return float(exact) + 0.0, rounded_text(exact, signed=signed)


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
    places = [
        _RATIO_DECIMALS
        if each.value is None
        else decimals_beside(round(each.value, _MOST_OF_RATIO), 1, _RATIO_DECIMALS)
        for each in ratios
    ]
    return [figure_cell(each, some) for each, some in zip(ratios, places, strict=True)]


# Beside a mean, or a ratio.
INTERVAL = (
    Column("low", "from", "", "Lower end of the 95 % interval over repeats."),
    Column("high", "to", "", "Upper end of the 95 % interval over repeats."),
)


def ends_columns(key: str, unit: str, since: str = "95 % from") -> tuple[Column, Column]:
    """Of an interval in a table for programs; `key`: what their own keys begin with."""
    return Column(f"{key}low", since, unit), Column(f"{key}high", "to", unit)


def mean_figures(mean: MeanInterval | None, why: str, few: str, weak: str = "") -> list[Figure]:
    """A mean of µs and the ends of its interval, in ms. `why` there is no mean, `few` why there are
    no ends, `weak` why it is weak."""
    if mean is None:
        return [Figure(None, why)] * 3
    ends = [Figure(in_ms(each), few) for each in mean.ends]
    return [Figure(mean.mean / 1000, weak, weak=bool(weak)), *ends]


def mean_cells(mean: MeanInterval) -> tuple[Cell, ...]:
    """Mean and ends with the same decimals, and how many runs there are."""
    ends = [Figure(each, NO_INTERVAL) for each in (mean.low, mean.high)]
    return (*column_cells([Figure(mean.mean), *ends]), count_cell(mean.k))


class Format(NamedTuple):
    """How a column of figures is written; without `decimals` as `column_cells` does by itself."""

    decimals: int | None = None
    signed: bool = False
    is_ratio: bool = False


def rows_of_cells(
    rows: Sequence[Sequence[Figure]], formats: Sequence[Format]
) -> list[tuple[Cell, ...]]:
    """Rows of figures as rows of cells, each column rounded by itself."""
    columns = (
        ratio_cells(column)
        if each.is_ratio
        else column_cells(column, decimals=each.decimals, signed=each.signed)
        for column, each in zip(zip(*rows, strict=True), formats, strict=bool(rows))
    )
    return list(zip(*columns, strict=True))


def pair_figures(row: PairResult) -> dict[str, Figure]:
    """Of times in µs: in ms; increase and share in percent."""
    low, high = (row.interval.low, row.interval.high) if row.interval else (None, None)
    values = {
        "baseline": (row.baseline, 1e-3),
        "candidate": (row.candidate, 1e-3),
        "difference": (row.difference, 1e-3),
        "ratio": (row.ratio, 1.0),
        "low": (low, 1.0),
        "high": (high, 1.0),
        "increase": (row.increase, 100),
        "share": (row.share, 100),
    }
    return {
        key: Figure(None, row.why, row.weak)
        if value is None
        else Figure(value * factor, row.why if row.weak else "", row.weak)
        for key, (value, factor) in values.items()
    }


def change_figures(ratio: float | None, ends: Sequence[float | None], why: str) -> list[Figure]:
    """The change and the ends of its interval in percent."""
    return [Figure(None if x is None else change_percent(x), why) for x in (ratio, *ends)]
