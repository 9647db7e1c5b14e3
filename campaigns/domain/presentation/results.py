"""The results of a campaign or a run, as plain values.

Queries make them; pages, the REST interface, exports and the terminal draw them. Times are ms.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from campaigns.domain.analysis.judgement import Judgement
from campaigns.domain.analysis.thresholds import Verdict
from campaigns.domain.lifecycle import TargetState, Trust
from campaigns.domain.presentation.badges import Answers
from campaigns.domain.presentation.ladder import Ladder
from campaigns.domain.presentation.request_tables import Errors
from campaigns.domain.presentation.run_points import Progress
from campaigns.domain.presentation.sweep_table import SweepPoint
from campaigns.domain.presentation.tables import Row, Table
from campaigns.domain.presentation.target_matrix import TargetMatrix

_T = TypeVar("_T")
Sentence = list[tuple[str, bool]]  # (text, is it bold)


def trimmed(sentence: Sentence) -> Sentence:
    """Without the space after the last word."""
    while sentence and not sentence[-1][0].strip():
        sentence = sentence[:-1]
    if not sentence:
        return sentence
    text, is_bold = sentence[-1]
    return [*sentence[:-1], (text.rstrip(), is_bold)]


def joined(sentences: Iterable[Sentence]) -> Sentence:
    """With a space between them; empty ones are left out."""
    first, *others = [each for each in sentences if each] or [[]]
    return [*first, *(part for each in others for part in [(" ", False), *each])]


def so_far(sentence: Sentence) -> Sentence:
    (first, is_bold), *rest = sentence
    return [("So far ", False), (f"{first[:1].lower()}{first[1:]}", is_bold), *rest]


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
class Remedy:
    """One thing to do: what is wrong, how to mend it, and the place (`what_to_do.Place`)."""

    title: str
    text: str
    place: str


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


@dataclass(frozen=True, slots=True)
class SplitAnswer:
    """The mean response time by parts: [{"label", "scheme", "parts": {part: ms|None}, "total_ms"}].

    Parts are dns, connect, tls, send, wait, receive and lateness; rounded, they add up to the
    total. `is_typical`: of the quieter rounds, without what the injector added.
    """

    rows: list[dict[str, Any]]
    decimals: int
    is_typical: bool = False


@dataclass(frozen=True, slots=True)
class OverheadAnswer:
    """A test (the candidate) against another (the baseline), by default HTTPS against HTTP.

    `table`: rows metric; columns of both, difference, ratio, low, high, increase, share, word.
    `forest`: [{"metric", "ratio", "low", "high", "word", "primary"}] of the rows with an interval.
    `like_for_like`: {"same": [[k, v]], "equal": [[k, v]], "different": [[k, both]]}.
    `word` is "" before the third finished repeat; `word_reason` says why a word is missing or weak.
    `is_chosen`: by a user, among all tests. `more`: about how many more blocks would settle it,
    `more_s`: how many more seconds of turns; None where it is settled, or where more would not
    help. `confidence`: of its intervals.
    `narrowing`: how these narrowed over the rounds of arms that took turns, as rows of `forest`
    with `rounds` and `seconds`. `at_least`: the machine hid a part of the difference. `has_size`:
    else only its direction is known.
    """

    plan_label: str
    connection_mode: str
    baseline_test_id: int
    candidate_test_id: int
    table: Table
    forest: list[dict[str, Any]]
    split: SplitAnswer | None
    word: str
    word_reason: str
    like_for_like: dict[str, list[list[str]]]
    title: str
    names: tuple[str, str]
    is_chosen: bool
    n_usable: int
    more: int | None
    # For what else is compared of the two: {repeat: run} of those that count, and why no word may
    # be said of them whatever the figures are.
    counted: tuple[dict[int, int], dict[int, int]] = field(default_factory=lambda: ({}, {}))
    is_paired: bool = False
    blocker: str = ""
    confidence: float = 0.95
    narrowing: Sequence[dict[str, Any]] = ()
    at_least: bool = False
    has_size: bool = True
    more_s: float | None = None


@dataclass(frozen=True, slots=True)
class SweepAnswer:
    """One plan on one arm at several values of `field`: `table` has a row for each, `points` are
    its curve. `name` tells the arm apart from the others of the same sweep. `reference`: the one
    of them that its points are compared with, "" for that one itself and of a single arm."""

    title: str
    plan_label: str
    field: str
    name: str
    table: Table
    points: list[SweepPoint]
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Gist:
    """The part of an answer that lists show: small, so that many can be cached. `found` is what
    the badge tells."""

    sentence: Sentence
    found: Answers

    def to_json(self) -> dict[str, Any]:
        return {"sentence": self.sentence, "found": asdict(self.found)}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Gist":
        return cls(
            [(text, is_bold) for text, is_bold in kept["sentence"]], Answers(**kept["found"])
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
        overloaded = [each for each in self.tests if each.target_state == TargetState.OVERLOADED]
        unusable = [each for each in self.tests if each.trust == Trust.NO_ANSWER]
        return Answers(
            trust=self.trust,
            target_state=self.target_state,
            thresholds=self.threshold_state,
            finds_limit=bool(overloaded) and all(each.finds_limit for each in overloaded),
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


def _worst(found: set[str], states: type[StrEnum]) -> str:
    return next((str(each) for each in reversed(states) if each in found), "")


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
