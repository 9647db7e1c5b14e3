"""The sparkline of a test in the overview: its newest campaigns around the level of the newest, all
rows on one scale of percent, so that a change looks equally high in every row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from campaigns.domain.judged.histories import TestHistory
from campaigns.views.sparks import broken_line

WIDTH, HEIGHT, _EDGE = 168, 26, 3
_CAMPAIGNS = 40
_REACH = log(1.15)  # of the logarithm on both sides: the row is 30 % high


@dataclass(frozen=True, slots=True)
class HistorySpark:
    """`path` is SVG's; `changes` and `crosses` are places on the x axis; `end` the newest value."""

    path: str
    changes: tuple[float, ...]
    crosses: tuple[float, ...]
    end: tuple[float, float] | None


def sparks_of(histories: Sequence[TestHistory]) -> HistorySpark | None:
    """The band that holds the lines of many tests, the newest campaigns of all at its end. None
    without a campaign that counts."""
    offsets = np.full((len(histories), _CAMPAIGNS), np.nan)
    for row, history in zip(offsets, histories, strict=True):
        values = history.values_us[-_CAMPAIGNS:]
        if values.count(None) < len(values):
            row[-len(values) :] = np.log(np.array(values, dtype=float)) - _centre(history, values)
    places = np.flatnonzero(~np.isnan(offsets).all(axis=0))
    if not places.size:
        return None
    known = offsets[:, places]
    edges = [_height(each) for each in np.nanmax(known, axis=0)]
    back = [_height(each) for each in np.nanmin(known, axis=0)]
    step = (WIDTH - 2 * _EDGE) / (_CAMPAIGNS - 1)
    xs = [round(_EDGE + float(place) * step, 1) for place in places]
    band = [*zip(xs, edges, strict=True), *zip(xs[::-1], back[::-1], strict=True)]
    return HistorySpark(broken_line(band) + "Z", (), (), None)


def spark_of(history: TestHistory) -> HistorySpark | None:
    """None without a campaign that counts."""
    values = history.values_us[-_CAMPAIGNS:]
    if values.count(None) == len(values):
        return None
    step = (WIDTH - 2 * _EDGE) / max(1, len(values) - 1)
    places = [round(_EDGE + index * step, 1) for index in range(len(values))]
    centre = _centre(history, values)
    heights = [None if value is None else _height(log(value) - centre) for value in values]
    first = len(history.points) - len(values)
    changes = (each.index - first for each in history.course.changes)
    return HistorySpark(
        broken_line(list(zip(places, heights, strict=True))),
        tuple(round(places[index] - step / 2, 1) for index in changes if index > 0),
        tuple(x for x, height in zip(places, heights, strict=True) if height is None),
        None if heights[-1] is None else (places[-1], heights[-1]),
    )


def _centre(history: TestHistory, values: Sequence[float | None]) -> float:
    """The logarithm of the newest level; without changes of the median."""
    if change := history.last_change:
        return log(change.after)
    known = sorted(value for value in values if value is not None)
    return log(known[len(known) // 2])


def _height(offset: float) -> float:
    """Beyond the row, at its edge."""
    share = max(-1.0, min(1.0, float(offset) / _REACH))
    return round(HEIGHT / 2 - share * (HEIGHT / 2 - _EDGE), 1)
