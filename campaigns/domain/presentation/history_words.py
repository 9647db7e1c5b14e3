"""What a test's history says: since when it is slower or faster, and what its newest value is; how
a run's times moved; what a triage entry says of changes of level; and when something began.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from math import log
from typing import Protocol

from campaigns.domain.analysis.changes import MIN_CAMPAIGNS, Change, Expected
from campaigns.domain.analysis.histories import PLAN_VERSION, TestHistory
from campaigns.domain.analysis.messages import Sentence, joined, say, sentence
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.presentation.intervals import size_words
from campaigns.domain.units import (
    THIN,
    TO,
    change_size,
    counted,
    decimals_for,
    ends_ms,
    figure,
    ms,
    number,
    percent,
    rounded,
)

# The first is of medians without the injector's part, which a busy machine hardly moves.
METRICS = {"typical": "median", "p95": "p95", "p50": "p50", "p99": "p99", "mean": "average"}


class HistoryStatus(StrEnum):
    """How the newest campaign stands in its history, in the order of an overview."""

    SLOWER = "slower"
    FASTER = "faster"
    MOVED = "moved"
    OUTLIER = "outlier"
    UNCOUNTED = "not counted"
    NEW = "new"
    UNCHANGED = "unchanged"


def standing_of(history: TestHistory) -> HistoryStatus:
    if history.newest is None or not history.newest.is_counted:
        return HistoryStatus.UNCOUNTED
    if history.n_counted < MIN_CAMPAIGNS:
        return HistoryStatus.NEW
    if history.is_outlier:
        return HistoryStatus.OUTLIER
    if change := history.last_change:
        return HistoryStatus(str(word_of(history, change) or HistoryStatus.MOVED))
    return HistoryStatus.UNCHANGED


def word_of(history: TestHistory, change: Change) -> Word | None:
    """None where plan or environment was changed at the same time: the target need not have."""
    return None if history.causes(change) else direction_of(change)


def history_sentence(history: TestHistory, metric: str) -> Sentence:
    """About the newest campaign. `metric`: the key of what the values are."""
    newest = history.newest
    if newest is None:
        return sentence("history_empty")
    if not newest.is_counted:
        return sentence("history_uncounted", why=why_not_counted(newest))
    name, value = METRICS[metric], f"{newest_ms(history, metric)}{THIN}ms"
    if history.n_counted < MIN_CAMPAIGNS:
        return sentence("history_few", value=f"{name} {value}", n=history.n_counted)
    span = history.course.expected
    level = f": {name} {ms(span.level)}" if span else f"; {name} {value} in the newest"
    change = history.last_change
    if change is None:
        first = next(point for point in history.points if point.is_counted)
        campaigns = counted(history.n_counted, "campaigns")
        since = day(first.at)
        words = sentence("history_unchanged", n_campaigns=campaigns, since=since, level=level)
    else:
        words = [*change_sentence(history, change), (".", False)]
    return joined([words, _outlook(history, value)])


def newest_ms(history: TestHistory, metric: str) -> str:
    """The newest value with both its ends where they are apart, without the unit."""
    newest = history.newest
    return ends_ms(*newest.ends_us.get(metric, (None, newest.value_us)))


def why_not_counted(point) -> str:
    """Why a campaign's runs do not enter the level; "" if they do."""
    if point.is_counted:
        return ""
    if point.trust == "no_answer":
        return say("uncounted_no_answer")
    if point.target_state in {"overloaded", "failing"}:
        return say("uncounted_state", state=point.target_state)
    return say("uncounted_busy" if point.trust == "busy" else "uncounted_few")


def change_sentence(history: TestHistory, change: Change) -> Sentence:
    """Slower by 12 % [9, 15] since 14 Nov 2026: 29.1 instead of 26.0 ms. Without the full stop."""
    word, causes = direction_of(change), history.causes(change)
    beside = history.moved_beside(change)
    return sentence(
        "history_moved" if causes else "history_changed",
        direction=word if causes else word.capitalize(),
        size=size(change),
        since=day(history.points[change.index].at),
        cause=cause_words(causes) if causes else "",
        levels=f"{figure(change.after / 1000)} instead of {ms(change.before)}",
        environment=environment_words(beside.ratio if beside else None),
    )


def environment_words(ratio: float | None) -> str:
    """What follows a word where the reference changed by this ratio in the same range."""
    return say("environment", size=change_size(ratio)) if ratio else ""


def change_words(history: TestHistory, change: Change) -> Sentence:
    """The sentence of a change with the campaigns between which it began."""
    before, after = history.points[history.before(change)], history.points[change.latest]
    campaigns = (f"#{each.campaign} ({day(each.at)})" for each in (before, after))
    return [
        *change_sentence(history, change),
        ("; ", False),
        *sentence("began", campaigns=" and ".join(campaigns)),
    ]


def direction_of(change: Change) -> Word:
    return Word.SLOWER if change.ratio > 1 else Word.FASTER


def range_words(low: float, high: float) -> str:
    """+6.9 to +9.2 %, of shares."""
    if percent(low, decimals=1, signed=True) == percent(high, decimals=1, signed=True):
        return percent(low, decimals=1, signed=True)
    return f"{number(100 * low, 1, signed=True)} to {percent(high, decimals=1, signed=True)}"


def cause_words(causes: Sequence[Sequence[str]]) -> str:
    """Version 4 of the plan, or Server changed from nginx 1.24 to nginx 1.25, and 2 more."""
    (name, before, after), *more = causes
    cause = f"{name} changed from {before} to {after}"
    if name == PLAN_VERSION:
        cause = f"version {after.removeprefix('v')} of the plan"
    return f"{cause} and {counted(len(more), 'more changes')}" if more else cause


def words_of_causes(causes: Sequence[Sequence[str]]) -> str:
    """All of them, for a cell of a table."""
    return "; ".join(f"{name}: {before} to {after}" for name, before, after in causes)


def size(change: Change) -> str:
    """12 % [9, 15], without a sign: the word tells the direction."""
    return size_words(change.ratio, change.low, change.high, signed=False)


def evidence(change: Change) -> str:
    return "p < 0.0001" if change.p_value < 1e-4 else f"p = {figure(change.p_value, 2)}"


def _outlook(history: TestHistory, newest: str) -> Sentence:
    outlook = history.course.expected
    if outlook is None:
        return []
    span = f"{expected_words(outlook)}{THIN}ms"
    if history.is_outlier:
        return sentence("history_outlier", value=newest, span=span)
    # With the range's decimals, as readers see both.
    decimals = decimals_for([outlook.level / 1000])
    low, value, high = (
        rounded(each / 1000, decimals)
        for each in (outlook.low, history.newest.value_us, outlook.high)
    )
    is_inside = low <= value <= high
    return sentence("history_expected" if is_inside else "history_outside", value=newest, span=span)


def expected_words(expected: Expected) -> str:
    """27.9 to 29.1, in ms."""
    return span_ms(expected.low, expected.high, expected.level)


def span_ms(low_us: float, high_us: float, middle_us: float) -> str:
    """Both ends with the decimals of the middle, without the unit."""
    decimals = decimals_for([middle_us / 1000])
    return TO.join(number(each / 1000, decimals) for each in (low_us, high_us))


def overview_sentence(
    counts: Mapping[HistoryStatus, int],
    *,
    moved: Mapping[Word, int] | None = None,
    has_references: bool = False,
) -> Sentence:
    """How many tests changed, out of how many; references are not among them. `moved`: in which
    direction those did whose plan or environment was changed at the same time."""
    total = sum(counts.values())
    tests = counted(total, "tests")
    if not total:
        return sentence("overview_reference" if has_references else "overview_empty")
    directions = ", ".join(f"{n} {word}" for word, n in sorted((moved or {}).items()))
    more = {HistoryStatus.MOVED: f" with plan or environment ({directions})"} if directions else {}
    changes = [
        f"{counted(n, 'outliers') if standing is HistoryStatus.OUTLIER else f'{n} {standing}'}"
        f"{more.get(standing, '')}"
        for standing in (
            HistoryStatus.SLOWER,
            HistoryStatus.FASTER,
            HistoryStatus.MOVED,
            HistoryStatus.OUTLIER,
        )
        if (n := counts.get(standing))
    ]
    if changes:
        others = ", ".join(_counted_among(counts, HistoryStatus.UNCHANGED, *_UNJUDGED))
        others = f"; {others}" if others else ""
        return sentence("overview_changed", changed=", ".join(changes), tests=tests, others=others)
    if n := counts.get(HistoryStatus.UNCHANGED, 0):
        alike = f"any of {counted(n, 'tests')}" if n > 1 else "1 test"
        others = "".join(f"; {each}" for each in _counted_among(counts, *_UNJUDGED))
        return sentence("overview_unchanged", tests=alike, others=others)
    if counts.get(HistoryStatus.UNCOUNTED, 0) == total:
        return sentence("overview_uncounted")
    return sentence("overview_few", tests=tests)


# The tests that neither changed nor stayed as they were.
_UNJUDGED = (HistoryStatus.NEW, HistoryStatus.UNCOUNTED)


def _counted_among(counts: Mapping[HistoryStatus, int], *standings: HistoryStatus) -> list[str]:
    return [f"{counts[standing]} {standing}" for standing in standings if counts.get(standing)]


def day(at: datetime) -> str:
    return f"{at.day} {at:%b %Y}"


def direction(ratios: Sequence[float], *, is_explained: bool) -> str:
    """Slower or faster; moved, if in both directions or with plan or environment."""
    words = {"slower" if ratio > 1 else "faster" for ratio in ratios}
    if len(words) > 1:
        return "Moved"
    return f"Moved, {words.pop()}" if is_explained else words.pop().capitalize()


class NotedChange(Protocol):
    """A change of an entry; `reference_ratio` is that of the reference's change in its range."""

    ratio: float
    since_at: datetime
    causes: Sequence
    reference_ratio: float | None


def entry_sentence(changes: Sequence[NotedChange], target: str) -> Sentence:
    """Slower since 13 Dec 2026: +6.9 to +9.2 % on checkout-api, 4 tests."""
    ratios = [each.ratio for each in changes]
    causes = next((each.causes for each in changes if each.causes), ())
    return sentence(
        "entry",
        word=direction(ratios, is_explained=bool(causes)),
        since=day(min(each.since_at for each in changes)),
        range=range_words(min(ratios) - 1, max(ratios) - 1),
        target=target,
        tests=counted(len(ratios), "tests"),
        beside=f"; at the same time: {cause_words(causes)}" if causes else "",
        environment=environment_words(moved_beside(changes)),
    )


def moved_beside(changes: Sequence[NotedChange]) -> float | None:
    """The ratio of the reference's largest change in the range of any of them."""
    ratios = [each.reference_ratio for each in changes if each.reference_ratio]
    return max(ratios, key=lambda ratio: abs(log(ratio)), default=None)


def levels(before_us: float, after_us: float) -> str:
    """26.1 → 28.5, in ms."""
    return f"{figure(before_us / 1000)} → {figure(after_us / 1000)}"
