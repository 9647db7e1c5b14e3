"""What lies under a sweep's curves: where nothing is trusted, and what growth in step would be.

Positions in percent of width and height. Pure; see drawings.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from campaigns.domain.shown.sweep_points import SweepPoint

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
