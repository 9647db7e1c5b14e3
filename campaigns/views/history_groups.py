"""The lines of the overview of histories: tests in groups, the unchanged ones of a group folded.
What is chosen is in the address: `group` says by what, `open` which folds show their tests."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Any

from django.http import QueryDict

from campaigns.domain.presentation.history_words import HistoryStatus
from campaigns.domain.units import counted
from campaigns.queries.history import HistoryKey, HistorySeries
from campaigns.views.history_rows import NOTES, Pair, row_of, row_of_fold

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
    found = []
    for each in Grouping:
        query = asked.copy()
        for name in ("page", "open", "group"):
            query.pop(name, None)
        if each is not Grouping.STATE:
            query["group"] = str(each)
        found.append((str(each), query.urlencode(), each is Grouping.asked(asked)))
    return found
