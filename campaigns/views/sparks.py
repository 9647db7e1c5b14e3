"""Sparklines: no axes, the last point marked, minimum and maximum in the title. A run's tiles show
their figure over the last seconds, the list of campaigns the p95 of the last with the same test.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median

from campaigns.domain.measured.series import Point
from campaigns.domain.shown.run_points import SPARK_S
from campaigns.domain.units import count, figure, percent

WIDTH, HEIGHT, _EDGE = 96, 34, 3
_ROOM = HEIGHT - 2 * _EDGE


@dataclass(frozen=True, slots=True)
class Spark:
    """`path` is SVG's; `end` the last point."""

    path: str
    end: tuple[float, float]
    title: str
    is_zero: bool


def sparks_of(points: Sequence[Point], whole_seconds: int | None = None) -> dict[str, Spark]:
    """Sparklines by tile key; tiles with values in fewer than two seconds have none. A finished
    run's seconds from `whole_seconds` on are left out: the last one is only a part of a second."""
    end = inf if whole_seconds is None else whole_seconds
    measured = [point for point in points[-SPARK_S:] if 0 <= point["second"] < end]
    sparks = {
        "rate": _spark([point["ok"] for point in measured], count),
        "p50": _spark([point["p50_ms"] for point in measured], figure),
        "p95": _spark([point["p95_ms"] for point in measured], figure),
        "p99": _spark([point["p99_ms"] for point in measured], figure),
        "errors": _spark([_error_share(point) for point in measured], percent),
    }
    return {key: spark for key, spark in sparks.items() if spark}


TREND_WIDTH, TREND_HEIGHT = 72, 20
_LEAST_SPAN = 0.1  # of the median, to either side: smaller changes look small
_LEAST_POINTS = 3


def trend_of(values_ms: Sequence[float | None]) -> Spark | None:
    """The last campaigns of a test around their median, evenly spaced; None under three figures."""
    known = [value for value in values_ms if value is not None]
    if len(known) < _LEAST_POINTS:
        return None
    middle = median(known)
    span = max(_LEAST_SPAN * middle, *(abs(value - middle) for value in known))
    step = (TREND_WIDTH - 2 * _EDGE) / (len(values_ms) - 1)
    room = TREND_HEIGHT / 2 - _EDGE
    points = [
        (
            round(_EDGE + n * step, 1),
            round(TREND_HEIGHT / 2 - room * (value - middle) / span, 1),
        )
        for n, value in enumerate(values_ms)
        if value is not None
    ]
    words = f"p95 of the last {len(known)}: from {figure(min(known))} to {figure(max(known))} ms"
    return Spark(broken_line(points), points[-1], words, is_zero=False)


def _error_share(point: Point) -> float | None:
    errors = point["failed"] + point["dropped"]
    ended = errors + point["ok"]
    return errors / ended if ended else None


def _spark(values: Sequence[float | None], text: Callable[[float], str]) -> Spark | None:
    """Scaled from 0 to the maximum; None breaks the line."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return None
    top, step = max(known), (WIDTH - 2 * _EDGE) / max(1, len(values) - 1)
    places = [(round(_EDGE + n * step, 1), _height(v, top)) for n, v in enumerate(values)]
    end = next((x, y) for x, y in reversed(places) if y is not None)
    words = f"from {text(min(known))} to {text(top)}"
    return Spark(broken_line(places), end, words, top <= 0)


def _height(value: float | None, top: float) -> float | None:
    if value is None:
        return None
    return round(HEIGHT - _EDGE - (value / top if top > 0 else 0) * _ROOM, 1)


def broken_line(points: Sequence[tuple[float, float | None]]) -> str:
    """Points as (x, y); a y of None breaks the line. A point alone between two breaks is a line
    without length, which round caps draw as a dot: otherwise it would not be seen."""
    path = ""
    heights = [None, *(y for _, y in points), None]
    for (x, y), before, after in zip(points, heights, heights[2:], strict=False):
        if y is None:
            continue
        path += f"{'M' if before is None else 'L'}{x} {y}"
        if before is None and after is None:
            path += "h0"
    return path
