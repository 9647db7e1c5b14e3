"""The columns of a history's chart, which draws the numbers and shows the texts. A chart mark is a
campaign or, of a long history, a week of older ones. The axis is of time, in seconds since 1970.
All tests of a project on one line: the newest value over the baseline, on a logarithmic axis.
Places across are in percent of the width, so that the drawing stretches; dots that would cover each
other are stacked. Heights are in px."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from campaigns.domain.analysis.changes import Change
from campaigns.domain.analysis.histories import PLAN_VERSION, CampaignPoint, TestHistory, mean_of
from campaigns.domain.lifecycle import TargetState
from campaigns.domain.presentation.history_words import HistoryStatus, change_words, day, word_of
from campaigns.domain.presentation.sentences import plain_text
from campaigns.domain.units import DASH, change_size, counted, percent
from campaigns.queries.columns import utc_day
from campaigns.queries.history import HistorySeries
from campaigns.views.drawings import RatioAxis, Tick
from campaigns.views.history_groups import Fold, Line, toggled
from campaigns.views.history_rows import MOVED, PERCENTILES, Pair, rows_of_points

_MOST_SINGLE, _NEWEST_SINGLE = 120, 60
_SOUND = {"", TargetState.HEALTHY}

Group = tuple[int, int]  # the indices of the first point and of the one after the last


def chart_of(
    named: HistorySeries, metric: str, reference: HistorySeries | None = None
) -> dict[str, Any]:
    history = named.history
    points, groups = history.points, folded(history.points)
    alone = [points[a] for a, b in groups if b - a == 1]
    rows = iter(rows_of_points(alone))
    marks = [
        _week(points[a:b], metric) if b - a > 1 else _campaign(points[a], next(rows))
        for a, b in groups
    ]
    columns = {key: [mark[key] for mark in marks] for key in marks[0]} if marks else {}
    # The lanes above the chart that are not empty: name, dash of its lines, and its events.
    found = [
        ("deploys", [], [{"time": _seconds(mark.at), "text": mark.text} for mark in named.marks]),
        ("plan", [5, 3], list(_changed(named.history, is_plan=True))),
        ("environment", [1, 3], list(_changed(named.history, is_plan=False))),
    ]
    return {
        "scheme": named.endpoint.scheme,
        **columns,
        "isOdd": [at for at, (a, b) in enumerate(groups) if b - a == 1 and a in history.course.odd],
        "changes": [_change(history, change, groups) for change in history.course.changes],
        "levels": _levels(history),
        "lanes": [
            {"name": name, "dash": dash, "events": events} for name, dash, events in found if events
        ],
        "reference": _reference(reference) if reference else None,
    }


def _reference(named: HistorySeries) -> dict[str, Any]:
    """The marks and levels of the reference, which has its own campaigns."""
    points = named.history.points
    marks = [_span(points[first:end]) for first, end in folded(points)]
    return {
        "scheme": named.endpoint.scheme,
        **{key: [mark[key] for mark in marks] for key in ("time", "at", "value", "low", "high")},
        "text": [_value_words(mark) for mark in marks],
        "levels": _levels(named.history),
    }


def folded(points: Sequence[CampaignPoint]) -> list[Group]:
    """Each campaign; of a long history the older ones week by week."""
    n = len(points)
    if n <= _MOST_SINGLE:
        return [(index, index + 1) for index in range(n)]
    older = n - _NEWEST_SINGLE
    weeks = groupby(range(older), key=lambda index: points[index].at.isocalendar()[:2])
    spans = [list(indices) for _, indices in weeks]
    return [(span[0], span[-1] + 1) for span in spans] + [(at, at + 1) for at in range(older, n)]


def _campaign(point: CampaignPoint, row: dict[str, Any]) -> dict[str, Any]:
    share = point.error_share
    return {
        **_span([point]),
        "link": reverse("campaign-detail", args=[point.campaign]),
        "isAside": not point.is_counted,
        "isSound": point.target_state in _SOUND,
        **{name: _ms(getattr(point, f"{name}_us")) for name in PERCENTILES},
        "errors": None if share is None else round(share * 100, 4),
        "valueText": f"{DASH}  does not count: {row['why']}"
        if row["why"]
        else f"{row['value']} {row['interval']}".strip(),
        **{f"{name}Text": row[name] for name in PERCENTILES},
        "errorsText": f"{row['errors']}{_state_text(point)}",
    }


def _week(points: Sequence[CampaignPoint], metric: str) -> dict[str, Any]:
    """A mark at the mean of its campaigns, from the smallest to the largest value."""
    span = _span(points)
    share = mean_of([each for point in points if (each := point.error_share) is not None])
    percentiles = {
        name: _ms(mean_of([us for point in points if (us := getattr(point, f"{name}_us"))]))
        for name in PERCENTILES
    }
    unsound = [point for point in points if point.target_state not in _SOUND]
    since, until = span["days"]
    return {
        **span,
        "link": "?" + urlencode({"since": since, "until": until, "metric": metric}),
        "isAside": span["value"] is None,
        "isSound": not unsound,
        **percentiles,
        "errors": None if share is None else round(share * 100, 4),
        "valueText": f"{_value_words(span)}, {counted(len(points), 'campaigns')}",
        **{f"{name}Text": _text(percentiles[name]) for name in PERCENTILES},
        "errorsText": f"{percent(share)}{_unsound_text(len(unsound))}",
    }


def _span(points: Sequence[CampaignPoint]) -> dict[str, Any]:
    """When these campaigns were and what they had: of one its interval, of several the smallest and
    the largest."""
    first, last = points[0].at, points[-1].at
    values = [point.value_us for point in points if point.is_counted]
    if len(points) == 1:
        low, high = points[0].interval_us or (None, None)
    else:
        low, high = min(values, default=None), max(values, default=None)
    return {
        "time": _seconds(first + (last - first) / 2),
        "at": f"{day(first)} to {day(last)}" if day(first) != day(last) else day(first),
        "days": (str(utc_day(first)), str(utc_day(last))),
        "value": _ms(mean_of(values)),
        "low": _ms(low),
        "high": _ms(high),
    }


def _value_words(span: dict[str, Any]) -> str:
    if span["low"] is None:
        return _text(span["value"])
    return f"{_text(span['value'])} [{_text(span['low'])}, {_text(span['high'])}]"


def _seconds(at: datetime) -> int:
    return int(at.timestamp())


def _ms(value_us: float | None) -> float | None:
    """To four digits: finer than a pixel."""
    return None if value_us is None else round(value_us / 1000, 4)


def _text(value_ms: float | None) -> str:
    return DASH if value_ms is None else f"{value_ms:.3g}"


def _state_text(point: CampaignPoint) -> str:
    return "" if point.target_state in _SOUND else f"  target {point.target_state}"


def _unsound_text(n: int) -> str:
    return f"  target not healthy in {counted(n, 'campaigns')}" if n else ""


def _change(history: TestHistory, change: Change, groups: Sequence[Group]) -> dict[str, Any]:
    points = history.points
    return {
        "index": next(at for at, (_, end) in enumerate(groups) if change.index < end),
        "time": _between(points, change.index),
        "from": _seconds(points[history.before(change)].at),
        "to": _seconds(points[change.latest].at),
        "text": percent(change.ratio - 1, decimals=1, signed=True),
        "word": str(word_of(history, change) or ""),
        "sentence": plain_text(change_words(history, change)),
    }


def _between(points: Sequence[CampaignPoint], index: int) -> int:
    """Half-way from the campaign before."""
    at, before = points[index].at, points[index - 1].at if index else points[index].at
    return _seconds(before + (at - before) / 2)


def _levels(history: TestHistory) -> list[dict[str, float]]:
    """Where each level is drawn: from one change to the next."""
    points, changes = history.points, history.course.changes
    if not changes:
        return []
    edges = [_seconds(points[0].at), *(_between(points, change.index) for change in changes)]
    edges.append(_seconds(points[-1].at))
    heights = [changes[0].before, *(change.after for change in changes)]
    return [
        {"from": first, "to": end, "value": round(height / 1000, 4)}
        for first, end, height in zip(edges, edges[1:], heights, strict=False)
    ]


def _changed(history: TestHistory, *, is_plan: bool) -> Iterator[dict[str, Any]]:
    for mark in history.marks:
        facts = {name: after for name, _, after in mark.differences}
        version = facts.pop(PLAN_VERSION, "")
        text = version if is_plan else ", ".join(facts)
        if text:
            yield {"time": _between(history.points, mark.index), "text": text}


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
