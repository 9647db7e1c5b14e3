"""Positions of a sweep's curves, in percent of width and height. Pure; see drawings."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor
from typing import Any

from campaigns.domain.shown.results import SweepAnswer
from campaigns.domain.units import figure
from campaigns.views.drawings import round_up

# The y axis labels are left of 0, in the drawing's padding.
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.0, 97.0, 8.0, 88.0
_STEPS = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float
    words: str


@dataclass(frozen=True, slots=True)
class Curve:
    """Dots, and the line segments between neighbours that both have a value."""

    name: str
    dots: list[Dot]
    pieces: list[tuple[Dot, Dot]]


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    unit: str
    curves: list[Curve]
    x_ticks: list[tuple[float, str]]
    y_ticks: list[tuple[float, str]]


def sweep_panels(sweep: SweepAnswer) -> list[Panel]:
    """Throughput, and response time below it; [] without figures."""
    points = sweep.points
    if not any(point["rate"] for point in points):
        return []
    times = [("average", "mean_ms"), ("p95", "p95_ms")]
    return [
        _panel("Throughput", "ok requests/s", points, [("ok requests/s", "rate")]),
        _panel("Response time", "ms", points, times),
    ]


def _panel(
    title: str, unit: str, points: Sequence[dict[str, Any]], series: list[tuple[str, str]]
) -> Panel:
    values = [point[key] for point in points for _, key in series if point[key] is not None]
    step = round_up(max(values, default=1.0) / 3, _STEPS)
    top = step * (floor(max(values, default=1.0) / step) + 1)
    counts = [point["injectors"] for point in points]
    at_x = _scale(min(counts) - 0.3, max(counts), _LEFT, _RIGHT)
    at_y = _scale(0.0, top, _BOTTOM, _TOP)
    return Panel(
        title,
        unit,
        [_curve(name, key, points, at_x, at_y, unit) for name, key in series],
        [(at_x(count), f"{count}") for count in counts],
        [(at_y(step * n), f"{step * n:,g}") for n in range(round(top / step) + 1)],
    )


def _scale(low: float, high: float, start: float, end: float):
    def at(value: float) -> float:
        return round(start + (end - start) * (value - low) / ((high - low) or 1.0), 2)

    return at


def _curve(name: str, key: str, points, at_x, at_y, unit: str) -> Curve:
    dots = [
        point[key] is not None
        and Dot(
            at_x(point["injectors"]),
            at_y(point[key]),
            f"{point['injectors']}: {name} {figure(point[key])}"
            + ("" if unit == name else f" {unit}"),
        )
        for point in points
    ]
    pairs = pairwise(dots)
    return Curve(name, [dot for dot in dots if dot], [(a, b) for a, b in pairs if a and b])
