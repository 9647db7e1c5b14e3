"""All tests of a project on one line: the newest value over the baseline. Dots that would cover
each other are stacked."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log

from django.http import QueryDict

from campaigns.domain.analysis.histories import TestHistory
from campaigns.domain.presentation.charts import (
    OUTLIER,
    Axis,
    Band,
    Chart,
    Charts,
    LineStyle,
    Mark,
    Places,
    Series,
    columns,
)
from campaigns.domain.presentation.history_words import HistoryStatus
from campaigns.domain.units import change_size, counted, percent
from campaigns.queries.history import METRICS, HistorySeries
from campaigns.views.history_groups import Fold, Line, toggled
from campaigns.views.history_rows import MOVED, Pair

_BAND = 0.05
_RATIOS = (0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20)
_PLACES = 150  # dots that stand beside one another on a wide page
_MOST_STACKED = 8  # above and below the line; further ones cover each other


@dataclass(frozen=True, slots=True)
class _Place:
    log_ratio: float
    kind: str
    ratio: float
    named: HistorySeries


_DOTS = {
    "moved": (LineStyle("bad", is_mark=True, mark=OUTLIER.mark), "changed"),
    "outlier": (LineStyle("bad", is_hollow=True, is_mark=True, mark=OUTLIER.mark), "outlier"),
    "usual": (LineStyle("ink-3", is_mark=True, mark=OUTLIER.mark), "unchanged"),
}


def dots_of(
    pairs: Sequence[Pair], lines: Sequence[Line], metric: str, asked: QueryDict
) -> Charts | None:
    """All tests on one line. None if no test has anything to be held against. `asked` is the page's
    address."""
    known = [(*pair, found) for pair in pairs if (found := _ratio_of(*pair, metric))]
    if not known:
        return None
    places = [
        _Place(log(ratio), _kind(standing), ratio, named) for standing, named, (ratio, _) in known
    ]
    places.sort(key=lambda place: (place.log_ratio, place.named.newest_test))
    widest = 1.03 * max(1.15, *(max(place.ratio, 1 / place.ratio) for place in places))
    levels = _stacked([place.log_ratio for place in places], 2 * log(widest) / _PLACES)
    queries = _queries(lines, asked)
    series = []
    for kind, (style, _) in _DOTS.items():
        rows = [
            (
                each.ratio,
                levels[n],
                f"{_label(each)} on {each.named.endpoint.target.name}",
                _label(each) * (kind == "moved"),
                f"?{queries[each.named.newest_test]}#test-{each.named.newest_test}",
            )
            for n, each in enumerate(places)
            if each.kind == kind
        ]
        if rows:
            points = columns("x y texts labels links", rows)
            series.append(Series(look="dots", style=style, radius=3.5, **points))
    half = max(map(abs, levels)) + 2
    n_baselines = sum(is_baseline for *_, (_, is_baseline) in known)
    return Charts(
        "dots",
        "All tests, one dot each",
        keys_words="Enter goes to the row",
        panels=[
            Chart(
                "dots",
                "All tests at a glance",
                _dots_unit(METRICS[metric], len(known), len(pairs), n_baselines),
                "One dot for each test. The figures are in the table of tests.",
                size="low" if half < 5 else "high",
                x=Axis(
                    scale="log",
                    title="Change",
                    low=1 / widest,
                    high=widest,
                    ticks=[
                        (r, "as before" if r == 1 else percent(r - 1, decimals=0, signed=True))
                        for r in _RATIOS
                    ],
                ),
                y=Axis(low=-half, high=half, ticks=[(0.0, "")]),
                series=series,
                bands=[Band(low=1 / (1 + _BAND), high=1 + _BAND)],
                marks=[Mark(at=1, colour="line-control")],
                keys=[_DOTS[kind] for kind in dict.fromkeys(place.kind for place in places)],
            )
        ],
        places=Places(
            x=list(dict.fromkeys(place.ratio for place in places)),
            at=[""] * len({place.ratio for place in places}),
        ),
    )


def _dots_unit(metric: str, n_known: int, n_tests: int, n_baselines: int) -> str:
    level = "its level, of changed tests the one before"
    against = f"the baseline ({counted(n_baselines, 'tests')}), or {level}"
    if not n_baselines:
        against = level
    elif n_baselines == n_known:
        against = "the baseline"
    of = f" of {n_tests}" if n_known < n_tests else ""
    return f"newest {metric} over {against}, log scale; {counted(n_known, 'tests')}{of}"


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
    return "outlier" if standing is HistoryStatus.OUTLIER else "usual"


def _stacked(places: Sequence[float], near: float) -> list[int]:
    """For each place, in order, the level at which a dot covers no other: 0, 1, -1, 2 …"""
    order = sorted(range(-_MOST_STACKED, _MOST_STACKED + 1), key=lambda level: (abs(level), -level))
    last = dict.fromkeys(order, -inf)
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
