"""Does the search for a capacity find a real one? Searches on loopback, each trial a run of our
injector that the product's own functions judge.

The limit of a token bucket is planted. That of a server which computes 4 ms for each request is
measured: the throughput of a closed load just before the search and just after it, their mean.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from random import Random
from statistics import median

from benchmarks.figures import GoalRow
from benchmarks.injected_run import measure
from benchmarks.judgement import judgement_of
from benchmarks.servers import free_ports, program
from campaigns.domain.judged.capacity import (
    CapacityAnswer,
    CapacitySearch,
    Ending,
    SearchRules,
    Trial,
    TrialResult,
)
from campaigns.domain.judged.capacity_trial import trial_of
from campaigns.domain.judged.thresholds import ThresholdJudge
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.threshold import parse_rule
from campaigns.domain.plan.trial_plan import trial_plan

SEARCHES = 20
_RATES = (200, 500, 1000)
_TRIAL_S, _SATURATED_S = 1.0, 2.0
_OBJECTIVE = "p95 < 15 ms"
_HIGHEST = 4  # times the limit
_GOAL = 0.90
_PLAN = {"steps": [{"path": "/"}], "load": {"model": "open", "rate_per_s": 1, "duration_s": 1}}
_SATURATING = {"model": "closed", "connections": 8, "duration_s": _SATURATED_S}


def title(searches: int) -> str:
    return (
        f"Search for a capacity, {searches} real searches each: {_OBJECTIVE}, trials of "
        f"{_TRIAL_S:g} s, injector and server on a core of their own"
    )


@dataclass(frozen=True, slots=True)
class Searched:
    """A real search: its answer, the true limit and what came of each trial."""

    answer: CapacityAnswer
    limit_per_s: float
    results: Counter[TrialResult]

    @property
    def contains_it(self) -> bool:
        found = self.answer.capacity
        if self.answer.ending != Ending.FOUND:
            return False
        return found.low <= self.limit_per_s <= found.high


def measure_all(searches: int = SEARCHES) -> Iterator[GoalRow]:
    for rate in _RATES:
        (port,) = free_ports(1)
        with program("benchmarks.limited_target", str(rate), str(port), port=port, core=1):
            found = [_search(port, rate, k) for k in range(searches)]
        yield row(f"token bucket, {rate:,}/s", found)
    (port,) = free_ports(1)
    with program("benchmarks.bad_target", "saturated", str(port), port=port, core=1):
        found = [_search_between(port, k) for k in range(searches)]
    yield row("computes 4 ms for each request", found)


def _search_between(port: int, seed: int) -> Searched:
    """Of a server whose limit is measured before and after."""
    before = _throughput(port)
    found = _search(port, before, seed)
    return Searched(found.answer, sqrt(before * _throughput(port)), found.results)


def _throughput(port: int) -> float:
    seen = measure({**_PLAN, "load": _SATURATING}, port)
    return seen.total.count("ok") / seen.duration_s


def _search(port: int, limit_per_s: float, seed: int) -> Searched:
    start = limit_per_s * Random(seed).uniform(0.1, 0.6)
    search = CapacitySearch(SearchRules(start, _HIGHEST * limit_per_s, seed))
    results: Counter[TrialResult] = Counter()
    while not isinstance(action := search.next_action(), CapacityAnswer):
        trial = _trial(port, action.rate_per_s)
        results[trial.result] += 1
        search.take(trial)
    return Searched(action, limit_per_s, results)


def _trial(port: int, rate_per_s: float) -> Trial:
    plan = trial_plan(Plan.from_json(_PLAN), rate_per_s, _TRIAL_S, [parse_rule(_OBJECTIVE)])
    seen = measure(plan.to_json(), port)
    verdicts = ThresholdJudge(plan.thresholds).verdicts(seen.total, seen.duration_s)
    return trial_of(rate_per_s, Outcome.COMPLETE, "", judgement_of(seen), verdicts)


def row(name: str, found: list[Searched]) -> GoalRow:
    """Contained counts among all searches, however they ended."""
    contained = sum(each.contains_it for each in found)
    trials = median(each.results.total() for each in found)
    doubtful = sum(each.results[TrialResult.UNTRUSTED] for each in found)
    text = f"contained {contained} of {len(found)}, {trials:g} trials, {doubtful} not counted"
    widths = [each.answer.capacity.width for each in found if each.answer.ending == Ending.FOUND]
    if widths:
        text += f", {median(widths):.1%} wide"
    others = Counter(each.answer.ending for each in found if each.answer.ending != Ending.FOUND)
    text += "".join(f", {n} {ending}" for ending, n in others.items())
    return GoalRow(name, text, f"≥ {_GOAL:.0%}", contained >= _GOAL * len(found))
