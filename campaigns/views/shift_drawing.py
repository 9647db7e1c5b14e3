"""Where the shift of each percentile is drawn, in percent of width and height.

x is that of the percentile plot, the logarithm of 1/(1 − q); y is the change in percent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log

from campaigns.domain.judged.shift import ShiftPoint
from campaigns.domain.percentiles import P50, P90, P95, P99, P999, WHOLE, name
from campaigns.domain.units import number, percent

_LABELLED = (P50, P90, P95, P99, P999)
_FIRST, _LEAST_LAST, _BEYOND = 1 / 0.9, 20, 1.08  # as in static/js/charts/percentiles.js
_WIDER = 1.25
_LEAST_GAP = 0.15  # of the height between two tick labels
_STEPS = tuple(n * 10.0**k for k in range(-2, 9) for n in (1, 2, 5))


@dataclass(frozen=True, slots=True)
class ShiftMark:
    """A percentile with a label: its place, its change, and the place of the text above it."""

    x: float
    y: float
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class ShiftDrawing:
    """`band` and `line` are points of SVG shapes in a box of 100 × 100; `same_from` and
    `same_height` the practical threshold's band; `zero` where nothing changed."""

    band: str
    line: str
    marks: tuple[ShiftMark, ...]
    zero: float
    same_from: float
    same_height: float
    ticks: tuple[tuple[float, str], ...]


def shift_drawing(
    points: Sequence[ShiftPoint], threshold: float, plotted_to: float
) -> ShiftDrawing | None:
    """`plotted_to` is where the percentile plot ends, as 1/(1 − q). None for fewer than two points:
    they make no line."""
    if len(points) < 2:
        return None
    # An interval that says nothing would press all others flat; it is cut off.
    widest = max(abs(point.interval.ratio - 1) for point in points) + threshold
    ends = [end - 1 for point in points for end in (point.interval.low, point.interval.high)]
    low = _WIDER * max(min([*ends, -threshold]), -2 * widest)
    high = _WIDER * min(max([*ends, threshold]), 2 * widest)

    def y(change: float) -> float:
        return round(100 * (high - min(high, max(low, change))) / (high - low), 2)

    last = max(_LEAST_LAST, plotted_to) * _BEYOND

    def x(q: int) -> float:
        return round(100 * log(_place(q) / _FIRST) / log(last / _FIRST), 2)

    there = [f"{x(point.q)},{y(point.interval.high - 1)}" for point in points]
    back = [f"{x(point.q)},{y(point.interval.low - 1)}" for point in reversed(points)]
    return ShiftDrawing(
        band=" ".join(there + back),
        line=" ".join(f"{x(point.q)},{y(point.interval.ratio - 1)}" for point in points),
        marks=tuple(
            ShiftMark(
                x(point.q),
                y(point.interval.ratio - 1),
                name(point.q),
                number(100 * (point.interval.ratio - 1), 1, signed=True),
            )
            for point in points
            if point.q in _LABELLED
        ),
        zero=y(0),
        same_from=y(threshold),
        same_height=round(y(-threshold) - y(threshold), 2),
        ticks=tuple((y(each), text) for each, text in _ticks(low, high, threshold)),
    )


def _ticks(low: float, high: float, threshold: float) -> list[tuple[float, str]]:
    """Multiples of the threshold, or of a round number where these would lie on each other."""
    step = next(each for each in (threshold, *_STEPS) if each >= _LEAST_GAP * (high - low))
    decimals = 0 if round(100 * step, 6).is_integer() else 1
    ticks = [step * n for n in range(ceil(low / step), floor(high / step) + 1)]
    return [(each, percent(each, decimals=decimals, signed=True)) for each in ticks]


def _place(q: int) -> float:
    return WHOLE / (WHOLE - q)
