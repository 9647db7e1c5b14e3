"""The rows of the overview of histories: what moved first, what each row says and draws. The tables
of a test's history: its campaigns with the marks between them, and its changes."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from math import log
from typing import Any
from urllib.parse import urlencode

import numpy as np

from campaigns.compare.queries.columns import utc_day
from campaigns.core.drawings import Spark, broken_line
from campaigns.domain.analysis.changes import MIN_CAMPAIGNS, Change
from campaigns.domain.analysis.histories import CampaignPoint, TestHistory
from campaigns.domain.analysis.ratio import Against, Word
from campaigns.domain.lifecycle import Trust
from campaigns.domain.metrics.figures import MEASURED
from campaigns.domain.presentation.compared_words import against_size, against_words
from campaigns.domain.presentation.history_words import (
    HistoryStatus,
    cause_words,
    change_words,
    day,
    direction_of,
    evidence,
    expected_words,
    newest_ms,
    range_words,
    span_ms,
    standing_of,
    why_not_counted,
)
from campaigns.domain.presentation.tables import Figure, column_cells
from campaigns.domain.units import DASH, change_size, count, decimals_for, in_ms, number, percent
from campaigns.history.models import HistoryKey
from campaigns.history.queries.history import HistorySeries
from campaigns.models import Run, TimeMark

WIDTH, HEIGHT, _EDGE = 168, 26, 3
_CAMPAIGNS = 40
_REACH = log(1.15)  # of the logarithm on both sides: the row is 30 % high


def sparks_of(histories: Sequence[TestHistory]) -> Spark | None:
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
    rows_with_values = offsets[:, places]
    edges = [_height(each) for each in np.nanmax(rows_with_values, axis=0)]
    back = [_height(each) for each in np.nanmin(rows_with_values, axis=0)]
    step = (WIDTH - 2 * _EDGE) / (_CAMPAIGNS - 1)
    xs = [round(_EDGE + float(place) * step, 1) for place in places]
    band = [*zip(xs, edges, strict=True), *zip(xs[::-1], back[::-1], strict=True)]
    return Spark(WIDTH, HEIGHT, broken_line(band) + "Z")


def _spark_of(history: TestHistory) -> Spark | None:
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
    return Spark(
        WIDTH,
        HEIGHT,
        broken_line(list(zip(places, heights, strict=True))),
        None if heights[-1] is None else (places[-1], heights[-1]),
        changes=tuple(round(places[index] - step / 2, 1) for index in changes if index > 0),
        crosses=tuple(x for x, height in zip(places, heights, strict=True) if height is None),
    )


def _centre(history: TestHistory, values: Sequence[float | None]) -> float:
    """The logarithm of the newest level; without changes of the median."""
    if change := history.last_change:
        return log(change.after)
    numbers = sorted(value for value in values if value is not None)
    return log(numbers[len(numbers) // 2])


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
    HistoryStatus.OUTLIER: "draft",
    HistoryStatus.UNCOUNTED: "dash",
    HistoryStatus.NEW: "queued",
    HistoryStatus.UNCHANGED: "dash",
}
NOTES = {
    HistoryStatus.MOVED: "plan or environment was changed at the same time",
    HistoryStatus.OUTLIER: "one campaign outside the expected range; two more decide",
    HistoryStatus.UNCOUNTED: "the newest campaign has no figure that counts",
    HistoryStatus.NEW: f"fewer than {MIN_CAMPAIGNS} campaigns",
}

Pair = tuple[HistoryStatus, HistorySeries]


def in_order(
    histories: Iterable[HistorySeries], is_quiet: Callable[[HistoryKey, TestHistory], bool]
) -> list[Pair]:
    """By standing, the largest difference first, and the references at the end. With a quiet last
    change a test is unchanged."""
    pairs = []
    for series in histories:
        standing = standing_of(series.history)
        if standing in MOVED and is_quiet(series.key, series.history):
            standing = HistoryStatus.UNCHANGED
        pairs.append((standing, series))
    return sorted(
        pairs,
        key=lambda pair: (
            pair[1].is_of_reference,
            _ORDER[pair[0]],
            -_size_of_move(pair[1]),
            pair[1].plan.name,
        ),
    )


def counts_of(pairs: Iterable[Pair]) -> Counter[HistoryStatus]:
    """Of the tests: what a reference does is counted nowhere."""
    return Counter(standing for standing, series in pairs if not series.is_of_reference)


def directions_of(pairs: Iterable[Pair]) -> Counter[Word]:
    """Of the tests that moved with their plan or environment."""
    return Counter(
        direction_of(series.history.last_change)
        for standing, series in pairs
        if standing is HistoryStatus.MOVED
    )


def _size_of_move(series: HistorySeries) -> float:
    change = series.history.last_change
    return abs(change.ratio - 1) if change else abs(against_level(series) or 0.0)


def against_level(series: HistorySeries) -> float | None:
    """The newest value over what was expected, minus 1."""
    expected, newest = series.history.course.expected, series.history.newest
    if expected is None or not newest.is_counted:
        return None
    return newest.value_us / expected.level - 1


def row_of(standing: HistoryStatus, series: HistorySeries) -> dict[str, Any]:
    history, change = series.history, series.history.last_change
    newest, expected = history.newest, history.course.expected
    has_moved, ends = standing in MOVED, newest.interval_us
    reference = history.moved_beside(change) if has_moved else None
    return {
        "named": series,
        "standing": standing,
        "glyph": _GLYPHS[standing],
        "since": day(history.points[change.index].at) if has_moved else "",
        "change": change_size(change.ratio) if has_moved else "",
        "moved": cause_words(history.causes(change)) if standing is HistoryStatus.MOVED else "",
        "environment": change_size(reference.ratio) if reference else "",
        "newest": newest_ms(history, series.metric),
        "interval": span_ms(*ends, newest.value_us) if ends else DASH,
        "expected": expected_words(expected) if expected else DASH,
        "against_level": percent(against_level(series), decimals=1, signed=True),
        **against_cell(newest.against),
        "baseline": newest.against.baseline if newest.against else "",
        "is_outside": bool(expected and newest.is_counted and history.is_outlier),
        "why": why_not_counted(newest),
        "at": newest.at,
        "spark": _spark_of(history),
    }


def row_of_fold(tests: Sequence[HistorySeries]) -> dict[str, Any]:
    """The line of unchanged tests together."""
    newest = [each for series in tests if (each := against_level(series)) is not None]
    baselines = {each.baseline for series in tests if (each := series.history.newest.against)}
    return {
        "glyph": _GLYPHS[HistoryStatus.UNCHANGED],
        "spread": range_words(min(newest), max(newest)) if newest else "",
        "baseline": baselines.pop() if len(baselines) == 1 else "",
        "at": max(series.history.newest.at for series in tests),
        "spark": sparks_of([series.history for series in tests]),
    }


_COMPARED = 10  # campaigns on each side of a change
PERCENTILES = ("p50", "p95", "p99")


def others_than(metric: str) -> list[str]:
    return [name for name in PERCENTILES if name != metric]


def rows_of_points(points: Sequence[CampaignPoint], metric: str) -> list[dict[str, Any]]:
    """The table's rows: times in ms, each column with the same decimals."""
    others = [
        _column([point.ends_us.get(name, _NONE) for point in points])
        for name in others_than(metric)
    ]
    values = _column([point.ends_us.get(metric, (None, point.value_us)) for point in points])
    places = decimals_for([in_ms(point.value_us) for point in points])
    return [
        {
            "point": point,
            "interval": _interval(point, places),
            "errors": percent(point.error_share),
            "requests": count(point.n),
            "why": why_not_counted(point),
            "trust": point.trust.replace("_", " "),
            **against_cell(point.against),
            "others": [texts[index] for texts in others],
            "ends": [texts[index] for texts in (values, *others)],
            "value": values[index],
        }
        for index, point in enumerate(points)
    ]


def rows_of_runs(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The rows of single runs, times in ms. What has no answer has its figures on its own page."""
    runs_with_answer = [None if run.trust == Trust.NO_ANSWER else run for run in runs]
    columns = [
        _column(
            [
                (run.lows_us.get(name), getattr(run, f"{name}_us")) if run else _NONE
                for run in runs_with_answer
            ]
        )
        for name in MEASURED
    ]
    return [
        {
            "run": run,
            "times": times,
            "trust": (run.trust or "").replace("_", " "),
            "errors": percent(_error_share(run)),
            "why": "Its measurement has no answer." if run.trust == Trust.NO_ANSWER else "",
        }
        for run, times in zip(runs, zip(*columns, strict=True), strict=True)
    ]


def _error_share(run: Run) -> float | None:
    total = (run.n or 0) + (run.errors or 0)
    return run.errors / total if total else None


def against_cell(against: Against | None) -> dict[str, str | bool]:
    """The cell of what a campaign is against its baseline, in %, and its explanation."""
    if against is None:
        return {"against": "", "against_title": "", "is_clear": False}
    size, words = against_size(against), f"“{against.baseline}”: {against_words(against)}"
    return {
        "against": change_size(against.ratio) if size else "",
        "against_title": f"{words}. {against.why}".strip(),
        "is_clear": against.is_clear,
    }


_NONE = (None, None)


def _column(ends_us: Iterable[tuple[float | None, float | None]]) -> list[str]:
    """Of lower ends and what was measured, in ms."""
    cells = column_cells([Figure(in_ms(high), low=in_ms(low)) for low, high in ends_us])
    return [cell.text for cell in cells]


def _interval(point: CampaignPoint, places: int) -> str:
    ends = point.interval_us
    return "" if ends is None else f"[{', '.join(number(each / 1000, places) for each in ends)}]"


def with_marks(
    rows: Sequence[dict[str, Any]], marks: Sequence[TimeMark], before: datetime | None
) -> list[dict[str, Any]]:
    """The rows, newest first, with a row {"mark"} for each mark of their time. `before`: when the
    campaign that follows them started, on the page of newer ones."""
    if not rows:
        return []
    first = rows[-1]["point"].at
    due = [mark for mark in marks if mark.at >= first and (not before or mark.at < before)]
    following = dict(pairwise(marks))
    both = [(row["point"].at, row) for row in rows]
    both += [
        (mark.at, {"mark": mark, "next": following[mark].reference if mark in following else ""})
        for mark in due
    ]
    return [row for _, row in sorted(both, key=lambda pair: pair[0], reverse=True)]


def rows_of_changes(series: HistorySeries) -> list[dict[str, Any]]:
    """Newest first; `compare` is the query that compares the runs on both sides."""
    history = series.history
    return [
        {
            "sentence": change_words(history, change),
            "evidence": evidence(change),
            "marks": _marks_in(series, change),
            "campaign": history.points[change.index].campaign,
            "compare": _both_sides(history, change),
        }
        for change in reversed(history.course.changes)
    ]


def _both_sides(history: TestHistory, change: Change) -> str:
    """Up to ten campaigns of the level before and of the one since, by their days; "" where both
    have a day in common."""
    edges = [0, *(each.index for each in history.course.changes), len(history.points)]
    place = edges.index(change.index, 1)
    last = history.before(change)
    before = history.points[max(edges[place - 1], last + 1 - _COMPARED) : last + 1]
    since = history.points[change.index : min(edges[place + 1], change.index + _COMPARED)]
    if utc_day(before[-1].at) >= utc_day(since[0].at):
        return ""
    test = history.points[-1].test
    days = (
        f"test-{test}:{utc_day(side[0].at)}..{utc_day(side[-1].at)}" for side in (before, since)
    )
    return urlencode(dict(zip("ab", days, strict=True)), safe=":")


def moved_words(history: TestHistory) -> str:
    """Of a reference: whether it moved, and since when."""
    if history.n_counted < MIN_CAMPAIGNS:
        return f"fewer than {MIN_CAMPAIGNS} campaigns"
    moves = [
        f"{change_size(change.ratio)} since {day(history.points[change.index].at)}"
        for change in history.course.changes
    ]
    return f"moved {', '.join(moves)}" if moves else "no change found"


def _marks_in(series: HistorySeries, change: Change) -> list[TimeMark]:
    """The marks between the campaigns between which the change began."""
    history = series.history
    first, last = history.points[history.before(change)].at, history.points[change.latest].at
    return [mark for mark in series.marks if first <= mark.at <= last]
