"""The sparkline of a test in the overview: its newest campaigns around the level of the newest, all
rows on one scale of percent, so that a change looks equally high in every row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from campaigns.domain.judged.histories import TestHistory

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


def sparks_of(histories: Sequence[TestHistory]) -> HistorySpark:
    """The lines of many tests in one place."""
    found = [spark for history in histories if (spark := spark_of(history))]
    return HistorySpark("".join(each.path for each in found), (), (), None)


def spark_of(history: TestHistory) -> HistorySpark | None:
    """None without a campaign that counts."""
    first = max(0, len(history.points) - _CAMPAIGNS)
    points = history.points[first:]
    known = [point.value_us for point in points if point.is_counted]
    if not known:
        return None
    step = (WIDTH - 2 * _EDGE) / max(1, len(points) - 1)
    places = [round(_EDGE + index * step, 1) for index in range(len(points))]
    change = history.last_change
    centre = log(change.after if change else sorted(known)[len(known) // 2])
    heights = [
        _height(log(point.value_us) - centre) if point.is_counted else None for point in points
    ]
    changes = (each.index - first for each in history.course.changes)
    return HistorySpark(
        _path(places, heights),
        tuple(round(places[index] - step / 2, 1) for index in changes if index > 0),
        tuple(x for x, height in zip(places, heights, strict=True) if height is None),
        None if heights[-1] is None else (places[-1], heights[-1]),
    )


def _height(offset: float) -> float:
    """Beyond the row, at its edge."""
    share = max(-1.0, min(1.0, offset / _REACH))
    return round(HEIGHT / 2 - share * (HEIGHT / 2 - _EDGE), 1)


def _path(places: Sequence[float], heights: Sequence[float | None]) -> str:
    path, is_down = "", False
    for x, height in zip(places, heights, strict=True):
        if height is not None:
            path += f"{'L' if is_down else 'M'}{x} {height}"
        is_down = height is not None
    return path
