"""The overview of histories. Its lines: tests in groups, the unchanged ones of a group folded; what
is chosen is in the address: `group` says by what, `open` which folds show their tests. Its chart:
all tests on one line, the newest value over the baseline; dots that would cover each other are
stacked."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from math import inf, log
from typing import Any

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
from campaigns.domain.presentation.history_words import METRICS, HistoryStatus
from campaigns.domain.units import change_size, counted, percent
from campaigns.history.models import HistoryKey
from campaigns.history.queries.history import HistorySeries
from campaigns.history.views.history_rows import MOVED, NOTES, Pair, row_of, row_of_fold

_ALL_IN_SIGHT = 20  # tests: an overview of no more folds nothing
_REFERENCES = "references"
_OF_REFERENCES = "not counted: they tell whether the environment moved"


class Grouping(StrEnum):
    """What the tests of a group have in common."""

    STATE = "state"
    TARGET = "target"
    PLAN = "plan"
    ARM = "arm"

    @classmethod
    def asked(cls, query: QueryDict) -> "Grouping":
        name = query.get("group", "")
        return cls(name) if name in list(cls) else cls.STATE


@dataclass(frozen=True, slots=True)
class Fold:
    """Unchanged tests of a group as one line; their rows follow it if it `is_open`. `name` is what
    opens it in the address."""

    name: str
    tests: Sequence[Pair]
    is_open: bool

    @property
    def key(self) -> str:
        return f"fold-{self.name}"

    @property
    def target(self) -> str:
        """Their target's name, or how many they have."""
        names = {named.endpoint.target_id: named.endpoint.target.name for _, named in self.tests}
        return next(iter(names.values())) if len(names) == 1 else counted(len(names), "targets")


Line = Pair | Fold


def lines_of(
    pairs: Sequence[Pair], by: Grouping, opened: Collection[str], has_open: Collection[HistoryKey]
) -> list[Line]:
    """Group by group, that with the worst test first and the references last. What somebody still
    has to look at is never folded: tests in `has_open`, and a clear difference to the baseline."""
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(_key_of(pair, by), []).append(pair)
    if len(pairs) <= _ALL_IN_SIGHT:
        return [pair for some in groups.values() for pair in some]
    return [line for some in groups.values() for line in _folded(some, by, opened, has_open)]


def _folded(
    pairs: Sequence[Pair], by: Grouping, opened: Collection[str], has_open: Collection[HistoryKey]
) -> list[Line]:
    """A test that would be folded alone stays as it is."""
    lines: list[Line] = []
    folds: dict[str, list[Pair]] = {}
    for pair in pairs:
        is_quiet = _is_settled(pair) and pair[1].key not in has_open
        some = folds.setdefault(_fold_of(pair[1], by), []) if is_quiet else lines
        some.append(pair)
    named = [(Fold(name, some, name in opened), some) for name, some in folds.items()]
    for fold, some in sorted(named, key=lambda each: (each[0].target, each[0].name)):
        if len(some) > 1:
            lines.append(fold)
        lines += some if fold.is_open or len(some) == 1 else []
    return lines


def _is_settled(pair: Pair) -> bool:
    against = pair[1].history.newest.against
    return pair[0] is HistoryStatus.UNCHANGED and not (against and against.is_clear)


def _fold_of(named: HistorySeries, by: Grouping) -> str:
    if named.is_of_reference:
        return f"reference-{named.endpoint.target_id}"
    if by is Grouping.STATE:
        by = Grouping.TARGET
    return _common(named, by)[0]


def _common(named: HistorySeries, by: Grouping) -> tuple[str, str]:
    """The name in the address and the title of what the tests of its group have in common."""
    if by is Grouping.TARGET:
        return str(named.endpoint.target_id), named.endpoint.target.name
    if by is Grouping.PLAN:
        return str(named.plan.pk), named.plan.name
    arm = (named.endpoint.scheme, named.key.connection_mode, named.key.injectors)
    return "-".join(map(str, arm)), named.arm_label


def _key_of(line: Line, by: Grouping) -> str:
    standing, named = line.tests[0] if isinstance(line, Fold) else line
    if named.is_of_reference:
        return _REFERENCES
    return str(standing) if by is Grouping.STATE else _common(named, by)[0]


def key_of_line(line: Line) -> str:
    return line.key if isinstance(line, Fold) else f"test-{line[1].newest_test}"


def groups_of(
    lines: Sequence[Line], by: Grouping, pairs: Iterable[Pair], asked: QueryDict
) -> Iterator[dict[str, Any]]:
    """The lines of a page under their headings, which count all `pairs`; `asked` is the address."""
    counts: dict[str, Counter[HistoryStatus]] = {}
    for pair in pairs:
        counts.setdefault(_key_of(pair, by), Counter())[pair[0]] += 1
    for key, some in groupby(lines, lambda line: _key_of(line, by)):
        group = list(some)
        yield {
            **_heading(group[0], by, key, counts[key]),
            "n": counts[key].total(),
            "rows": [_row_of(line, asked) for line in group],
        }


def _heading(line: Line, by: Grouping, key: str, counts: Counter[HistoryStatus]) -> dict[str, str]:
    standing, named = line.tests[0] if isinstance(line, Fold) else line
    if key == _REFERENCES:
        return {"title": "References", "note": _OF_REFERENCES}
    if by is Grouping.STATE:
        return {"title": standing.capitalize(), "note": NOTES.get(standing, "")}
    said = [f"{counts[each]} {each}" for each in HistoryStatus if counts[each]]
    return {"title": _common(named, by)[1], "note": ", ".join(said)}


def _row_of(line: Line, asked: QueryDict) -> dict[str, Any]:
    if not isinstance(line, Fold):
        return row_of(*line)
    tests = [named for _, named in line.tests]
    return {"fold": line, "query": toggled(asked, line.name), **row_of_fold(tests)}


def toggled(asked: QueryDict, name: str) -> str:
    """The address's query with this fold open, or closed again."""
    query = asked.copy()
    query.pop("page", None)
    opened = query.getlist("open")
    query.setlist("open", [o for o in opened if o != name] if name in opened else [*opened, name])
    return query.urlencode()


def groupings(asked: QueryDict) -> list[tuple[str, str, bool]]:
    """(word, query, whether it is chosen) of each way to group; the other filters stay."""
    choices = []
    for each in Grouping:
        query = asked.copy()
        for name in ("page", "open", "group"):
            query.pop(name, None)
        if each is not Grouping.STATE:
            query["group"] = str(each)
        choices.append((str(each), query.urlencode(), each is Grouping.asked(asked)))
    return choices


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
    levels = []
    for x in places:
        level = next((each for each in order if x - last[each] >= near), order[-1])
        last[level] = x
        levels.append(level)
    return levels


def _queries(lines: Sequence[Line], asked: QueryDict) -> dict[int, str]:
    """The address of each test's row: where its page is, and its fold open."""
    base = asked.copy()
    base.pop("page", None)
    asked_for, queries = base.urlencode(), {}
    for line in lines:
        if not isinstance(line, Fold):
            queries[line[1].newest_test] = asked_for
            continue
        query = asked_for if line.is_open else toggled(asked, line.name)
        queries |= {named.newest_test: query for _, named in line.tests}
    return {test: f"{query}&page=with.test-{test}".lstrip("&") for test, query in queries.items()}


def _label(place: _Place) -> str:
    named = place.named
    return f"{named.plan.name} {named.arm_label}, {change_size(place.ratio)}"
