"""All tests of a project on one line: the newest value over the baseline, on a logarithmic axis.

Places across are in percent of the width, so that the drawing stretches; dots that would cover each
other are stacked. Heights are in px.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.http import QueryDict

from campaigns.domain.judged.histories import TestHistory
from campaigns.domain.shown.history_words import HistoryStatus
from campaigns.domain.units import change_size, counted, percent
from campaigns.queries.history import HistorySeries
from campaigns.views.drawings import RatioAxis, Tick
from campaigns.views.history_groups import Fold, Line, toggled
from campaigns.views.history_rows import MOVED, Pair

_BAND = 0.05
_WIDTH = 1200  # px of a wide page: what the room of dots and names is reckoned with
_DOT = 8
_MOST_STACKED = 8  # above and below the line; further ones cover each other
_NAME_ROW, _LETTER = 16, 6.4
# As many as targets that moved alike need; a row costs height only where it is used.
_MOST_NAME_ROWS = 10


@dataclass(frozen=True, slots=True)
class TestDot:
    """`kind` is "moved", "odd" or "usual"; `query` leads to the test's row."""

    x: float
    y: int
    kind: str
    text: str
    query: str
    test: int


@dataclass(frozen=True, slots=True)
class DotName:
    """What is written under the dots from `low` to `high`."""

    text: str
    low: float
    high: float
    at: float
    y: int


@dataclass(frozen=True, slots=True)
class DotsPlot:
    dots: Sequence[TestDot]
    names: Sequence[DotName]
    ticks: Sequence[Tick]
    axis: RatioAxis
    height: int
    n_baselines: int  # tests that are held against a baseline, the others against their level


@dataclass(frozen=True, slots=True)
class _Place:
    x: float
    kind: str
    ratio: float
    named: HistorySeries


def dots_of(
    pairs: Sequence[Pair], lines: Sequence[Line], metric: str, asked: QueryDict
) -> DotsPlot | None:
    """None if no test has anything to be held against. `asked` is the page's address."""
    known = [(*pair, found) for pair in pairs if (found := _ratio_of(*pair, metric))]
    if not known:
        return None
    axis = RatioAxis([[{"low": ratio, "high": ratio} for *_, (ratio, _) in known]], _BAND)
    places = [
        _Place(axis.at(ratio), _kind(standing), ratio, named)
        for standing, named, (ratio, _) in known
    ]
    places.sort(key=lambda place: (place.x, place.named.newest_test))
    levels = _stacked([place.x for place in places])
    half = max(map(abs, levels)) * _DOT + _DOT
    queries = _queries(lines, asked)
    names = list(_names([each for each in places if each.kind == "moved"], 2 * half))
    return DotsPlot(
        [
            TestDot(
                place.x,
                half + level * _DOT,
                place.kind,
                f"{_label(place)} on {place.named.endpoint.target.name}",
                queries[place.named.newest_test],
                place.named.newest_test,
            )
            for place, level in zip(places, levels, strict=True)
        ],
        names,
        [
            Tick(tick.at, percent(float(tick.text) - 1, decimals=0, signed=True))
            for tick in axis.ticks
        ],
        axis,
        max([2 * half, *(name.y + 4 for name in names)]),
        sum(is_baseline for *_, (_, is_baseline) in known),
    )


def _ratio_of(
    standing: HistoryStatus, named: HistorySeries, metric: str
) -> tuple[float, bool] | None:
    """The newest value over the baseline, and True; without one, and False, over the level before
    the change of a test that moved, or over the present level."""
    history, newest = named.history, named.history.newest
    if not newest.is_counted:
        return None
    if (against := newest.against) and against.ratio and against.metric == metric:
        return against.ratio, True
    level = _level_of(standing, history)
    return (newest.value_us / level, False) if level else None


def _level_of(standing: HistoryStatus, history: TestHistory) -> float | None:
    change, expected = history.last_change, history.course.expected
    if change and standing in MOVED:
        return change.before
    if expected:
        return expected.level
    return change.after if change else None


def _kind(standing: HistoryStatus) -> str:
    if standing in MOVED:
        return "moved"
    return "odd" if standing is HistoryStatus.ODD else "usual"


def _stacked(places: Sequence[float]) -> list[int]:
    """For each place, in order, the level at which a dot covers no other: 0, 1, -1, 2 …"""
    near = 100 * _DOT / _WIDTH
    order = sorted(range(-_MOST_STACKED, _MOST_STACKED + 1), key=lambda level: (abs(level), -level))
    last = dict.fromkeys(order, -near)
    found = []
    for x in places:
        level = next((each for each in order if x - last[each] >= near), order[-1])
        last[level] = x
        found.append(level)
    return found


def _queries(lines: Sequence[Line], asked: QueryDict) -> dict[int, str]:
    """The address of each test's row: where its page is, and its fold open."""
    base = asked.copy()
    base.pop("page", None)
    asked_for, found = base.urlencode(), {}
    for line in lines:
        if not isinstance(line, Fold):
            found[line[1].newest_test] = asked_for
            continue
        query = asked_for if line.is_open else toggled(asked, line.name)
        found |= {named.newest_test: query for _, named in line.tests}
    return {test: f"{query}&page=with.test-{test}".lstrip("&") for test, query in found.items()}


def _label(place: _Place) -> str:
    named = place.named
    return f"{named.plan.name} {named.arm_label}, {change_size(place.ratio)}"


def _names(moved: Sequence[_Place], top: int) -> Iterator[DotName]:
    """Those of the tests that moved; several of one target in one direction have one. A name that
    finds no room is left out."""

    def same(place: _Place) -> tuple[str, bool]:
        return place.named.endpoint.target.name, place.ratio > 1

    groups = (list(each) for _, each in groupby(sorted(moved, key=same), key=same))
    free = [0.0] * _MOST_NAME_ROWS
    for group in sorted(groups, key=lambda each: each[0].x):
        low, high = group[0].x, group[-1].x
        text = _label(group[0]) if len(group) == 1 else _of_group(group)
        width = 100 * len(text) * _LETTER / _WIDTH
        at = min(100 - width / 2, max(width / 2, (low + high) / 2))
        row = next((i for i, until in enumerate(free) if until <= at - width / 2), None)
        if row is not None:
            free[row] = max(at + width / 2 + 1, high)
            y = top + (row + 1) * _NAME_ROW
            yield DotName(text, low, high, round(at, 2), y)


def _of_group(group: Sequence[_Place]) -> str:
    target = group[0].named.endpoint.target.name
    ends = dict.fromkeys(change_size(each.ratio) for each in (group[0], group[-1]))
    return f"{counted(len(group), 'tests')} of {target} {' to '.join(ends)}"
