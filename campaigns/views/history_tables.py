"""The tables of a test's history: its campaigns with the marks between them, and its changes."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from campaigns.domain.judged.changes import MIN_CAMPAIGNS, Change
from campaigns.domain.judged.histories import CampaignPoint, TestHistory
from campaigns.domain.judged.words import Against
from campaigns.domain.lifecycle import Trust
from campaigns.domain.shown.baseline_words import against_size, against_words
from campaigns.domain.shown.history_words import change_words, day, evidence, why_not_counted
from campaigns.domain.units import count, decimals_for, in_ms, number, percent
from campaigns.models import Run, TimeMark
from campaigns.queries.history import HistorySeries

_COMPARED = 10  # campaigns on each side of a change
PERCENTILES = ("p50", "p95", "p99")


def others_than(metric: str) -> list[str]:
    """The percentiles beside the metric."""
    return [name for name in PERCENTILES if name != metric]


def rows_of_points(points: Sequence[CampaignPoint], metric: str = "") -> list[dict[str, Any]]:
    """The table's rows: times in ms, each column with the same decimals."""
    keys = ("p50_us", "p95_us", "p99_us", "value_us")
    texts = {key: _column([getattr(point, key) for point in points]) for key in keys}
    places = _decimals([point.value_us for point in points])
    return [
        {
            "point": point,
            "interval": _interval(point, places),
            "errors": percent(point.error_share),
            "requests": count(point.n),
            "why": why_not_counted(point),
            "trust": point.trust.replace("_", " "),
            **against_cell(point.against),
            "others": [texts[f"{name}_us"][index] for name in others_than(metric)],
            **{key.removesuffix("_us"): texts[key][index] for key in keys},
        }
        for index, point in enumerate(points)
    ]


def rows_of_runs(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The rows of single runs, times in ms. What is not usable has its figures on its own page."""
    names = ("mean", *PERCENTILES)
    known = [None if run.trust == Trust.NOT_USABLE else run for run in runs]
    columns = [_column([getattr(run, f"{name}_us", None) for run in known]) for name in names]
    return [
        {
            "run": run,
            "times": times,
            "trust": (run.trust or "").replace("_", " "),
            "errors": percent(_error_share(run)),
            "why": "Its measurement is not usable." if run.trust == Trust.NOT_USABLE else "",
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
        "against": percent(against.ratio - 1, decimals=1, signed=True) if size else "",
        "against_title": f"{words}. {against.why}".strip(),
        "is_clear": against.is_clear,
    }


def _column(values_us: Sequence[float | None]) -> list[str]:
    places = _decimals(values_us)
    return [number(in_ms(value), places) for value in values_us]


def _decimals(values_us: Sequence[float | None]) -> int:
    return decimals_for([in_ms(value) for value in values_us])


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
    shown = [mark for mark in marks if mark.at >= first and (not before or mark.at < before)]
    following = dict(pairwise(marks))
    both = [(row["point"].at, row) for row in rows]
    both += [
        (mark.at, {"mark": mark, "next": following[mark].reference if mark in following else ""})
        for mark in shown
    ]
    return [row for _, row in sorted(both, key=lambda pair: pair[0], reverse=True)]


def rows_of_changes(named: HistorySeries) -> list[dict[str, Any]]:
    """Newest first; `compare` is the query that compares the runs on both sides."""
    history = named.history
    return [
        {
            "sentence": change_words(history, change),
            "evidence": evidence(change),
            "marks": marks_in(named, change),
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
    if before[-1].at.date() >= since[0].at.date():
        return ""
    test = history.points[-1].test
    days = (f"test-{test}:{side[0].at.date()}..{side[-1].at.date()}" for side in (before, since))
    return urlencode(dict(zip("ab", days, strict=True)), safe=":")


def moved_words(history: TestHistory) -> str:
    """Of a reference: whether it moved, and since when."""
    if history.n_counted < MIN_CAMPAIGNS:
        return f"fewer than {MIN_CAMPAIGNS} campaigns"
    moves = [
        f"{percent(change.ratio - 1, decimals=1, signed=True)} since "
        f"{day(history.points[change.index].at)}"
        for change in history.course.changes
    ]
    return f"moved {', '.join(moves)}" if moves else "no change found"


def marks_in(named: HistorySeries, change: Change) -> list[TimeMark]:
    """The marks between the campaigns between which the change began."""
    history = named.history
    first, last = history.points[history.before(change)].at, history.points[change.latest].at
    return [mark for mark in named.marks if first <= mark.at <= last]
