"""The rows of the overview of histories: what moved first, what each row says and
draws."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from campaigns.domain.judged.changes import MIN_CAMPAIGNS
from campaigns.domain.judged.histories import TestHistory
from campaigns.domain.judged.words import Word
from campaigns.domain.shown.history_words import (
    HistoryStatus,
    cause_words,
    day,
    direction_of,
    expected_words,
    range_words,
    standing_of,
    why_not_counted,
)
from campaigns.domain.units import DASH, THIN, change_size, figure, percent
from campaigns.queries.history import HistoryKey, HistorySeries
from campaigns.views.history_tables import against_cell
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


_ORDER = {standing: place for place, standing in enumerate(HistoryStatus)}
MOVED = {HistoryStatus.SLOWER, HistoryStatus.FASTER, HistoryStatus.MOVED}
_GLYPHS = {
    HistoryStatus.SLOWER: "warn",
    HistoryStatus.FASTER: "good",
    HistoryStatus.MOVED: "info",
    HistoryStatus.ODD: "draft",
    HistoryStatus.UNCOUNTED: "not_usable",
    HistoryStatus.NEW: "queued",
    HistoryStatus.UNCHANGED: "dash",
}
NOTES = {
    HistoryStatus.MOVED: "plan or environment was changed at the same time",
    HistoryStatus.ODD: "one campaign outside what was expected; two more will tell",
    HistoryStatus.UNCOUNTED: "the newest campaign has no figure that counts",
    HistoryStatus.NEW: f"fewer than {MIN_CAMPAIGNS} campaigns",
}

Pair = tuple[HistoryStatus, HistorySeries]


def in_order(
    found: Iterable[HistorySeries], is_quiet: Callable[[HistoryKey, TestHistory], bool]
) -> list[Pair]:
    """By standing, the largest difference first, and the references at the end. With a quiet last
    change a test is unchanged."""
    pairs = []
    for named in found:
        standing = standing_of(named.history)
        if standing in MOVED and is_quiet(named.key, named.history):
            standing = HistoryStatus.UNCHANGED
        pairs.append((standing, named))
    return sorted(
        pairs,
        key=lambda pair: (
            pair[1].is_of_reference,
            _ORDER[pair[0]],
            -_moved(pair[1]),
            pair[1].plan.name,
        ),
    )


def counts_of(pairs: Iterable[Pair]) -> Counter[HistoryStatus]:
    """Of the tests: what a reference does is counted nowhere."""
    return Counter(standing for standing, named in pairs if not named.is_of_reference)


def directions_of(pairs: Iterable[Pair]) -> Counter[Word]:
    """Of the tests that moved with their plan or environment."""
    return Counter(
        direction_of(named.history.last_change)
        for standing, named in pairs
        if standing is HistoryStatus.MOVED
    )


def _moved(named: HistorySeries) -> float:
    change = named.history.last_change
    return abs(change.ratio - 1) if change else abs(against_level(named) or 0.0)


def against_level(named: HistorySeries) -> float | None:
    """The newest value over what was expected, minus 1."""
    expected, newest = named.history.course.expected, named.history.newest
    if expected is None or not newest.is_counted:
        return None
    return newest.value_us / expected.level - 1


def row_of(standing: HistoryStatus, named: HistorySeries) -> dict[str, Any]:
    history, change = named.history, named.history.last_change
    newest, expected = history.newest, history.course.expected
    has_moved = standing in MOVED
    reference = history.moved_beside(change) if has_moved else None
    # ± 0.46, in ms: half of the newest value's 95 % interval between runs.
    ends = newest.interval_us
    return {
        "named": named,
        "standing": standing,
        "glyph": _GLYPHS[standing],
        "since": day(history.points[change.index].at) if has_moved else "",
        "change": change_size(change.ratio) if has_moved else "",
        "moved": cause_words(history.causes(change)) if standing is HistoryStatus.MOVED else "",
        "environment": change_size(reference.ratio) if reference else "",
        "newest": figure(newest.value_us / 1000) if newest.is_counted else DASH,
        "half_interval": f"±{THIN}{figure((ends[1] - newest.value_us) / 1000, 2)}"
        if ends
        else DASH,
        "expected": expected_words(expected) if expected else DASH,
        "against_level": percent(against_level(named), decimals=1, signed=True),
        **against_cell(newest.against),
        "baseline": newest.against.baseline if newest.against else "",
        "is_outside": bool(expected and newest.is_counted and history.is_odd),
        "why": why_not_counted(newest),
        "at": newest.at,
        "spark": spark_of(history),
    }


def row_of_fold(tests: Sequence[HistorySeries]) -> dict[str, Any]:
    """The line of unchanged tests together."""
    newest = [each for named in tests if (each := against_level(named)) is not None]
    baselines = {each.baseline for named in tests if (each := named.history.newest.against)}
    return {
        "glyph": _GLYPHS[HistoryStatus.UNCHANGED],
        "spread": range_words(min(newest), max(newest)) if newest else "",
        "baseline": baselines.pop() if len(baselines) == 1 else "",
        "at": max(named.history.newest.at for named in tests),
        "spark": sparks_of([named.history for named in tests]),
    }
