"""Campaigns, tests or runs against a baseline, as plain values; queries make them. And searches for
a capacity against each other, in a sentence and in figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple

from campaigns.domain.analysis.capacity import CapacityInterval, CapacityWord
from campaigns.domain.analysis.messages import Sentence, sentence
from campaigns.domain.analysis.pair import PairResult
from campaigns.domain.analysis.ratio import CLEAR, RatioInterval, Word
from campaigns.domain.metrics.profiles import Profile, faults_of, share_changes
from campaigns.domain.percentiles import name
from campaigns.domain.presentation.intervals import FACTOR_FROM, change_ends
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.overhead_table import SplitAnswer
from campaigns.domain.presentation.tables import (
    Column,
    Figure,
    Format,
    Row,
    Table,
    rows_of_cells,
    text_cell,
)
from campaigns.domain.presentation.target_cost_tables import OBJECT
from campaigns.domain.units import DASH, THIN, change_size, figure, number, percent, rate

_CLEAR = {CapacityWord.MORE: "more", CapacityWord.LESS: "less"}


@dataclass(frozen=True, slots=True)
class ComparedCapacity:
    """A column's capacity against the baseline's. None: that side has no steady one. `texts`: what
    is known of both, such as 1,850 (1,790 to 1,910), at least 900."""

    column: Annotated[str, "The candidate's column."]
    baseline: CapacityInterval | None
    candidate: CapacityInterval | None
    ratio: RatioInterval | None
    word: Annotated[CapacityWord | Literal[""], "Empty: `why` says why."]
    why: Annotated[str, "Without a ratio: what is known of both, or why there is no verdict."]
    texts: tuple[str, str]

    @property
    def change_words(self) -> str:
        """Such as +6.5 % (+3.1 to +10.0 %)"""
        if self.ratio is None:
            return DASH
        return f"{change_size(self.ratio.ratio)} ({self.interval_words})"

    @property
    def interval_words(self) -> str:
        """Of the change, such as +3.1 to +10.0 %; it takes a ratio."""
        ratio = self.ratio
        return f"{' to '.join(change_ends(ratio.ratio, ratio.low, ratio.high))}{THIN}%"


def capacity_sentence(capacity: ComparedCapacity, baseline: str, candidate: str) -> Sentence:
    """Both columns by name."""
    if not capacity.word:
        return sentence("no_capacities", why=capacity.why)
    capital = f"{candidate[:1].upper()}{candidate[1:]}"
    if capacity.ratio is None:
        words = {"first": capital, "more": _CLEAR[capacity.word], "second": baseline}
        return sentence("capacities_bounded", **words, rates=capacity.why)
    ours, theirs = rate(capacity.candidate.rate_per_s), rate(capacity.baseline.rate_per_s)
    rates = f"{ours} against {theirs} requests/s"
    much = percent(abs(capacity.ratio.ratio - 1), decimals=1)
    if capacity.word in _CLEAR:
        code, first = "capacities_differ", capital
    else:
        code, first = "capacities_alike", candidate
    return sentence(
        code,
        first=first,
        second=baseline,
        more=f"{much} {_CLEAR.get(capacity.word, '')}",
        word=f"{capacity.word[:1].upper()}{capacity.word[1:]}",
        rates=rates,
        interval=capacity.interval_words,
    )


_KEYS = ("ratio", "low", "high")


def shift_words(shift: Mapping[int, RatioInterval]) -> str:
    """p10 to p99 take 9.1 to 13.2 % longer; for p99.9 these runs cannot tell."""
    clauses = []
    longer = [q for q, each in shift.items() if each.low > 1]
    shorter = [q for q, each in shift.items() if each.high < 1]
    unsure = [q for q in shift if q not in longer and q not in shorter]
    for ranks, word in ((longer, "longer"), (shorter, "less")):
        if ranks:
            takes = "takes" if len(ranks) == 1 else "take"
            sizes = _sizes([shift[q].ratio for q in ranks], word)
            clauses.append(f"{_names(ranks, [*shift])} {takes} {sizes}")
    if unsure:
        clauses.append(f"for {_names(unsure, [*shift])} these runs cannot tell")
    words = "; ".join(clauses)
    return f"{words[:1].upper() if words.startswith('for') else words[:1]}{words[1:]}."


def _names(some: Sequence[int], every: Sequence[int]) -> str:
    """p10 to p99 of neighbours; otherwise one by one."""
    names = [name(q) for q in some]
    first = every.index(some[0])
    if len(some) > 1 and some == every[first : first + len(some)]:
        return f"{names[0]} to {names[-1]}"
    return ", ".join(names)


def _sizes(ratios: Sequence[float], word: str) -> str:
    """9.1 to 13.2 % longer; 2.8 to 3.1 × as long"""
    least, most = min(ratios), max(ratios)
    if least >= FACTOR_FROM:
        return f"{_range(figure(least, 2), figure(most, 2))}{THIN}× as long"
    shares = sorted(abs(each - 1) for each in ratios)
    ends = (number(100 * each, 1) for each in (shares[0], shares[-1]))
    return f"{_range(*ends)}{THIN}% {word}"


def _range(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"


def shift_table(shift: Mapping[int, RatioInterval]) -> Table:
    """A row per percentile: the ratio candidate / baseline with its 95 % interval."""
    figures = [[Figure(getattr(each, key)) for key in _KEYS] for each in shift.values()]
    cells = rows_of_cells(figures, [Format(is_ratio=True)] * len(_KEYS))
    return Table(
        "shift",
        "Shift by percentile",
        tuple(METRICS[key].column() for key in _KEYS),
        tuple(Row(name(q), of_q) for q, of_q in zip(shift, cells, strict=True)),
        label_title="percentile",
        note="candidate / baseline of run-level percentiles; each interval is for its own row",
    )


# Worst first; a test without a word, "", is among the open ones.
_ORDER = (
    *(Word.SLOWER, Word.NOT_FASTER, Word.OPEN, ""),
    *(Word.NOT_SLOWER, Word.SAME, Word.FASTER),
)


ENVIRONMENT = "environment"


class ReferenceState(StrEnum):
    """Whether what was measured beside both sides is as it was."""

    UNMOVED = "unmoved"
    MOVED = "moved"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class RunDot:
    """One run's figure of the row, µs."""

    label: str
    value_us: float


@dataclass(frozen=True, slots=True)
class ComparedTest:
    """A test of the candidate's column against its partner in the baseline's.

    `row`: what the word is about, with the ratio's interval. Not sound: no run of one side can be
    used, so the figures are shown beside each other and not compared. `word` is "" where none can
    be given; `why` says why, or what would settle it. `reference`: what became of the reference
    that both sides measured, None without one. `could_have_shown` is a share, None without an
    interval.
    `runs`: those that count, baseline and candidate.
    """

    column: str
    baseline_test_id: int
    candidate_test_id: int
    plan_label: str
    arm_label: str
    scheme: str
    row: PairResult
    is_sound: bool
    word: str
    why: str
    ran_in_turn: bool
    could_have_shown: float | None
    runs: tuple[tuple[RunDot, ...], tuple[RunDot, ...]]
    reference: ReferenceState | None = None

    @property
    def key(self) -> str:
        """Its name in an address: the column and the candidate's test, "b34"."""
        return f"{self.column}{self.candidate_test_id}"

    @property
    def label(self) -> str:
        return f"{self.plan_label}: {self.arm_label}"

    @property
    def interval(self) -> RatioInterval | None:
        return self.row.interval if self.is_sound else None

    @property
    def times_us(self) -> tuple[float | None, float | None]:
        """Of both sides; with an interval those whose quotient is its ratio, so that one outlier
        among the runs moves no figure further than its interval."""
        interval = self.interval
        if interval is None:
            return self.row.baseline, self.row.candidate
        return interval.baseline, interval.baseline * interval.ratio

    @property
    def difference_ms(self) -> float | None:
        """Candidate − baseline; None where nothing is compared."""
        baseline, candidate = self.times_us
        is_known = self.is_sound and None not in (baseline, candidate)
        return (candidate - baseline) / 1000 if is_known else None

    @property
    def difference_ends_ms(self) -> tuple[float, float] | None:
        """Of its interval."""
        interval = self.interval
        return interval and tuple(
            (each - 1) * interval.baseline / 1000 for each in (interval.low, interval.high)
        )

    @property
    def increase(self) -> float | None:
        """(candidate − baseline) / baseline; None where nothing is compared."""
        return self.row.increase if self.is_sound else None

    @property
    def is_changed(self) -> bool:
        return self.word in CLEAR

    @property
    def can_be_confirmed(self) -> bool:
        """Whether it changed between sides that did not run in turn."""
        return self.is_changed and not self.ran_in_turn

    @property
    def or_environment(self) -> bool:
        """The two did not run in turn and no reference stayed where it was, so the word is about
        the target or about whatever else changed between them."""
        return self.can_be_confirmed and self.reference is not ReferenceState.UNMOVED

    @property
    def said(self) -> str:
        """The word as it is read: "slower, or the environment"."""
        return as_read(self.word, self.reference) if self.can_be_confirmed else self.word


@dataclass(frozen=True, slots=True)
class ComparedDetail:
    """The figures behind a row. `repeats`: every run of the baseline and of the candidate; `noun`:
    what is counted; `lines`: the percentile plots, [{"label", "scheme", "mode", "curve"}].
    """

    test: ComparedTest
    times: Table
    counts: Table
    repeats: tuple[Table, Table]
    split: SplitAnswer | None
    noun: str
    lines: list[dict[str, Any]]
    shift: Mapping[int, RatioInterval]

    @property
    def tables(self) -> list[Table]:
        shift = [shift_table(self.shift)] if self.shift else []
        return [self.times, self.counts, *self.repeats, *shift]

    @property
    def curves(self) -> dict[str, list[dict[str, Any]]]:
        names = ("baseline", "candidate")
        return {name: line["curve"] for name, line in zip(names, self.lines, strict=True)}


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting or measured fact that is not the same on both sides of some tests."""

    name: Annotated[str, "What differs in plan, target or environment."]
    column: Annotated[str, "The candidate's column."]
    baseline: str
    candidate: str
    tests: Annotated[tuple[str, ...], "The tests that it concerns; empty: all."] = ()
    forbids: Annotated[bool, "Whether these tests get no verdict because of it."] = False


class Alone(NamedTuple):
    column: Annotated[str, "Its name."]
    tests: list[str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """`tests` worst first; `references` are never counted among them; `alone` has each column's
    tests without a partner.

    `table` has a row per test, in the same order, as CSV and REST have them. `detail` is of the
    test that was asked for, by default the first; None without any. `capacities`: of each candidate
    that is a search, or whose baseline is one. `profiles`: of each candidate, how the shares of
    functions changed.
    """

    sentences: list[Sentence]
    grounds: list[str]
    warnings: list[str]
    differs: list[Difference]
    same: list[tuple[str, str]]
    tests: list[ComparedTest]
    references: list[ComparedTest]
    alone: list[Alone]
    table: Table
    detail: ComparedDetail | None
    capacities: list[ComparedCapacity]
    profiles: list[Table]


def as_read(word: str, reference: ReferenceState | None) -> str:
    """What is said of a test that is slower or faster than one that did not run in turn with it:
    the word alone where the reference stayed as it was, "environment" where it moved as well."""
    if reference is ReferenceState.UNMOVED:
        return word
    if reference is ReferenceState.MOVED:
        return ENVIRONMENT
    return f"{word}, or the {ENVIRONMENT}"


_MOST_LISTED = 40  # tests


def listed(tests: Sequence[ComparedTest]) -> list[ComparedTest]:
    """All; of many, those that are not as before, if there are any."""
    others = [each for each in tests if each.word != Word.SAME]
    return others if others and len(tests) > _MOST_LISTED else list(tests)


def worst_first(tests: Sequence[ComparedTest]) -> list[ComparedTest]:
    return sorted(tests, key=lambda each: (_ORDER.index(each.word), -(each.increase or 0.0)))


def reference_of(references: Sequence[ComparedTest]) -> ReferenceState | None:
    """Unmoved only if every one shows no practical difference; None without any."""
    words = {each.word for each in references}
    if words & CLEAR:
        return ReferenceState.MOVED
    if words == {Word.SAME}:
        return ReferenceState.UNMOVED
    return ReferenceState.UNSURE if words else None


_MOST_CHANGES = 10
_LOW_CHANGE = "Lower end of the 95 % bounds, which hold for all functions together."
_HIGH_CHANGE = "Upper end of the 95 % bounds, which hold for all functions together."


def compared_profiles_table(
    before: Sequence[Profile], after: Sequence[Profile], names: tuple[str, str], column: str
) -> Table | None:
    """`column`: of the candidate. None where neither side was asked for a profile."""
    if not before and not after:
        return None
    sides = [any(each.samples for each in side) for side in (before, after)]
    lacking = [name for name, is_told in zip(names, sides, strict=True) if not is_told]
    changes = [] if lacking else share_changes(before, after)
    certain = [each for each in changes if each.is_certain]
    more = [each for each in certain if each.growth > 0][:_MOST_CHANGES]
    changes_shown = more + [each for each in certain[::-1] if each.growth < 0][:_MOST_CHANGES]
    figures = [
        [Figure(100 * x) for x in (each.before, each.after, each.growth, each.low, each.high)]
        for each in changes_shown
    ]
    formats = [Format(1)] * 2 + [Format(1, signed=True)] * 3
    rows = tuple(
        Row(each.symbol, (text_cell(each.object), *of_row), "function")
        for each, of_row in zip(changes_shown, rows_of_cells(figures, formats), strict=True)
    )
    columns = (
        OBJECT,
        Column("baseline", names[0], "% of CPU time"),
        Column("candidate", names[1], "% of CPU time"),
        Column("difference", "difference", "points"),
        Column("low", "from", "points", _LOW_CHANGE),
        Column("high", "to", "points", _HIGH_CHANGE),
    )
    if lacking:
        faults = faults_of([*before, *after])
        note = " ".join([f"Nothing was recorded of {' and '.join(lacking)}.", *faults])
    # What is known of the functions that have no row.
    elif others := [
        max(abs(each.low), abs(each.high)) for each in changes if each not in changes_shown
    ]:
        most = f"{100 * max(others):.1f} points"
        note = (
            f"Every other function's share changed by at most {most}."
            if rows
            else f"No share changed by more than chance explains, and none by more than {most}."
        )
    else:
        note = ""
    title = "Functions whose share of the CPU time changed"
    return Table(f"profile-{column}", title, columns, rows, "function", note)
