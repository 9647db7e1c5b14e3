"""The results of a campaign or a run, as plain values; and what came of a campaign, as programs
read it: the `verdict` of REST, whose fields stay.

Queries make them; pages, the REST interface, exports and the terminal draw them. Times are ms.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar

from campaigns.domain.analysis.judgement import Judgement
from campaigns.domain.analysis.messages import Sentence
from campaigns.domain.analysis.ratio import Word
from campaigns.domain.analysis.thresholds import Verdict
from campaigns.domain.lifecycle import TargetState, Trust
from campaigns.domain.presentation.badges import Answers
from campaigns.domain.presentation.intervals import difference_words
from campaigns.domain.presentation.ladder import Ladder
from campaigns.domain.presentation.metrics import METRICS
from campaigns.domain.presentation.overhead_table import OverheadAnswer
from campaigns.domain.presentation.request_tables import Errors
from campaigns.domain.presentation.run_points import Progress
from campaigns.domain.presentation.sweeps import SweepAnswer
from campaigns.domain.presentation.tables import Row, Table
from campaigns.domain.presentation.target_matrix import TargetMatrix
from campaigns.domain.presentation.what_to_do import Remedy

_T = TypeVar("_T")


class Lazy(Generic[_T]):
    """A value that is made when it is first read; what it is made of is then forgotten."""

    def __init__(self, make: Callable[[], _T]):
        self._make: Callable[[], _T] | None = make
        self._value: _T | None = None

    @property
    def value(self) -> _T:
        if (make := self._make) is not None:
            self._value = make()
            self._make = None
        return self._value


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """One of the three answers: what is asked, a word and one reason. `state` names its glyph."""

    question: str
    state: str
    word: str
    reason: str


@dataclass(frozen=True, slots=True)
class TestAnswer:
    """One plan on one arm. `table` has a row a run, a mean row and a pooled row; it is made when it
    is first read, because a page of many tests shows few of them.

    `means_ms` has an entry per repeat (None: no answer), `means_text` the table's text of each.
    `curve` is the pooled percentile plot, [] where the page draws none, and the usual points where
    it draws very many:
    [{"x": 1/(1−q), "q", "ms", "beyond": samples above}].
    """

    __test__ = False  # pytest: not a test case

    test_id: int
    label: str
    scheme: str
    connection_mode: str
    plan_label: str
    made_table: Lazy[Table]
    means_ms: list[float | None]
    apart_ms: list[float | None]
    means_text: list[str]
    trust: str
    target_state: str
    threshold_state: str
    finds_limit: bool
    curve: list[dict[str, Any]]
    counted: tuple[int, ...] = ()  # the runs that tell what it costs the target's machine
    made_table_alone: Lazy[Table] | None = None  # of the runs of this arm alone, after its turns
    nouns: str = "requests"

    @property
    def table(self) -> Table:
        return self.made_table.value

    @property
    def rows_of_runs(self) -> list[Row]:
        alone = self.made_table_alone.value.rows if self.made_table_alone else ()
        return [*self.table.rows, *alone]


class _HasLabels(Protocol):
    plan_label: str
    label: str


def labels_of(tests: Sequence[_HasLabels]) -> list[str]:
    """What each is called among these: with its plan, where they have several."""
    has_plans = len({each.plan_label for each in tests}) > 1
    return [f"{each.plan_label}, {each.label}" if has_plans else each.label for each in tests]


@dataclass(frozen=True, slots=True)
class Gist:
    """The part of an answer that lists show: small, so that many can be cached. `found` is what
    the badge tells."""

    sentence: Sentence
    found: Answers

    def to_json(self) -> dict[str, Any]:
        return {"sentence": self.sentence, "found": asdict(self.found)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Gist":
        return cls(
            [(text, is_bold) for text, is_bold in data["sentence"]], Answers(**data["found"])
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """A campaign's answer: the sentence first, then its grounds, tables and overheads.

    `caveats`: what disturbed its runs.
    `has_no_answer`: nobody may believe its response times.
    `partial_run`: the run that did not end as planned and whose partial figures are all there is.
    `exchanges`: what its WebSocket tests have beside, none without any.
    `answers`: measurement, target and precision, () until a run is judged; `remedies`: what to do
    where it failed or has no answer. `matrix`: of a campaign over several targets; `ladder`: of one
    over the protocol layers of one target. `references`: what was measured beside its tests and
    counts in nothing. `end_of_turns`: whether it was settled, for its badge: state and words.
    `setup`: what its runs say of their setting (`setup_facts`).
    """

    sentence: Sentence
    grounds: list[str]
    caveats: list[str]
    tests: list[TestAnswer]
    overheads: list[OverheadAnswer]
    n_done: int
    n_runs: int
    has_word: bool
    thresholds: Table
    errors: Errors
    partial_run: int | None = None
    has_no_answer: bool = False
    exchanges: tuple[Table, ...] = ()
    sweeps: tuple[SweepAnswer, ...] = ()
    answers: tuple[ShownAnswer, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    matrix: TargetMatrix | None = None
    ladder: Ladder | None = None
    references: Sequence[TestAnswer] = ()
    found_by_search: Answers | None = None
    end_of_turns: tuple[str, str] | None = None
    threshold_state: str = ""
    setup: Sequence[tuple[str, list[tuple[str, str]]]] = ()

    @property
    def trust(self) -> str:
        """The worst of its tests; "" if none was judged yet."""
        return _worst({test.trust for test in self.tests}, Trust)

    @property
    def target_state(self) -> str:
        """The worst of its tests; "" if it was judged in none."""
        return _worst({test.target_state for test in self.tests}, TargetState)

    @property
    def found(self) -> Answers:
        """What its badge tells."""
        if self.found_by_search is not None:
            return self.found_by_search
        at_limit = [each for each in self.tests if each.target_state == TargetState.OVERLOADED]
        unusable = [each for each in self.tests if each.trust == Trust.NO_ANSWER]
        return Answers(
            trust=self.trust,
            target_state=self.target_state,
            thresholds=self.threshold_state,
            finds_limit=bool(at_limit) and all(each.finds_limit for each in at_limit),
            is_usable_in_part=0 < len(unusable) < sum(bool(each.trust) for each in self.tests),
        )

    @property
    def gist(self) -> "Gist":
        return Gist(self.sentence, self.found)

    @property
    def tables(self) -> list[Table]:
        """Every table in the order of the page."""
        thresholds = [self.thresholds] if self.thresholds.rows else []
        tests = [test.table for test in (*self.tests, *self.references)]
        overheads = [each.table for each in self.overheads]
        sweeps = [each.table for each in self.sweeps]
        errors = [self.errors.table] if self.errors.rows else []
        matrix = self.matrix.tables if self.matrix else []
        ladder = self.ladder.tables if self.ladder else []
        first = [*ladder, *matrix, *sweeps, *tests, *self.exchanges]
        return [*first, *thresholds, *overheads, *errors]


def _worst(present: set[str], states: type[StrEnum]) -> str:
    return next((str(each) for each in reversed(states) if each in present), "")


@dataclass(frozen=True, slots=True)
class RunReport:
    """One run. `tiles`: [{"key", "title", "value", "unit", "lines": [text, …]}].

    `facts`: [(group, [[name, value], …]), …] of TLS, handshakes and environment. `judged` is None
    until the run has ended; `checks`: [(glyph, text)] of what the sentence does not say.
    `has_no_answer`: nobody may believe its response times. `trend`: whether they rose or fell.
    `more`: tables of addresses, redirects and sessions, where there are any.
    `answers` and `remedies`: as of a campaign. `requests`: the columns of the drawing of all of
    them, {} where these are too many.
    """

    sentence: Sentence
    grounds: list[str]
    tiles: list[dict[str, Any]]
    table: Table
    parts: Table
    errors: Errors
    vitals: Table
    facts: list[tuple[str, list[list[str]]]]
    curve: list[dict[str, Any]]
    judged: Judgement | None
    checks: list[tuple[str, str]]
    thresholds: Table
    exchange: Table
    closes: Table
    phases: Table
    slowest: Table
    progress: Progress
    has_no_answer: bool = False
    verdicts: tuple[Verdict, ...] = ()
    trend: str = ""
    more: tuple[Table, ...] = ()
    answers: tuple[ShownAnswer, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    requests: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def tables(self) -> list[Table]:
        thresholds = [self.thresholds] if self.thresholds.rows else []
        exchange = [table for table in (self.exchange, self.closes) if table.rows]
        phases = [self.phases] if self.phases.rows else []
        slowest = [self.slowest] if self.slowest.rows else []
        beside = [*slowest, *phases, *self.more, *thresholds, *exchange]
        return [self.table, *beside, self.parts, self.errors.table, self.vitals]


# What decides over several comparisons; "" has no verdict.
_WORST_FIRST = (
    *(Word.SLOWER, "", Word.OPEN, Word.NOT_FASTER, Word.NOT_SLOWER, Word.SAME, Word.FASTER),
)


@dataclass(frozen=True, slots=True)
class ComparedMetric:
    metric: Annotated[str, "Such as p95 or typical: see /metrics/."]
    title: str
    baseline_ms: float
    candidate_ms: float
    ratio: Annotated[float, "Candidate / baseline."]
    low: Annotated[float, "The lower end of its interval."]
    high: float


@dataclass(frozen=True, slots=True)
class ComparedArms:
    label: Annotated[str, "The candidate: its plan and arm."]
    names: Annotated[tuple[str, str], "Of baseline and candidate."]
    baseline: Annotated[str, "The name of a stored baseline; empty of two of its tests."]
    baseline_test: int
    candidate_test: int
    word: Word | Literal[""]
    why: Annotated[str, "Why there is no word, or what would settle it."]
    said: Annotated[str, "Such as 12 % slower."]
    bound: Annotated[str, "Such as 9.8 to 14 %."]
    confidence: float
    metrics: Annotated[
        Sequence[ComparedMetric],
        "The one that the word is of first. Empty without a word, and where only the direction is "
        "known.",
    ]

    @property
    def judged(self) -> ComparedMetric | None:
        return self.metrics[0] if self.metrics else None

    @classmethod
    def of(cls, answer: OverheadAnswer, label: str, baseline: str = "") -> "ComparedArms":
        rows = answer.table.rows if answer.word and answer.has_size else ()
        metrics = [
            ComparedMetric(row.kind, METRICS[row.kind].title, before, after, *ratio)
            for row in rows
            for before, after, _, *ratio in [[cell.value for cell in row.cells[:6]]]
            if None not in (before, after, *ratio)
        ]
        change, bound = answer.word, ""
        if metrics:
            (ends,) = [(each.ratio, each.low, each.high) for each in metrics[:1]]
            change, bound = difference_words(Word(answer.word), *ends, at_least=answer.at_least)
        return cls(
            label,
            answer.names,
            baseline,
            answer.baseline_test_id,
            answer.candidate_test_id,
            answer.word,
            answer.word_reason,
            change,
            bound,
            answer.confidence,
            metrics,
        )


@dataclass(frozen=True, slots=True)
class BrokenRule:
    rule: Annotated[str, "With its test."]
    kept: Annotated[str, "Such as 1 of 3 runs."]
    worst: str
    limit: str


def broken_rules(thresholds: Table) -> list[BrokenRule]:
    """Those of `campaign_thresholds_table`."""
    rows = [(row.label, [cell.text for cell in row.cells]) for row in thresholds.rows]
    return [BrokenRule(rule, *cells) for rule, (*cells, result) in rows if result in _BROKEN]


_BROKEN = {"broken", "not measured"}


@dataclass(frozen=True, slots=True)
class CampaignVerdict:
    """`is_measured`: else `why` says why there are no figures. `comparisons`: with baselines where
    tests have one, else of the campaign's tests, the worst first."""

    is_measured: bool
    why: str
    sentence: str
    comparisons: Sequence[ComparedArms] = ()
    broken_rules: Sequence[BrokenRule] = ()
    n_failed: int = 0
    n_requests: int = 0

    @property
    def worst(self) -> ComparedArms | None:
        return self.comparisons[0] if self.comparisons else None

    @property
    def failed_share(self) -> float | None:
        return self.n_failed / self.n_requests if self.n_requests else None


def worst_first(comparisons: Sequence[ComparedArms]) -> list[ComparedArms]:
    """Of the same word the one that is surely slower by more."""
    return sorted(
        comparisons,
        key=lambda each: (_WORST_FIRST.index(each.word), -each.judged.low if each.judged else 0),
    )
