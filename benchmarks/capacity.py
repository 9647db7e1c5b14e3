"""Does the search for a capacity find it? Simulated targets, by the product's own rule.

A trial passes below the target's capacity at that moment: 1,000 requests/s times a lognormal noise
of the trial. The truth is the capacity without noise, on average over the repeated searches.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp, log
from statistics import median

import numpy as np

from benchmarks.figures import GoalRow
from benchmarks.words import alike
from campaigns.domain.analysis.capacity import (
    CapacityAnswer,
    CapacitySearch,
    Ending,
    SearchRules,
    Trial,
    TrialResult,
)

TRIALS = 2_000
TITLE = f"Search for a capacity, by simulation: {TRIALS:,} searches a cell"
CAPACITY = 1_000.0
_SPREADS = (0.01, 0.03, 0.05, 0.10)
_STARTS = (30.0, 500.0)
_DRIFT_TRIALS = 40  # in how many trials the whole drift happens
_LONGEST = 400
_LEAST_COVERED, _WIDEST, _MOST_TRIALS = 0.90, 0.10, 40
_WIDTH_COUNTS_TO = 0.05


@dataclass(frozen=True, slots=True)
class CapacityCase:
    """Targets whose capacity drifts evenly by a share within 40 trials, whose trials resemble their
    neighbours by `alike` (AR 1), and whose knee is soft: p95 = b / (1 − rate / 2,000) against 2 b,
    with the noise on p95."""

    drift: float = 0.0
    alike: float = 0.0
    is_soft: bool = False


_CASES = {
    "steady": CapacityCase(),
    "drift of +5 %": CapacityCase(drift=0.05),
    "drift of +20 %": CapacityCase(drift=0.20),
    "drift of −20 %": CapacityCase(drift=-0.20),
    "neighbours alike, AR 0.5": CapacityCase(alike=0.5),
    "neighbours alike, AR 0.8": CapacityCase(alike=0.8),
    "soft knee": CapacityCase(is_soft=True),
    "soft knee, AR 0.8": CapacityCase(alike=0.8, is_soft=True),
}


@dataclass(frozen=True, slots=True)
class Simulated:
    answer: CapacityAnswer
    truth: float
    n_trials: int


def measure() -> Iterator[GoalRow]:
    for name, case in _CASES.items():
        for spread in _SPREADS:
            yield _cell(name, case, spread)


def simulated(case: CapacityCase, spread: float, n: int, seed: int = 20_261_122) -> list[Simulated]:
    source = np.random.default_rng(seed)
    starts = np.exp(source.uniform(*map(log, _STARTS), n))
    noises = alike(n, _LONGEST, case.alike, source) * spread
    return [_search(case, starts[k], noises[k].tolist(), k) for k in range(n)]


def _search(case: CapacityCase, start: float, noise: list[float], seed: int) -> Simulated:
    search = CapacitySearch(SearchRules(start, 100 * CAPACITY, seed))
    n = n_first = 0
    while not isinstance(action := search.next_action(), CapacityAnswer):
        n_first += action.search == 0
        has_passed = _passes(case, action.rate_per_s / _capacity(case, n), noise[n])
        result = TrialResult.PASSED if has_passed else TrialResult.FAILED
        search.take(Trial(action.rate_per_s, result))
        n += 1
    logs = [log(_capacity(case, k)) for k in range(n_first, n)]
    return Simulated(action, exp(sum(logs) / len(logs)) if logs else CAPACITY, n)


def _capacity(case: CapacityCase, trial: int) -> float:
    return CAPACITY * (1 + case.drift) ** (trial / _DRIFT_TRIALS)


def _passes(case: CapacityCase, load: float, noise: float) -> bool:
    """`load`: the rate as a share of the capacity."""
    if not case.is_soft:
        return log(load) < noise
    return load < 2 and -log(1 - load / 2) + noise < log(2)


def _cell(name: str, case: CapacityCase, spread: float) -> GoalRow:
    searches = simulated(case, spread, TRIALS)
    found = [each for each in searches if each.answer.ending == Ending.FOUND]
    trials = median(each.n_trials for each in searches)
    goal = f"≥ {_LEAST_COVERED:.0%}, ≤ {_MOST_TRIALS}"
    title = f"{name}, spread {spread:.0%}"
    if not found:
        return GoalRow(title, f"{trials:g} trials, 100.0% not steady", goal, trials <= _MOST_TRIALS)
    covered = sum(
        each.answer.capacity.low <= each.truth <= each.answer.capacity.high for each in found
    ) / len(found)
    width = median(each.answer.capacity.width for each in found)
    is_narrow = width <= _WIDEST or spread > _WIDTH_COUNTS_TO
    return GoalRow(
        title,
        f"covered {covered:.1%}, {width:.1%} wide, {trials:g} trials, "
        f"{1 - len(found) / len(searches):.1%} not steady",
        goal if spread > _WIDTH_COUNTS_TO else f"{goal}, ≤ {_WIDEST:.0%}",
        covered >= _LEAST_COVERED and is_narrow and trials <= _MOST_TRIALS,
    )
