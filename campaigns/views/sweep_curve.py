"""Positions of a sweep's curves, in percent of width and height. Pure; see drawings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
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
from campaigns.domain.shown.results import SweepAnswer
from campaigns.domain.shown.sweep_points import SweepPoint
from campaigns.domain.shown.tables import Table
from campaigns.domain.units import figure
from campaigns.views.drawings import round_up
from campaigns.views.line_styles import LineStyle, line_style
from campaigns.views.sweep_table import side_by_side

# The y axis labels are left of 0, in the drawing's padding.
_LEFT, _RIGHT, _TOP, _BOTTOM = 2.0, 97.0, 8.0, 88.0
_STEPS = (1, 2, 5, 10)
_WIDE = 20  # of values further apart the axis is logarithmic
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


@dataclass(frozen=True, slots=True)
class Curve:
    """Dots, and the line segments between neighbours that are both trusted. `is_second`: drawn
    fainter, beside the arm's first one."""

    name: str
    style: LineStyle
    dots: list[Dot]
    pieces: list[tuple[Dot, Dot]]
    is_second: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    unit: str
    curves: list[Curve]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]


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
    """The sweeps of one plan and parameter together, their arms on the same axes:
    [{"sweeps", "tables", "parameter", "keys": [(name, style)], "side": their table together, None
    of one arm, "panels", "has_apart": whether a point is not trusted}].

    `trusted_only`: without the points that are not trusted; the axes stay.
    """
    groups: dict[tuple[str, str], list[SweepAnswer]] = {}
    for sweep in sweeps:
        groups.setdefault((sweep.plan_label, sweep.field), []).append(sweep)
    return [
        {
            "plan": plan,
            "sweeps": group,
            "parameter": parameter_words(field),
            "keys": [(each.name, line_style(n)) for n, each in enumerate(group)],
            "tables": [_shown(each.table, trusted_only) for each in group],
            "side": side_by_side(group, trusted_only=trusted_only) if len(group) > 1 else None,
            "panels": _panels(field, group, trusted_only),
            "has_apart": any(not point.is_trusted for each in group for point in each.points),
        }
        for (plan, field), group in groups.items()
    ]


def _shown(table: Table, trusted_only: bool) -> Table:
    rows = tuple(row for row in table.rows if row.kind != "sweep-apart")
    return replace(table, rows=rows) if trusted_only else table


def parameter_words(field: str) -> str:
    if field == INJECTORS:
        return "number of injector processes"
    words = [parameter_label(field).lower(), parameter_unit(field)]
    return ", ".join(filter(None, words))


def _panels(field: str, group: Sequence[SweepAnswer], trusted_only: bool) -> list[Panel]:
    panels = _all_panels(field, group)
    return [_trusted(panel) for panel in panels] if trusted_only else panels


def _trusted(panel: Panel) -> Panel:
    curves = [
        replace(curve, dots=[dot for dot in curve.dots if dot.is_trusted]) for curve in panel.curves
    ]
    return replace(panel, curves=curves)


def _all_panels(field: str, group: Sequence[SweepAnswer]) -> list[Panel]:
    points = [point for each in group for point in each.points]
    if not any(point.rate_per_s and point.is_usable for point in points):
        return []
    rates = _Series("", lambda p: p.rate_per_s, lambda p: p.rate_ends)
    p95 = _Series("p95", lambda p: p.p95_ms)
    mean = _Series("average", lambda p: p.mean_ms, lambda p: p.mean_ends_ms, is_second=True)
    panels = [
        _panel("Throughput", "ok requests/s", group, [rates]),
        _panel("Response time", "ms", group, [p95, mean]),
    ]
    if field in DIVIDED and any(point.speed_up for point in points):
        speed_up = _Series("", lambda p: p.speed_up)
        efficiency = _Series("", lambda p: p.efficiency and 100 * p.efficiency)
        panels.append(_panel("Speed-up", "times the smallest value", group, [speed_up]))
        panels.append(_panel("Efficiency", "%", group, [efficiency]))
    if any(point.error_share for point in points):
        errors = _Series("", lambda p: p.error_share and 100 * p.error_share)
        panels.append(_panel("Errors", "% of all requests", group, [errors]))
    return panels


def _panel(title: str, unit: str, group: Sequence[SweepAnswer], series: Sequence[_Series]) -> Panel:
    points = [point for each in group for point in each.points]
    values = [_highest(point, each) for point in points for each in series]
    top_value = max(values, default=0.0) or 1.0
    step = round_up(top_value / 3, _STEPS)
    top = step * (floor(top_value / step) + 1)
    xs = sorted({point.value for point in points})
    at_x = _x_scale(xs)
    at_y = _scale(0.0, top, _BOTTOM, _TOP)
    return Panel(
        title,
        unit,
        [
            _curve(sweep, each, line_style(number), at_x, at_y, unit, is_named=len(group) > 1)
            for number, sweep in enumerate(group)
            for each in series
        ],
        _thinned([(at_x(x), value_text(x)) for x in xs]),
        [(at_y(step * n), f"{step * n:,g}") for n in range(round(top / step) + 1)],
    )


def _highest(point: SweepPoint, series: _Series) -> float:
    ends = series.ends(point)
    return max(series.read(point) or 0.0, ends[1] if ends else 0.0)


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


def _thinned(ticks: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """Those with room for their text; the first always stays."""
    kept: list[tuple[float, str]] = []
    for at, text in ticks:
        if not kept or at - kept[-1][0] >= max(_NEAR, 1.4 * len(text)):
            kept.append((at, text))
    return kept


def _curve(
    sweep: SweepAnswer, series: _Series, style: LineStyle, at_x, at_y, unit: str, *, is_named: bool
) -> Curve:
    def dot(point: SweepPoint) -> Dot | None:
        value = series.read(point)
        if value is None:
            return None
        ends = series.ends(point) if point.is_trusted else None
        called = " ".join(filter(None, [sweep.name * is_named, series.name]))
        said = " ".join(filter(None, [called, figure(value), unit]))
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
        )

    dots = [dot(point) for point in sweep.points]
    pieces = [(a, b) for a, b in pairwise(dots) if a and b and a.is_trusted and b.is_trusted]
    return Curve(sweep.name, style, [each for each in dots if each], pieces, series.is_second)
