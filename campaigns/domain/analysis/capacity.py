"""How much can it take? A search for the highest rate that keeps an objective, trial by trial.

The rate is doubled until a trial fails, then the bracket is halved to 10 %. Around this first
answer six searches follow, up to ten, each a bisection to 3 % in a narrow window of its own,
shifted at random: about three trials, all close to the limit, and one wrong trial spoils one search
and not the answer. `next_action` is a function of the trials so far, so that the search needs no
other memory than these while it goes on. Its answer is stored when it ends: a later rule would read
the same trials otherwise.

The capacity is the searches' geometric mean. Three things beside a plain t interval on logarithms,
each because simulations missed without it (docs/measuring.md): results that resemble their
neighbours widen the interval, half a step of the searches is added, and a trend over the searches
makes it no steady answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import pairwise
from math import exp, fsum, hypot, inf, isclose, log, sqrt
from typing import Annotated, Any

import numpy as np

from campaigns.domain.analysis.criteria import SATURATED, UNSENT
from campaigns.domain.analysis.judgement import Judgement
from campaigns.domain.analysis.ratio import RatioInterval, Word, word_of
from campaigns.domain.analysis.thresholds import Verdict
from campaigns.domain.lifecycle import Outcome, Trust
from campaigns.domain.metrics.outcomes import without_addresses
from campaigns.domain.percentiles import t_quantile, t_reach
from campaigns.domain.plan.threshold import TARGET_METRICS
from campaigns.domain.units import DASH, decimals_beside, decimals_for, number, with_unit

# Stored with each answer. Raise it with every change of the rule.
RULE_VERSION = 4
FIRST_RESOLUTION, RESOLUTION = 0.10, 0.03
WINDOW = 1.125  # of a search: this far up and down, as a factor; three halvings to the resolution
FEWEST_SEARCHES, MOST_SEARCHES = 6, 10
NARROW = 0.10  # the width of the interval at which the search ends
# After as many trials no further search begins, except to find out whether the target drifts, or
# to make an interval narrow that is at most so wide.
ENOUGH_TRIALS, NEARLY_NARROW = 37, 0.12
# A search that has left the first answer by more than this has lost what it was looking for.
_LOST = 2.0
MOST_OPEN_TRIALS = 4  # in a row; then the machine is too busy to go on
_SAME_RATE = 1e-3  # rates have five digits; those of two trials of a search are further apart

FEWEST_FOR_INTERVAL = 3
FEWEST_FOR_TREND = 5
_MOST_ALIKE, _BIAS = 0.8, 2.2
# A trend is said from this two-sided level on, and suspected from that; and from this size.
_SAID, _SUSPECTED = 0.02, 0.10
LEAST_DRIFT = 0.05


class TrialResult(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    UNTRUSTED = "untrusted"  # not counted: it may be the machine that broke a rule


class Ending(StrEnum):
    FOUND = "found"
    INJECTOR = "injector"  # at least X: the injectors are the limit
    LIMIT = "limit"  # at least X: no higher rate is allowed
    BELOW = "below"  # already the first rate failed
    DRIFTED = "drifted"  # no steady answer
    DEADLINE = "deadline"
    STOPPED = "stopped"
    SILENT = "silent"  # the target no longer answers


@dataclass(frozen=True, slots=True)
class SearchRules:
    """`limit_per_s` is never exceeded. `seed` draws the windows of the searches."""

    start_per_s: float
    limit_per_s: float
    seed: int

    def __post_init__(self):
        if not 0 < self.start_per_s <= self.limit_per_s:
            raise ValueError("A search starts above 0 requests/s and not above its limit.")


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of a rate. `reason`: a sentence, why it failed or was not counted."""

    rate_per_s: float
    result: TrialResult
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NextTrial:
    """Trial `number` (from 1) of `search` (0 is the way to the first answer) between two rates,
    None where there is none yet. `after_drain`: what the trial before left must have drained."""

    number: int
    search: int
    rate_per_s: float
    low: float | None
    high: float | None
    after_drain: bool


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Where one search ended: the highest rate that passed and the lowest that failed in it.
    `middle` is the mean of its trials' numbers: when it was made.
    """

    low: float
    high: float
    middle: float

    @property
    def log_rate(self) -> float:
        return (log(self.low) + log(self.high)) / 2


@dataclass(frozen=True, slots=True)
class CapacityInterval:
    """Requests/s with the 95 % interval."""

    rate_per_s: float
    low: Annotated[float | None, "Null with fewer than 3 searches."]
    high: float | None
    n_searches: int

    @property
    def width(self) -> float:
        """Of the interval, as a share of the rate."""
        if self.low is None or self.high is None:
            return inf
        return (self.high - self.low) / self.rate_per_s


def capacity_of(searches: Sequence[SearchResult]) -> CapacityInterval | None:
    """Geometric mean and t interval on logarithms. None without a search."""
    if not searches:
        return None
    logs = [each.log_rate for each in searches]
    n = len(logs)
    centre = fsum(logs) / n
    if n < FEWEST_FOR_INTERVAL:
        return CapacityInterval(exp(centre), None, None, n)
    off = [each - centre for each in logs]
    squares = fsum(each * each for each in off)
    # Wider by √((1 + r) / (1 − r)) of the correlation r of neighbours, with 2.2/n against its bias,
    # which was chosen by simulation (docs/measuring.md); never by less than 1.
    neighbours = fsum(a * b for a, b in pairwise(off))
    r = min(max(neighbours / squares + _BIAS / n, 0.0), _MOST_ALIKE) if squares else 0.0
    error = sqrt(squares / (n - 1) / n) * sqrt((1 + r) / (1 - r))
    half_step = fsum(log(each.high / each.low) for each in searches) / n / 2
    half = t_reach(n - 1) * error + half_step
    return CapacityInterval(exp(centre), exp(centre - half), exp(centre + half), n)


@dataclass(frozen=True, slots=True)
class Trend:
    """`drift`: from the first search to the last, as a share. `is_sure` at the 2 % level,
    `is_suspected` at 10 %; neither if it is below 5 %."""

    drift: float
    is_sure: bool
    is_suspected: bool


def trend_of(searches: Sequence[SearchResult]) -> Trend:
    """The straight line through the results over time, by its t test."""
    n = len(searches)
    if n < FEWEST_FOR_TREND:
        return Trend(0.0, False, False)
    logs = [each.log_rate for each in searches]
    centre, middle = fsum(logs) / n, fsum(each.middle for each in searches) / n
    times = [each.middle - middle for each in searches]
    spread = fsum(time * time for time in times)
    slope = fsum(time * value for time, value in zip(times, logs, strict=True)) / spread
    rest = fsum((v - centre - slope * t) ** 2 for t, v in zip(times, logs, strict=True))
    t = abs(slope) / sqrt(rest / (n - 2) / spread) if rest else inf
    drift = exp(slope * (times[-1] - times[0])) - 1
    is_large = abs(drift) >= LEAST_DRIFT
    return Trend(
        drift,
        is_large and t > t_quantile(1 - _SAID / 2, n - 2),
        is_large and t > t_quantile(1 - _SUSPECTED / 2, n - 2),
    )


@dataclass(frozen=True, slots=True)
class CapacityAnswer:
    """How a search ended, and what is known. `capacity`: the mean of its finished searches, or the
    first answer without an interval. `at_least`: a rate that passed, below all that failed.
    `below`: the lowest rate that failed. `drift`: over the searches, as a share. `rule`: its
    version.
    """

    ending: Ending
    capacity: CapacityInterval | None
    at_least: float | None
    below: float | None
    searches: tuple[SearchResult, ...]
    drift: float = 0.0
    rule: int = RULE_VERSION

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "CapacityAnswer":
        capacity = data["capacity"]
        return cls(
            ending=Ending(data["ending"]),
            capacity=CapacityInterval(**capacity) if capacity else None,
            at_least=data["at_least"],
            below=data["below"],
            searches=tuple(SearchResult(**each) for each in data["searches"]),
            drift=data["drift"],
            rule=data["rule"],
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def next_action(
    rules: SearchRules, trials: Iterable[Trial], halt: Ending | None = None
) -> NextTrial | CapacityAnswer:
    """What follows from the trials so far, in their order. `halt`: why no other may begin."""
    search = CapacitySearch(rules)
    for trial in trials:
        search.take(trial)
    return search.answer(halt) if halt and not search.ending else search.next_action()


class CapacitySearch:
    """A search's state, fed with one trial after the other."""

    def __init__(self, rules: SearchRules):
        self._rules = rules
        self._n_trials = self._n_open = 0
        self._rate = rules.start_per_s
        self._bracket: _Bracket | None = None  # None while the rate is doubled
        self._first: float | None = None
        self._passes: list[float] = []
        self._failures: list[float] = []
        self._results: list[SearchResult] = []
        self._begun_at = 1
        self._has_just_failed = False
        self.ending: Ending | None = None

    def take(self, trial: Trial) -> None:
        """Learn from the trial that `next_action` asked for. Any other was asked for by an earlier
        rule; that ends the search, because this rule cannot go on with it."""
        if trial.result != TrialResult.UNTRUSTED:
            rates = self._passes if trial.result == TrialResult.PASSED else self._failures
            rates.append(trial.rate_per_s)
        if self.ending or not isclose(trial.rate_per_s, self._rate, rel_tol=_SAME_RATE):
            self.ending = self.ending or Ending.STOPPED
            return
        self._n_trials += 1
        self._has_just_failed = trial.result == TrialResult.FAILED
        if trial.result == TrialResult.UNTRUSTED:
            self._n_open += 1
            if self._n_open == MOST_OPEN_TRIALS:
                self.ending = Ending.INJECTOR
            return
        self._n_open = 0
        has_passed = trial.result == TrialResult.PASSED
        if self._bracket is not None:
            self._bracket.take(trial.rate_per_s, has_passed)
            self._halve(has_passed)
        elif not has_passed and not self._passes:
            self.ending = Ending.BELOW
        elif not has_passed:
            low, high = max(self._passes), self._rate
            self._bracket = _Bracket(low, high, self._rules.limit_per_s, True, True)
            self._halve(has_passed)
        elif self._rate >= self._rules.limit_per_s:
            self.ending = Ending.LIMIT
        else:
            self._rate = min(2 * self._rate, self._rules.limit_per_s)

    def next_action(self) -> NextTrial | CapacityAnswer:
        if self.ending:
            return self.answer(self.ending)
        bracket = self._bracket
        return NextTrial(
            number=self._n_trials + 1,
            search=0 if self._first is None else len(self._results) + 1,
            rate_per_s=self._rate,
            low=bracket.low if bracket else max(self._passes, default=None),
            high=bracket.high if bracket else None,
            after_drain=self._has_just_failed,
        )

    def answer(self, ending: Ending) -> CapacityAnswer:
        """What is known now, when it ends like this."""
        below = min(self._failures, default=None)
        lower = [rate for rate in self._passes if below is None or rate < below]
        capacity = capacity_of(self._results)
        if capacity is None and self._first is not None:
            capacity = CapacityInterval(self._first, None, None, 0)
        drift, least = trend_of(self._results).drift, max(lower, default=None)
        searches = tuple(self._results)
        return CapacityAnswer(ending, capacity, least, below, searches, drift, RULE_VERSION)

    def _halve(self, has_passed: bool) -> None:
        """Go on in this bracket, or with the next search."""
        if has_passed and self._rate >= self._rules.limit_per_s:
            self.ending = Ending.LIMIT
            return
        resolution = FIRST_RESOLUTION if self._first is None else RESOLUTION
        rate = self._bracket.next_rate(resolution)
        if rate is None:
            low, high = self._bracket.low, self._bracket.high
            if self._first is None:
                self._first = sqrt(low * high)
            else:
                middle = (self._begun_at + self._n_trials) / 2
                self._results.append(SearchResult(low, high, middle))
            self._begun_at = self._n_trials + 1
            self.ending = self._ending_after_search()
            if not self.ending:
                # Its middle is shifted at random by up to half of what it reaches to either side.
                limit, search = self._rules.limit_per_s, len(self._results) + 1
                draw = np.random.default_rng((self._rules.seed, search)).uniform(-0.5, 0.5)
                centre = self._first * WINDOW**draw
                self._bracket = _Bracket(centre / WINDOW, min(centre * WINDOW, limit), limit)
                self._rate = self._bracket.next_rate(RESOLUTION)
        elif self._first and not self._first / _LOST < rate < self._first * _LOST:
            self.ending = Ending.DRIFTED
        else:
            self._rate = rate

    def _ending_after_search(self) -> Ending | None:
        n = len(self._results)
        if n < FEWEST_SEARCHES:
            return None
        trend, width = trend_of(self._results), capacity_of(self._results).width
        if trend.is_sure:
            return Ending.DRIFTED
        if width <= NARROW:
            return Ending.FOUND
        if n == MOST_SEARCHES:
            return Ending.DRIFTED if trend.is_suspected else Ending.FOUND
        is_worth_more = trend.is_suspected or width <= NEARLY_NARROW
        return Ending.FOUND if self._n_trials >= ENOUGH_TRIALS and not is_worth_more else None


@dataclass(slots=True)
class _Bracket:
    """Between two rates. An end that was not tried moves on when the search arrives there."""

    low: float
    high: float
    limit: float
    is_low_tried: bool = False
    is_high_tried: bool = False

    def take(self, rate: float, has_passed: bool) -> None:
        if has_passed:
            self.low, self.is_low_tried = rate, True
        else:
            self.high, self.is_high_tried = rate, True

    def next_rate(self, resolution: float) -> float | None:
        """None once it is narrow, and both ends were tried."""
        if log(self.high / self.low) <= log(1 + resolution):
            if self.is_low_tried and self.is_high_tried:
                return None
            if self.is_low_tried and self.high >= self.limit:
                return self.limit
            if self.is_low_tried:
                self.high = min(self.high * WINDOW, self.limit)
            else:
                self.low /= WINDOW
        return float(f"{sqrt(self.low * self.high):.5g}")


# Beyond the objective: signs that the target did not keep up with the rate.
NOT_KEPT_UP = ("no_success", SATURATED, "dropped", "sent_share", "in_flight_growing")
NOT_COMPLETE = "The trial did not run to its end."


def trial_of(
    rate_per_s: float,
    outcome: str | None,
    why: str,
    judgement: Judgement | None,
    verdicts: Sequence[Verdict],
) -> Trial:
    """`why`: the run's own reason. A trial passes if its run is complete, every rule of the
    objective is kept, and the target kept up: at least 99.9 % were sent, and requests in flight did
    not grow. A busy machine only adds to times, so what was kept in spite of it is kept; what it
    may have broken does not count, nor where nobody told what a rule about the machine needs."""
    if outcome != Outcome.COMPLETE or judgement is None:
        return Trial(rate_per_s, TrialResult.UNTRUSTED, why or NOT_COMPLETE)
    state = judgement.measurement.state
    if state == Trust.NO_ANSWER:
        return Trial(rate_per_s, TrialResult.UNTRUSTED, judgement.measurement.text)
    if untold := [each.metric for each in verdicts if each.lacks_agent]:
        why = f"No agent or exporter reported {' and '.join(untold)}."
        return Trial(rate_per_s, TrialResult.UNTRUSTED, why)
    broken = ", ".join(_text(each) for each in verdicts if each.is_broken)
    is_open = judgement.target.state is None or any(each.is_open for each in verdicts)
    is_open = is_open or any(each.code in UNSENT for each in judgement.measurement.reasons)
    if is_open and not broken:
        both_ends = [
            f"{_text(each)} as measured and {_beside_limit(each.at_least, each)} without the "
            "injector's part"
            for each in verdicts
            if each.is_open and each.at_least
        ]
        why = ", ".join(both_ends) or judgement.measurement.text
        return Trial(rate_per_s, TrialResult.UNTRUSTED, why)
    behind = [each.text for each in judgement.target.reasons if each.code in NOT_KEPT_UP]
    reason = broken or (behind[0] if behind else "")
    result = TrialResult.FAILED if broken or behind else TrialResult.PASSED
    return Trial(rate_per_s, result, reason)


def without_machine(trial: Trial, host: str) -> Trial:
    """For readers who may know neither the target's machine nor what it did."""
    reasons = [each for each in trial.reason.split(", ") if not each.startswith(TARGET_METRICS)]
    return replace(trial, reason=without_addresses(", ".join(reasons), host))


def _text(verdict: Verdict) -> str:
    """p95 758 ms"""
    return f"{verdict.metric} {_beside_limit(verdict.measured, verdict)}"


def _beside_limit(value: float | None, verdict: Verdict) -> str:
    if value is None:
        return DASH
    decimals = decimals_beside(value, verdict.limit, decimals_for([value]))
    return with_unit(number(value, decimals), verdict.unit)


class CapacityWord(StrEnum):
    MORE = "takes more"
    LESS = "takes less"
    SAME = "no practical difference"
    NOT_MORE = "does not take more"
    NOT_LESS = "does not take less"
    OPEN = "too close to call"


# By the word for a ratio, of which more is slower.
_CAPACITY_WORDS = {
    Word.SLOWER: CapacityWord.MORE,
    Word.FASTER: CapacityWord.LESS,
    Word.SAME: CapacityWord.SAME,
    Word.NOT_SLOWER: CapacityWord.NOT_MORE,
    Word.NOT_FASTER: CapacityWord.NOT_LESS,
    Word.OPEN: CapacityWord.OPEN,
}


def capacity_word(ratio: RatioInterval, threshold: float) -> CapacityWord:
    return _CAPACITY_WORDS[word_of(ratio.low, ratio.high, threshold)]


def has_kept_more(answer: CapacityAnswer, other: CapacityInterval | None) -> bool:
    """Whether a search kept a rate that is above the interval of another, whatever its own is."""
    if answer.ending == Ending.DRIFTED or other is None or other.high is None:
        return False
    return (answer.at_least or 0) > other.high


def capacity_ratio(baseline: CapacityInterval, candidate: CapacityInterval) -> RatioInterval | None:
    """None if one of them has no interval."""
    if baseline.high is None or candidate.high is None:
        return None
    ratio = candidate.rate_per_s / baseline.rate_per_s
    width = exp(hypot(*(log(each.high / each.rate_per_s) for each in (baseline, candidate))))
    k = min(baseline.n_searches, candidate.n_searches)
    return RatioInterval(ratio, ratio / width, ratio * width, k)
