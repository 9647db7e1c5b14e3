"""Positions of a sweep's curves, in percent of width and height. Pure; see drawings."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from math import floor, log
from typing import Any

from campaigns.domain.plan.sweep import (
    DIVIDED,
    INJECTORS,
    parameter_label,
    parameter_unit,
    point_words,
    value_text,
)
from campaigns.domain.presentation.results import SweepAnswer
from campaigns.domain.presentation.sweep_table import SweepPoint, doubts_table, unfigured
from campaigns.domain.presentation.tables import Table
from campaigns.domain.units import figure
from campaigns.views.drawings import TICK_STEPS, LineStyle, line_style, round_up
from campaigns.views.search_drawing import LogAxis
from campaigns.views.sweep_table import side_by_side

HEIGHT_PX = 220
_LINE_PX = 13  # from one name to the next
_LOWEST_PX = 0.88 * HEIGHT_PX
_LONGEST = 18
# A name beside each of more lines would cover the curves.
MOST_NAMED = 12


@dataclass(frozen=True, slots=True)
class EndName:
    """`x` and `y`: where the line ends; `down_px`: how much lower its name stands."""

    x: float
    y: float
    down_px: float
    text: str
    is_second: bool


def end_names(ends: Sequence[tuple[str, float, float, bool]]) -> list[EndName]:
    """Of the lines' (name, x, y, is it a second one); those without a name have none."""
    named = sorted((end for end in ends if end[0]), key=lambda end: end[2])[:MOST_NAMED]
    heights = _apart([y * HEIGHT_PX / 100 for _, _, y, _ in named])
    return [
        EndName(x, y, round(height - y * HEIGHT_PX / 100, 1), _short(name), is_second)
        for (name, x, y, is_second), height in zip(named, heights, strict=True)
    ]


def _apart(heights: Sequence[float]) -> list[float]:
    """As near to where they were as a line's distance allows, and none below the axis; `heights`
    rise."""
    moved = list(heights)
    for upper, lower in pairwise(range(len(moved))):
        moved[lower] = max(moved[lower], moved[upper] + _LINE_PX)
    floor = _LOWEST_PX
    for number in reversed(range(len(moved))):
        moved[number] = min(moved[number], floor)
        floor = moved[number] - _LINE_PX
    return moved


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


_Scale = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class ExpectedGrowth:
    """What a figure would be if it grew with the value, by `slope`, or stayed at `height`."""

    words: str
    slope: float = 0.0
    height: float = 0.0


@dataclass(frozen=True, slots=True)
class Guide:
    """A dotted line in pieces, each (x1, y1, x2, y2): what a figure would be."""

    words: str
    pieces: list[tuple[float, float, float, float]]


def untrusted_bands(points: Sequence[SweepPoint], at_x: _Scale) -> list[tuple[float, float]]:
    """(from, width) of the neighbouring values at which runs have ended and no arm is trusted, up
    to half of the way to the next ones that are."""
    xs = sorted({point.value for point in points})
    trusted = {point.value for point in points if point.is_trusted}
    doubted = {point.value for point in points if point.why} - trusted
    edges = [0.0, *((at_x(a) + at_x(b)) / 2 for a, b in pairwise(xs)), 100.0]
    bands = []
    for is_doubted, some in groupby(range(len(xs)), key=lambda n: xs[n] in doubted):
        if is_doubted:
            first, *_, last = [*some] * 2
            bands.append((round(edges[first], 2), round(edges[last + 1] - edges[first], 2)))
    return bands


def guide_of(
    expected: ExpectedGrowth, points: Sequence[SweepPoint], at_x: _Scale, at_y: _Scale, top: float
) -> Guide:
    """`top`: the figure at the upper end of the drawing, where the line ends."""
    if not expected.slope:
        y = at_y(expected.height)
        return Guide(expected.words, [(0.0, y, 100.0, y)])
    xs = sorted({point.value for point in points})
    return Guide(expected.words, list(_pieces(xs, expected.slope, at_x, at_y, top)))


def _pieces(
    xs: Sequence[float], slope: float, at_x: _Scale, at_y: _Scale, top: float
) -> Iterator[tuple[float, float, float, float]]:
    for start, value in pairwise(xs):
        end = min(value, top / slope)
        if start < end:
            yield at_x(start), at_y(slope * start), at_x(end), at_y(slope * end)


# The y axis labels are left of 0, in the drawing's padding.
_LEFT, _RIGHT, _TOP, _BOTTOM = 2.0, 97.0, 8.0, 88.0
_WIDE = 20  # of values further apart an axis is logarithmic
_AROUND = 1.1  # as a factor, beside the outermost values of a logarithmic axis
_NEAR = 4.5  # percent between two labels of the axis

_Read = Callable[[SweepPoint], float | None]
_Ends = Callable[[SweepPoint], tuple[float, float] | None]


@dataclass(frozen=True, slots=True)
class Dot:
    """`value` and `at`: of the parameter, as number and text; `words`: what was measured.
    `low` and `high`: the ends of its interval, None without one. `name`: of an arm whose point is
    not trusted."""

    x: float
    y: float
    words: str
    is_trusted: bool
    low: float | None = None
    high: float | None = None
    name: str = ""
    value: float = 0.0
    at: str = ""
    test_id: int | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """Dots, and the line segments between neighbours that are both trusted. `is_second`: drawn
    fainter, beside the arm's first one."""

    name: str
    style: LineStyle
    dots: list[Dot]
    pieces: list[tuple[Dot, Dot]]
    is_second: bool = False
    called: str = ""  # at its end; "" where the drawing has no other line


@dataclass(frozen=True, slots=True)
class Panel:
    """`untrusted`: (from, width) of the values at which no arm is trusted."""

    title: str
    unit: str
    curves: list[Curve]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]
    untrusted: list[tuple[float, float]]
    guide: Guide | None

    @property
    def names(self) -> list[EndName]:
        """At the last trusted point of each line."""
        ends = [
            (curve.called, dots[-1].x, dots[-1].y, curve.is_second)
            for curve in self.curves
            if (dots := [dot for dot in curve.dots if dot.is_trusted])
        ]
        return end_names(ends)


@dataclass(frozen=True, slots=True)
class _Series:
    """One figure of each point: how it is called beside others of its panel, read, and where its
    interval is."""

    name: str
    read: _Read
    ends: _Ends = lambda point: None
    is_second: bool = False


def drawn_sweeps(
    sweeps: Sequence[SweepAnswer], *, trusted_only: bool = False
) -> list[dict[str, Any]]:
    """The sweeps of one plan and parameter together, their arms on the same axes: [{"sweeps",
    "tables", "parameter", "keys": [(name, style)], "side": their table together, None of one arm,
    "panels", "has_apart": whether a point is not trusted, "doubts": the table of why, None without
    one, "unfigured": [(where, why)] beside it}]. `trusted_only`: without the points that are not
    trusted; the axes stay."""
    groups: dict[tuple[str, str], list[SweepAnswer]] = {}
    for sweep in sweeps:
        groups.setdefault((sweep.plan_label, sweep.field), []).append(sweep)
    return [_drawn(group, trusted_only) for group in groups.values()]


def _drawn(group: Sequence[SweepAnswer], trusted_only: bool) -> dict[str, Any]:
    field = group[0].field
    panels = _all_panels(field, group)
    return {
        "plan": group[0].plan_label,
        "sweeps": group,
        "parameter": _parameter_words(field),
        "keys": [(each.name, line_style(n)) for n, each in enumerate(group)],
        "tables": [_shown(each.table, trusted_only) for each in group],
        "side": side_by_side(group, trusted_only=trusted_only) if len(group) > 1 else None,
        "panels": [_trusted(panel) for panel in panels] if trusted_only else panels,
        "has_apart": any(not point.is_trusted for each in group for point in each.points),
        "doubts": doubts_table(group[0].table.key, field, [each.points for each in group]),
        "unfigured": unfigured([(each.name, each.points) for each in group]),
    }


def _shown(table: Table, trusted_only: bool) -> Table:
    rows = tuple(row for row in table.rows if row.kind != "sweep-apart")
    return replace(table, rows=rows) if trusted_only else table


def _parameter_words(field: str) -> str:
    if field == INJECTORS:
        return "number of injector processes"
    words = [parameter_label(field).lower(), parameter_unit(field)]
    return ", ".join(filter(None, words))


def _trusted(panel: Panel) -> Panel:
    curves = [
        replace(curve, dots=[dot for dot in curve.dots if dot.is_trusted]) for curve in panel.curves
    ]
    return replace(panel, curves=curves)


def _all_panels(field: str, group: Sequence[SweepAnswer]) -> list[Panel]:
    points = [point for each in group for point in each.points]
    if not any(point.rate_per_s and point.is_usable for point in points):
        return []
    is_divided = field in DIVIDED and any(point.speed_up for point in points)
    words = f"in step with {parameter_label(field).lower()}"
    rates = _Series("", lambda p: p.rate_per_s, lambda p: p.rate_ends)
    p95 = _Series("p95", lambda p: p.p95_ms)
    mean = _Series("average", lambda p: p.mean_ms, lambda p: p.mean_ends_ms, is_second=True)
    # The highest throughput for each of the parameter at its smallest value, where speed-ups begin.
    grows = (
        ExpectedGrowth(
            words,
            slope=max(point.rate_per_s / point.value for point in points if point.speed_up == 1),
        )
        if is_divided
        else None
    )
    panels = [
        _panel("Throughput", "ok requests/s", group, [rates], grows),
        _panel("Response time", "ms", group, [p95, mean], may_be_log=True),
    ]
    if is_divided:
        speed_up = _Series("", lambda p: p.speed_up)
        efficiency = _Series("", lambda p: p.efficiency and 100 * p.efficiency)
        grows = ExpectedGrowth(words, slope=1 / min(point.value for point in points))
        stays = ExpectedGrowth("100 %", height=100)
        panels.append(_panel("Speed-up", "times the smallest value", group, [speed_up], grows))
        panels.append(_panel("Efficiency", "%", group, [efficiency], stays))
    if any(point.error_share for point in points):
        errors = _Series("", lambda p: p.error_share and 100 * p.error_share)
        panels.append(_panel("Errors", "% of all requests", group, [errors]))
    return panels


def _panel(
    title: str,
    unit: str,
    group: Sequence[SweepAnswer],
    series: Sequence[_Series],
    expected: ExpectedGrowth | None = None,
    *,
    may_be_log: bool = False,
) -> Panel:
    points = [point for each in group for point in each.points]
    at_x = _x_scale(sorted({point.value for point in points}))
    values = [value for point in points for each in series for value in _reach(point, each)]
    y = (
        _log_axis(values)
        if may_be_log and (bool(values) and max(values) / min(values) > _WIDE)
        else _linear_axis(values)
    )
    curves = [
        _curve(sweep, each, line_style(number), at_x, y.at, unit, is_named=len(group) > 1)
        for number, sweep in enumerate(group)
        for each in series
    ]
    # Those with room for their text; the first always stays.
    kept: list[tuple[float, str]] = []
    for at, text in [(at_x(x), value_text(x)) for x in sorted({point.value for point in points})]:
        if not kept or at - kept[-1][0] >= max(_NEAR, 1.4 * len(text)):
            kept.append((at, text))
    return Panel(
        title,
        f"{unit}, log scale" if y.is_log else unit,
        curves,
        kept,
        y.ticks,
        untrusted_bands(points, at_x),
        guide_of(expected, points, at_x, y.at, y.top) if expected else None,
    )


def _reach(point: SweepPoint, series: _Series) -> list[float]:
    """The figure and the upper end of its interval, where there are any."""
    ends = series.ends(point)
    return [each for each in (series.read(point), ends and ends[1]) if each]


@dataclass(frozen=True, slots=True)
class _UprightAxis:
    """`top`: the value at its upper end."""

    at: Callable[[float], float]
    ticks: list[tuple[float, str]]
    top: float
    is_log: bool = False


def _linear_axis(values: Sequence[float]) -> _UprightAxis:
    """From 0."""
    highest = max(values, default=0.0) or 1.0
    step = round_up(highest / 3, TICK_STEPS)
    n_steps = floor(highest / step) + 1
    at = _scale(0.0, step * n_steps, _BOTTOM, _TOP)
    ticks = [(at(step * n), f"{step * n:,g}") for n in range(n_steps + 1)]
    return _UprightAxis(at, ticks, step * n_steps)


def _log_axis(values: Sequence[float]) -> _UprightAxis:
    axis = LogAxis(values, _BOTTOM, _TOP, _AROUND)
    lowest = min(values) / _AROUND
    return _UprightAxis(
        lambda value: axis.at(max(value, lowest)), axis.ticks(), max(values) * _AROUND, is_log=True
    )


def _x_scale(xs: Sequence[float]):
    low, high = xs[0], xs[-1]
    if low > 0 and high / low > _WIDE:
        at = _scale(log(low), log(high), _LEFT + 3, _RIGHT)
        return lambda value: at(log(value))
    return _scale(low, high, _LEFT + 3, _RIGHT)


def _scale(low: float, high: float, start: float, end: float):
    def at(value: float) -> float:
        return round(start + (end - start) * (value - low) / ((high - low) or 1.0), 2)

    return at


def _curve(
    sweep: SweepAnswer, series: _Series, style: LineStyle, at_x, at_y, unit: str, *, is_named: bool
) -> Curve:
    name = " ".join(filter(None, [sweep.name * is_named, series.name]))

    def dot(point: SweepPoint) -> Dot | None:
        value = series.read(point)
        if value is None:
            return None
        ends = series.ends(point) if point.is_trusted else None
        said = " ".join(filter(None, [name, figure(value), unit]))
        low, high = (at_y(max(0.0, each)) for each in ends) if ends else (None, None)
        return Dot(
            at_x(point.value),
            at_y(value),
            said if point.is_trusted else f"{said}, not trusted: {point.why}",
            point.is_trusted,
            low,
            high,
            sweep.name if is_named and not point.is_trusted and not series.is_second else "",
            point.value,
            point_words(sweep.field, point.value),
            point.test_id,
        )

    dots = [dot(point) for point in sweep.points]
    pieces = [(a, b) for a, b in pairwise(dots) if a and b and a.is_trusted and b.is_trusted]
    return Curve(sweep.name, style, [each for each in dots if each], pieces, series.is_second, name)
