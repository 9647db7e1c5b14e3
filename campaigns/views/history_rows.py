"""The rows of the overview of histories: what moved first, then the rest."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.http import QueryDict

from campaigns.domain.judged.changes import MIN_CAMPAIGNS
from campaigns.domain.judged.histories import TestHistory
from campaigns.domain.judged.words import Word
from campaigns.domain.shown.history_words import (
    Standing,
    day,
    direction_of,
    expected_words,
    moved_since,
    or_environment,
    standing_of,
    why_not_counted,
)
from campaigns.domain.units import DASH, figure, percent
from campaigns.models import Target
from campaigns.queries.history import HistoryKey, NamedHistory
from campaigns.views.history_sparks import spark_of, sparks_of
from campaigns.views.history_tables import against_cell

_ORDER = {standing: place for place, standing in enumerate(Standing)}
MOVED = {Standing.SLOWER, Standing.FASTER, Standing.MOVED}
_GLYPHS = {
    Standing.SLOWER: "warn",
    Standing.FASTER: "good",
    Standing.MOVED: "info",
    Standing.ODD: "draft",
    Standing.UNCOUNTED: "not_usable",
    Standing.NEW: "queued",
    Standing.UNCHANGED: "dash",
}
_NOTES = {
    Standing.MOVED: "plan or environment was changed at the same time",
    Standing.ODD: "one campaign outside what was expected; two more will tell",
    Standing.UNCOUNTED: "the newest campaign has no figure that counts",
    Standing.NEW: f"fewer than {MIN_CAMPAIGNS} campaigns",
    None: "not counted: they tell whether the environment moved",
}
_ALL_IN_SIGHT = 20  # tests: an overview of no more folds nothing

Pair = tuple[Standing, NamedHistory]


@dataclass(frozen=True, slots=True)
class Fold:
    """The unchanged tests of a target as one line; their rows follow it if it `is_open`."""

    target: Target
    tests: Sequence[NamedHistory]
    is_open: bool

    @property
    def key(self) -> str:
        return f"target-{self.target.pk}"


def in_order(
    found: Iterable[NamedHistory], is_quiet: Callable[[HistoryKey, TestHistory], bool]
) -> list[Pair]:
    """By standing, the largest difference first, and the references at the end. With a quiet last
    change a test is unchanged."""
    pairs = []
    for named in found:
        standing = standing_of(named.history)
        if standing in MOVED and is_quiet(named.key, named.history):
            standing = Standing.UNCHANGED
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


def counts_of(pairs: Iterable[Pair]) -> Counter[Standing]:
    """Of the tests: what a reference does is counted nowhere."""
    return Counter(standing for standing, named in pairs if not named.is_of_reference)


def directions_of(pairs: Iterable[Pair]) -> Counter[Word]:
    """Of the tests that moved with their plan or environment."""
    return Counter(
        direction_of(named.history.last_change)
        for standing, named in pairs
        if standing is Standing.MOVED
    )


def _moved(named: NamedHistory) -> float:
    change = named.history.last_change
    return abs(change.ratio - 1) if change else abs(against_level(named) or 0.0)


def against_level(named: NamedHistory) -> float | None:
    """The newest value over what was expected, minus 1."""
    expected, newest = named.history.course.expected, named.history.newest
    if expected is None or not newest.is_counted:
        return None
    return newest.value_us / expected.level - 1


def row_of(standing: Standing, named: NamedHistory) -> dict[str, Any]:
    history, change = named.history, named.history.last_change
    newest, expected = history.newest, history.course.expected
    has_moved = standing in MOVED
    reference = history.moved_beside(change) if has_moved else None
    return {
        "named": named,
        "standing": standing,
        "glyph": _GLYPHS[standing],
        "since": day(history.points[change.index].at) if has_moved else "",
        "change": percent(change.ratio - 1, decimals=1, signed=True) if has_moved else "",
        "moved": moved_since(history, change) if standing is Standing.MOVED else "",
        "environment": or_environment(reference.ratio).lstrip(", ") if reference else "",
        "newest": figure(newest.value_us / 1000) if newest.is_counted else DASH,
        "expected": expected_words(expected) if expected else DASH,
        "against_level": percent(against_level(named), decimals=1, signed=True),
        **against_cell(newest.against),
        "baseline": newest.against.baseline if newest.against else "",
        "is_outside": bool(expected and newest.is_counted and history.is_odd),
        "why": why_not_counted(newest),
        "at": newest.at,
        "spark": spark_of(history),
    }


def lines_of(
    pairs: Sequence[Pair], opened: Collection[int], has_open: Collection[HistoryKey]
) -> list[Pair | Fold]:
    """The overview's lines: tests, then unchanged ones folded by target. What somebody still has to
    look at is never folded: tests in `has_open`, and a clear difference to the baseline."""
    if len(pairs) <= _ALL_IN_SIGHT:
        return list(pairs)
    tests = [pair for pair in pairs if not pair[1].is_of_reference]
    references = pairs[len(tests) :]
    return [*_folded(tests, opened, has_open), *_folded(references, opened, has_open)]


def _folded(
    pairs: Sequence[Pair], opened: Collection[int], has_open: Collection[HistoryKey]
) -> list[Pair | Fold]:
    lines: list[Pair | Fold] = []
    folds: dict[Target, list[Pair]] = defaultdict(list)
    for standing, named in pairs:
        against = named.history.newest.against
        is_settled = named.key not in has_open and not (against and against.is_clear)
        if standing is Standing.UNCHANGED and is_settled:
            folds[named.endpoint.target].append((standing, named))
        else:
            lines.append((standing, named))
    for target in sorted(folds, key=lambda each: (each.name, each.pk)):
        is_open = target.pk in opened
        lines.append(Fold(target, [named for _, named in folds[target]], is_open))
        lines += folds[target] if is_open else []
    return lines


def key_of_line(line: Pair | Fold) -> str:
    return line.key if isinstance(line, Fold) else f"test-{line[1].newest_test}"


def groups_of(
    lines: Sequence[Pair | Fold], counts: Counter[Standing], asked: QueryDict
) -> Iterator[dict[str, Any]]:
    """The lines of a page under their standings; `asked` is the address."""
    for standing, group in groupby(lines, _standing_of_line):
        yield {
            "title": standing.capitalize() if standing else "References",
            "n": counts[standing] if standing else "",
            "note": _NOTES.get(standing, ""),
            "rows": [
                _row_of_fold(line, asked) if isinstance(line, Fold) else row_of(*line)
                for line in group
            ],
        }


def _standing_of_line(line: Pair | Fold) -> Standing | None:
    """None for a reference."""
    standing, named = (Standing.UNCHANGED, line.tests[0]) if isinstance(line, Fold) else line
    return None if named.is_of_reference else standing


def _row_of_fold(fold: Fold, asked: QueryDict) -> dict[str, Any]:
    newest = [each for named in fold.tests if (each := against_level(named)) is not None]
    ends = (min(newest), max(newest)) if newest else ()
    spread = dict.fromkeys(percent(each, decimals=1, signed=True) for each in ends)
    baselines = {each.baseline for named in fold.tests if (each := named.history.newest.against)}
    return {
        "fold": fold,
        "query": toggled(asked, fold.target.pk),
        "glyph": _GLYPHS[Standing.UNCHANGED],
        "spread": " to ".join(spread),
        "baseline": baselines.pop() if len(baselines) == 1 else "",
        "at": max(named.history.newest.at for named in fold.tests),
        "spark": sparks_of([named.history for named in fold.tests]),
    }


def toggled(asked: QueryDict, target: int) -> str:
    """The address's query with the target's tests unfolded, or folded again."""
    query = asked.copy()
    query.pop("page", None)
    opened = query.getlist("open")
    name = str(target)
    query.setlist("open", [o for o in opened if o != name] if name in opened else [*opened, name])
    return query.urlencode()
