"""What a test's history says: since when it is slower or faster, and what its newest value is; how
a run's times moved; what a triage entry says of changes of level; and when something began.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from math import log
from typing import Protocol

from campaigns.domain.analysis.changes import MIN_CAMPAIGNS, Change, Expected
from campaigns.domain.analysis.histories import PLAN_VERSION, TestHistory, TriageState
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.analysis.steady import Steadiness
from campaigns.domain.presentation.intervals import size_words
from campaigns.domain.presentation.results import Sentence
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
    second_text,
)

# The first is of medians without the injector's part, which a busy machine hardly moves.
METRICS = {"typical": "median", "p95": "p95", "p50": "p50", "p99": "p99", "mean": "average"}


def trend_words(found: Steadiness | None, left: int, steady: int, *, is_over: bool) -> str:
    """ "" where the seconds do not say. `steady`: the second in which the last level begins;
    `left`: the one in which it was left, where it had been there before."""
    if found is None:
        return ""
    if not found.steady_from:
        # A short stretch in between, or several, may not have been told from noise.
        return f"No lasting change of response times {'was found' if is_over else 'so far'}."
    if found.left_at:
        more = "higher" if found.ratio > 1 else "lower"
        between = f"from {second_text(left)} to {second_text(steady)}"
        size = percent(abs(found.ratio - 1))
        return f"Response times changed and came back: {between} the p50 was {size} {more}."
    change = 1 / found.ratio - 1
    rose = change > 0
    verb = ("rose" if rose else "fell") if is_over else ("are rising" if rose else "are falling")
    more = "higher" if rose else "lower"
    since = second_text(steady)
    return f"Response times {verb}: from {since} on the p50 is {percent(abs(change))} {more}."


_NO_ANSWER = "its measurements aren't reliable"
_OVERLOADED = "the server was {}"
_SPOILT = "the injector host was busy; the median without the injector's part counts"
_FEW = "too few requests succeeded for this figure"


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
        return [("No campaign of this test has ended yet.", False)]
    if not newest.is_counted:
        why = f": {why_not_counted(newest)}."
        return [("The newest campaign does not count", True), (why, False)]
    name = METRICS[metric]
    value = f"{name} {newest_ms(history, metric)}{THIN}ms"
    if history.n_counted < MIN_CAMPAIGNS:
        n = history.n_counted
        have = "Only this campaign counts" if n == 1 else f"Only {n} campaigns count"
        few = f"{have} so far. Trends start after {MIN_CAMPAIGNS}."
        return [(value, True), (f" in the newest campaign. {few}", False)]
    expected = history.course.expected
    level = f": {name} {ms(expected.level)}" if expected else f"; {value} in the newest"
    return [*_level(history, level), *_outlook(history, f"{newest_ms(history, metric)}{THIN}ms")]


def newest_ms(history: TestHistory, metric: str) -> str:
    """The newest value with both its ends where they are apart, without the unit."""
    newest = history.newest
    return ends_ms(*newest.ends_us.get(metric, (None, newest.value_us)))


def why_not_counted(point) -> str:
    """Why a campaign's runs do not enter the level; "" if they do."""
    if point.is_counted:
        return ""
    if point.trust == "no_answer":
        return _NO_ANSWER
    if point.target_state in {"overloaded", "failing"}:
        return _OVERLOADED.format(point.target_state)
    if point.trust == "busy":
        return _SPOILT
    return _FEW


def _level(history: TestHistory, level: str) -> Sentence:
    change = history.last_change
    if change is None:
        first = next(point for point in history.points if point.is_counted)
        since = f" over {counted(history.n_counted, 'campaigns')} since {day(first.at)}{level}."
        return [("Unchanged", True), (since, False)]
    return [*change_sentence(history, change), (".", False)]


def change_sentence(history: TestHistory, change: Change) -> Sentence:
    """Slower by 12 % [9, 15] since 14 Nov 2026: 29.1 instead of 26.0 ms. Without the full stop."""
    since, word = day(history.points[change.index].at), direction_of(change)
    levels = f"{ms_of(change.after)} instead of {ms(change.before)}"
    if causes := history.causes(change):
        sentence = [
            (f"Moved: {word} by {size(change)} since {cause_words(causes)}", True),
            (f" ({since}): {levels}; the target may not be the cause", False),
        ]
    else:
        sentence = [
            (f"{word.capitalize()} by {size(change)} since {since}", True),
            (f": {levels}", False),
        ]
    if moved := history.moved_beside(change):
        sentence.append((or_environment(moved.ratio), False))
    return sentence


def or_environment(ratio: float) -> str:
    """What follows a word where the reference changed by this ratio in the same range."""
    return f", or the environment: the reference moved by {change_size(ratio)} as well"


def change_words(history: TestHistory, change: Change) -> Sentence:
    """The sentence of a change with the campaigns between which it began."""
    return [*change_sentence(history, change), (f"; it began {began(history, change)}.", False)]


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
    said = f"{name} changed from {before} to {after}"
    if name == PLAN_VERSION:
        said = f"version {after.removeprefix('v')} of the plan"
    return f"{said} and {counted(len(more), 'more changes')}" if more else said


def words_of_causes(causes: Sequence[Sequence[str]]) -> str:
    """All of them, for a cell of a table."""
    return "; ".join(f"{name}: {before} to {after}" for name, before, after in causes)


def size(change: Change) -> str:
    """12 % [9, 15], without a sign: the word tells the direction."""
    return size_words(change.ratio, change.low, change.high, signed=False)


def began(history: TestHistory, change: Change) -> str:
    """Between which campaigns the change began."""
    before, after = history.points[history.before(change)], history.points[change.latest]
    campaigns = (f"#{each.campaign} ({day(each.at)})" for each in (before, after))
    return f"between campaigns {' and '.join(campaigns)}"


def evidence(change: Change) -> str:
    return "p < 0.0001" if change.p_value < 1e-4 else f"p = {figure(change.p_value, 2)}"


def _outlook(history: TestHistory, newest: str) -> Sentence:
    expected = history.course.expected
    if expected is None:
        return []
    span = f"{expected_words(expected)}{THIN}ms"
    if history.is_outlier:
        return [
            (" The newest campaign is an outlier", True),
            (f": {newest}, expected {span}. Three in a row make a new level.", False),
        ]
    if not _reads_inside(expected, history.newest.value_us):
        off = "outside the expected range"
        close = "but close to the level"
        return [(f" The newest campaign, {newest}, is {off} ({span}), {close}.", False)]
    return [(f" The newest campaign, {newest}, is as expected ({span}).", False)]


def _reads_inside(expected: Expected, value_us: float) -> bool:
    """With the decimals of the range as it is told."""
    decimals = decimals_for([expected.level / 1000])
    low, value, high = (
        rounded(each / 1000, decimals) for each in (expected.low, value_us, expected.high)
    )
    return low <= value <= high


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
    if not total and has_references:
        return [("Only the reference was measured in this period.", False)]
    if not total:
        return [("No campaign ended in this period.", False)]
    directions = ", ".join(f"{n} {word}" for word, n in sorted((moved or {}).items()))
    more = {HistoryStatus.MOVED: f" with plan or environment ({directions})"} if directions else {}
    changed = [
        f"{_many(counts[standing], standing)}{more.get(standing, '')}"
        for standing in (
            HistoryStatus.SLOWER,
            HistoryStatus.FASTER,
            HistoryStatus.MOVED,
            HistoryStatus.OUTLIER,
        )
        if counts.get(standing)
    ]
    if changed:
        others = ", ".join(_counted_among(counts, HistoryStatus.UNCHANGED, *_UNJUDGED))
        of = f" of {counted(total, 'tests')}{others and '; '}{others}."
        return [(", ".join(changed), True), (of, False)]
    if n := counts.get(HistoryStatus.UNCHANGED, 0):
        judged = f" in any of {counted(n, 'tests')}" if n > 1 else " in 1 test"
        others = "; ".join([judged, *_counted_among(counts, *_UNJUDGED)])
        return [("No change", True), (f"{others}.", False)]
    if counts.get(HistoryStatus.UNCOUNTED, 0) == total:
        return [("No test's newest campaign counts", True), (f": {_WHY_UNCOUNTED}.", False)]
    few = (
        f" for {counted(total, 'tests')}. History starts after {MIN_CAMPAIGNS} reliable campaigns."
    )
    return [("Not enough data", True), (few, False)]


_WHY_UNCOUNTED = (
    "their measurements had no answer, their targets overloaded or failing, or too few of their "
    "requests succeeded for this figure"
)
# The tests that neither changed nor stayed as they were.
_UNJUDGED = (HistoryStatus.NEW, HistoryStatus.UNCOUNTED)


def _counted_among(counts: Mapping[HistoryStatus, int], *standings: HistoryStatus) -> list[str]:
    return [f"{counts[standing]} {standing}" for standing in standings if counts.get(standing)]


def _many(n: int, standing: HistoryStatus) -> str:
    return counted(n, "outliers") if standing is HistoryStatus.OUTLIER else f"{n} {standing}"


def ms_of(value_us: float) -> str:
    """Milliseconds without the unit."""
    return figure(value_us / 1000)


def day(at: datetime) -> str:
    return f"{at.day} {at:%b %Y}"


def when_words(then: datetime, now: datetime) -> str:
    """Such as "today 14:02", "yesterday 14:02", "Fri 11 Dec 02:00, last week", "Fri 11 Dec 2026".

    Both in the time zone in which days are counted.
    """
    clock = f"{then:%H:%M}"
    days = (now.date() - then.date()).days
    if days in {0, 1}:
        return f"{('today', 'yesterday')[days]} {clock}"
    if then.year != now.year and days > _HALF_A_YEAR:
        return f"{then:%a} {then.day} {then:%b %Y}"
    weeks = (_monday(now) - _monday(then)) // 7
    told = ", last week" if weeks == 1 else ""
    return f"{then:%a} {then.day} {then:%b} {clock}{told}"


_HALF_A_YEAR = 183


def _monday(day: datetime) -> int:
    return day.toordinal() - day.weekday()


MEANINGS = {
    TriageState.OPEN: "not triaged yet",
    TriageState.ACKNOWLEDGED: "known, being worked on; quiet until it moves again",
    TriageState.EXPECTED: "wanted or accepted; the new level is normal",
    TriageState.ENVIRONMENT: "network, host or injectors, not the target",
    TriageState.NOT_REAL: "noise",
    TriageState.FIXED: "the old level is back",
}


def state_words(state: str) -> str:
    return state.replace("_", " ")


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
    word = direction(ratios, is_explained=bool(causes))
    since = day(min(each.since_at for each in changes))
    reference = moved_beside(changes)
    return [
        (f"{word} since {since}: {range_words(min(ratios) - 1, max(ratios) - 1)}", True),
        (f" on {target}, {counted(len(ratios), 'tests')}", False),
        *([(f"; at the same time: {cause_words(causes)}", False)] if causes else []),
        *([(or_environment(reference), False)] if reference else []),
    ]


def moved_beside(changes: Sequence[NotedChange]) -> float | None:
    """The ratio of the reference's largest change in the range of any of them."""
    ratios = [each.reference_ratio for each in changes if each.reference_ratio]
    return max(ratios, key=lambda ratio: abs(log(ratio)), default=None)


def change_interval(low: float, high: float) -> str:
    """[+8.5, +9.9], in percent."""
    return f"[{', '.join(number(100 * (each - 1), 1, signed=True) for each in (low, high))}]"


def levels(before_us: float, after_us: float) -> str:
    """26.1 → 28.5, in ms."""
    return f"{figure(before_us / 1000)} → {figure(after_us / 1000)}"
