"""Charts as specifications: what stands where and what is said of it. static/js/charts draws them.

A group is one chart or several above one another, with one crosshair, one table and one place in
the order of focus. Figures come with their text; JavaScript chooses ticks alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class LineStyle:
    """`token`: its colour, a custom property of tokens.css; `shape`: its marker as Chart.js calls
    it, `mark` the same as an SVG path around 0."""

    token: str
    dash: tuple[int, ...] = ()
    shape: str = "circle"
    mark: str = ""
    is_hollow: bool = False
    is_mark: bool = False  # without a line in keys

    @property
    def dash_text(self) -> str:
        return " ".join(map(str, self.dash))


_CIRCLE = "M4.2 0A4.2 4.2 0 1 1-4.2 0A4.2 4.2 0 1 1 4.2 0Z"
_SQUARE = "M-3.8-3.8H3.8V3.8H-3.8Z"
_TRIANGLE = "M0-5 4.8 3.8H-4.8Z"
_DIAMOND = "M0-5.2 5.2 0 0 5.2-5.2 0Z"
_CROSS = "M-4-4 4 4M-4 4 4-4"
_MARKS = (
    ("circle", _CIRCLE, True),
    ("rect", _SQUARE, False),
    ("triangle", _TRIANGLE, True),
    ("rectRot", _DIAMOND, False),
    ("rect", _SQUARE, True),
    ("circle", _CIRCLE, False),
    ("rectRot", _DIAMOND, True),
    ("triangle", _TRIANGLE, False),
)
_DASHES = ((), (7, 4), (2, 3), (9, 3, 2, 3))


def line_style(number: int) -> LineStyle:
    """Of the arm with this number, from 0; from the ninth on the colours come again with another
    dash."""
    shape, mark, is_hollow = _MARKS[number % len(_MARKS)]
    dash = _DASHES[(number + number // len(_MARKS)) % len(_DASHES)]
    return LineStyle(f"series-{number % len(_MARKS) + 1}", dash, shape, mark, is_hollow)


_BY_MODE = {"new": ((), "circle"), "resumed": ((7, 4), "triangle"), "keep-alive": ((2, 3), "rect")}


def arm_style(scheme: str, mode: str) -> LineStyle:
    """Of an arm among those of one target: without TLS its marks are hollow."""
    dash, shape = _BY_MODE.get(mode, ((), "circle"))
    return LineStyle(scheme, dash, shape, is_hollow=scheme in {"http", "ws"})


PASSED = LineStyle("ink", (), "circle", _CIRCLE, is_mark=True)
OUTLIER = LineStyle("ink-3", (), "circle", _CIRCLE, is_hollow=True, is_mark=True)
CROSS = LineStyle("bad", (), "crossRot", _CROSS, is_mark=True)
DOUBT = LineStyle("warn", (), "triangle", _TRIANGLE, is_hollow=True, is_mark=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """`scale`: linear, log, time (seconds of a run) or date (seconds since 1970). `around`: from 0
    only where values come near it. `like`: the axis of the group's first panel times this.
    `ticks`: (value, text) where they are words; `whole`: no fractions. `has_choice`: readers
    choose log or linear."""

    scale: str = "linear"
    title: str = ""
    low: float | None = None
    high: float | None = None
    ticks: Sequence[tuple[float, str]] = ()
    whole: bool = False
    around: bool = False
    like: float | None = None
    has_choice: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """`look`: line, dots, bars, steps, area (between `low` and `high`), box (from `left` to
    `right`) or foot (dots at the foot of the panel). `low` and `high`, `left` and `right`: the ends
    of intervals. `weak`: points whose line is dotted. `texts`: what the crosshair reads; `labels`
    stand beside the points; `links` is where they lead. `end`: the name at the line's end. `faint`
    lies beneath, `grey` has no name. `thick`: of bars, in px."""

    name: str = ""
    style: LineStyle = LineStyle("ink")
    look: str = "line"
    width: float = 1.6
    radius: float = 0
    thick: float | None = None
    x: Sequence[float] = ()
    y: Sequence[float | None] = ()
    low: Sequence[float | None] = ()
    high: Sequence[float | None] = ()
    left: Sequence[float] = ()
    right: Sequence[float] = ()
    weak: Sequence[bool] = ()
    texts: Sequence[str] = ()
    labels: Sequence[str] = ()
    links: Sequence[str] = ()
    end: str = ""
    faint: bool = False
    grey: bool = False


def columns(names: str, rows: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    """{name: its values} of rows of values, for a `Series`."""
    points = list(rows)
    return {name: [row[n] for row in points] for n, name in enumerate(names.split())}


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """`look`: a token's colour, or hatch."""

    axis: str = "x"
    low: float
    high: float
    look: str = "band"
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A line at one value. `lane`: the row above the panel in which its label stands; a label that
    has none stands on the line."""

    axis: str = "x"
    at: float
    label: str = ""
    colour: str = "ink-3"
    dash: Sequence[int] = ()
    lane: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """`reads`: what the crosshair says at each of the group's places, in place of the series'
    texts. `keys`: (style, words). `link`: (address, words) beside the unit. `size`: of its frame, a
    class of charts.css."""

    key: str
    title: str
    unit: str
    name: str
    size: str = "high"
    x: Axis = Axis()
    y: Axis = Axis()
    series: Sequence[Series] = ()
    bands: Sequence[Band] = ()
    marks: Sequence[Mark] = ()
    reads: Sequence[str] = ()
    keys: Sequence[tuple[LineStyle, str]] = ()
    note: str = ""
    link: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the crosshair stops, in their order, and how each is called. `stops`: those to which
    Shift leads. `ranges`: the values of the address's `asks` at each, for a range that is dragged.
    """

    x: Sequence[float]
    at: Sequence[str]
    links: Sequence[str] = ()
    stops: Sequence[float] = ()
    asks: Sequence[str] = ()
    ranges: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True)
class ChartTable:
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Charts:
    """`keys_words`: what keys do, beside reading. `table`: its figures, where they are not those
    that the crosshair reads. `in_columns`: panels beside one another."""

    key: str
    name: str
    panels: Sequence[Chart]
    places: Places | None = None
    table: ChartTable | None = None
    keys_words: str = ""
    note: str = ""
    in_columns: bool = False

    @property
    def block(self) -> str:
        """The id of its JSON in the page."""
        return f"charts-{self.key}"

    @property
    def data(self) -> dict[str, Any]:
        """What the page has as JSON: without what the template writes itself."""
        return _json(self)


_OF_TEMPLATE = {"note", "keys", "link", "keys_words"}


def _json(value: Any) -> Any:
    """Without what is empty."""
    if isinstance(value, LineStyle):
        hollow = {"hollow": True} if value.is_hollow else {}
        return {"token": value.token, "dash": value.dash, "shape": value.shape, **hollow}
    if is_dataclass(value):
        pairs = ((each.name, getattr(value, each.name)) for each in fields(value))
        return {
            name: _json(each)
            for name, each in pairs
            if name not in _OF_TEMPLATE
            and not (each is None or each is False or (isinstance(each, Sequence) and not each))
        }
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return [_json(each) for each in value]
    # Finer than a pixel; seconds since 1970 are whole numbers.
    return float(f"{value:.7g}") if isinstance(value, float) else value
