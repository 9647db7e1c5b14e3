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
        names = {series.endpoint.target_id: series.endpoint.target.name for _, series in self.tests}
        return next(iter(names.values())) if len(names) == 1 else counted(len(names), "targets")


Line = Pair | Fold


def lines_of(
    pairs: Sequence[Pair],
    by: Grouping,
    open_names: Collection[str],
    has_open: Collection[HistoryKey],
) -> list[Line]:
    """Group by group, that with the worst test first and the references last. What somebody still
    has to look at is never folded: tests in `has_open`, and a clear difference to the baseline."""
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(_key_of(pair, by), []).append(pair)
    if len(pairs) <= _ALL_IN_SIGHT:
        return [pair for some in groups.values() for pair in some]
    return [
        line for some in groups.values() for line in _lines_of_group(some, by, open_names, has_open)
    ]


def _lines_of_group(
    pairs: Sequence[Pair],
    by: Grouping,
    open_names: Collection[str],
    has_open: Collection[HistoryKey],
) -> list[Line]:
    """A test that would be folded alone stays as it is."""
    lines: list[Line] = []
    folds: dict[str, list[Pair]] = {}
    for pair in pairs:
        standing, series = pair
        against = series.history.newest.against
        is_settled = standing is HistoryStatus.UNCHANGED and not (against and against.is_clear)
        is_quiet = is_settled and series.key not in has_open
        group_by = Grouping.TARGET if by is Grouping.STATE else by
        name = _common(series, group_by)[0]
        if series.is_of_reference:
            name = f"reference-{series.endpoint.target_id}"
        some = folds.setdefault(name, []) if is_quiet else lines
        some.append(pair)
    folds_with_rows = [(Fold(name, some, name in open_names), some) for name, some in folds.items()]
    for fold, some in sorted(folds_with_rows, key=lambda each: (each[0].target, each[0].name)):
        if len(some) > 1:
            lines.append(fold)
        lines += some if fold.is_open or len(some) == 1 else []
    return lines


def _common(series: HistorySeries, by: Grouping) -> tuple[str, str]:
    """The name in the address and the title of what the tests of its group have in common."""
    if by is Grouping.TARGET:
        return str(series.endpoint.target_id), series.endpoint.target.name
    if by is Grouping.PLAN:
        return str(series.plan.pk), series.plan.name
    arm = (series.endpoint.scheme, series.key.connection_mode, series.key.injectors)
    return "-".join(map(str, arm)), series.arm_label


def _key_of(line: Line, by: Grouping) -> str:
    standing, series = line.tests[0] if isinstance(line, Fold) else line
    if series.is_of_reference:
        return _REFERENCES
    return str(standing) if by is Grouping.STATE else _common(series, by)[0]


def key_of_line(line: Line) -> str:
    return line.key if isinstance(line, Fold) else f"test-{line[1].newest_test}"


def groups_of(
    lines: Sequence[Line], by: Grouping, pairs: Iterable[Pair], params: QueryDict
) -> Iterator[dict[str, Any]]:
    """The lines of a page under their headings, which count all `pairs`; `params`: the address."""
    counts: dict[str, Counter[HistoryStatus]] = {}
    for pair in pairs:
        counts.setdefault(_key_of(pair, by), Counter())[pair[0]] += 1
    for key, some in groupby(lines, lambda line: _key_of(line, by)):
        group = list(some)
        standing, series = group[0].tests[0] if isinstance(group[0], Fold) else group[0]
        if key == _REFERENCES:
            title, note = "References", _OF_REFERENCES
        elif by is Grouping.STATE:
            title, note = standing.capitalize(), NOTES.get(standing, "")
        else:
            title = _common(series, by)[1]
            of_key = counts[key]
            note = ", ".join(f"{of_key[each]} {each}" for each in HistoryStatus if of_key[each])
        yield {
            "title": title,
            "note": note,
            "n": counts[key].total(),
            "rows": [_row_of(line, params) for line in group],
        }


def _row_of(line: Line, params: QueryDict) -> dict[str, Any]:
    if not isinstance(line, Fold):
        return row_of(*line)
    tests = [series for _, series in line.tests]
    return {"fold": line, "query": toggled(params, line.name), **row_of_fold(tests)}


def toggled(params: QueryDict, name: str) -> str:
    """The address's query with this fold open, or closed again."""
    query = params.copy()
    query.pop("page", None)
    names = query.getlist("open")
    query.setlist("open", [o for o in names if o != name] if name in names else [*names, name])
    return query.urlencode()


def groupings(params: QueryDict) -> list[tuple[str, str, bool]]:
    """(word, query, whether it is chosen) of each way to group; the other filters stay."""
    choices = []
    for each in Grouping:
        query = params.copy()
        for name in ("page", "open", "group"):
            query.pop(name, None)
        if each is not Grouping.STATE:
            query["group"] = str(each)
        choices.append((str(each), query.urlencode(), each is Grouping.asked(params)))
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
    series: HistorySeries


_DOTS = {
    "moved": (LineStyle("bad", is_mark=True, mark=OUTLIER.mark), "changed"),
    "outlier": (LineStyle("bad", is_hollow=True, is_mark=True, mark=OUTLIER.mark), "outlier"),
    "usual": (LineStyle("ink-3", is_mark=True, mark=OUTLIER.mark), "unchanged"),
}

_KINDS = dict.fromkeys(MOVED, "moved") | {HistoryStatus.OUTLIER: "outlier"}


def dots_of(
    pairs: Sequence[Pair], lines: Sequence[Line], metric: str, params: QueryDict
) -> Charts | None:
    """All tests on one line. None if no test has anything to be held against. `params`: the page's
    address."""
    ratios = [(*pair, ratio) for pair in pairs if (ratio := _ratio_of(*pair, metric))]
    if not ratios:
        return None
    places = [
        _Place(log(ratio), _KINDS.get(standing, "usual"), ratio, test)
        for standing, test, (ratio, _) in ratios
    ]
    places.sort(key=lambda place: (place.log_ratio, place.series.newest_test))
    widest = 1.03 * max(1.15, *(max(place.ratio, 1 / place.ratio) for place in places))
    levels = _levels_of([place.log_ratio for place in places], 2 * log(widest) / _PLACES)
    queries, series = _queries(lines, params), []
    for kind, (style, _) in _DOTS.items():
        rows = [
            (
                each.ratio,
                levels[n],
                f"{_label(each)} on {each.series.endpoint.target.name}",
                _label(each) * (kind == "moved"),
                f"?{queries[each.series.newest_test]}#test-{each.series.newest_test}",
            )
            for n, each in enumerate(places)
            if each.kind == kind
        ]
        if rows:
            points = columns("x y texts labels links", rows)
            series.append(Series(look="dots", style=style, radius=3.5, **points))
    half = max(map(abs, levels)) + 2
    n_baselines, n_known = sum(is_baseline for *_, (_, is_baseline) in ratios), len(ratios)
    level = "its level, of changed tests the one before"
    against = f"the baseline ({counted(n_baselines, 'tests')}), or {level}"
    if not n_baselines:
        against = level
    elif n_baselines == n_known:
        against = "the baseline"
    of = f" of {len(pairs)}" if n_known < len(pairs) else ""
    unit = f"newest {METRICS[metric]} over {against}, log scale; {counted(n_known, 'tests')}{of}"
    return Charts(
        "dots",
        "All tests, one dot each",
        keys_words="Enter goes to the row",
        panels=[
            Chart(
                "dots",
                "All tests at a glance",
                unit,
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


def _ratio_of(
    standing: HistoryStatus, series: HistorySeries, metric: str
) -> tuple[float, bool] | None:
    """The newest value over the baseline, and True; without one, and False, over the level before
    the change of a test that moved, or over the present level."""
    history, newest = series.history, series.history.newest
    if not newest.is_counted:
        return None
    if (against := newest.against) and against.ratio and against.metric == metric:
        return against.ratio, True
    change, expected = history.last_change, history.course.expected
    if change and standing in MOVED:
        level = change.before
    elif expected:
        level = expected.level
    else:
        level = change.after if change else None
    return (newest.value_us / level, False) if level else None


def _levels_of(places: Sequence[float], near: float) -> list[int]:
    """For each place, in order, the level at which a dot covers no other: 0, 1, -1, 2 …"""
    order = sorted(range(-_MOST_STACKED, _MOST_STACKED + 1), key=lambda level: (abs(level), -level))
    last = dict.fromkeys(order, -inf)
    levels = []
    for x in places:
        level = next((each for each in order if x - last[each] >= near), order[-1])
        last[level] = x
        levels.append(level)
    return levels


def _queries(lines: Sequence[Line], params: QueryDict) -> dict[int, str]:
    """The address of each test's row: where its page is, and its fold open."""
    base = params.copy()
    base.pop("page", None)
    page, queries = base.urlencode(), {}
    for line in lines:
        if not isinstance(line, Fold):
            queries[line[1].newest_test] = page
            continue
        query = page if line.is_open else toggled(params, line.name)
        queries |= {series.newest_test: query for _, series in line.tests}
    return {test: f"{query}&page=with.test-{test}".lstrip("&") for test, query in queries.items()}


def _label(place: _Place) -> str:
    series = place.series
    return f"{series.plan.name} {series.arm_label}, {change_size(place.ratio)}"
