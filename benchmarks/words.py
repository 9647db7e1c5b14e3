"""Are the words right? Simulated campaigns, judged by the product's own functions.

A word is false if it says faster or slower of equal arms. 2,000 campaigns a cell; a cell that
misses its goal is simulated again with 20,000 others, which tell bad luck from a fault.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from benchmarks import words_side_by_side
from benchmarks.figures import GoalRow
from campaigns.domain.analysis.changes import steadiness
from campaigns.domain.analysis.ratio import RatioInterval, Word, ratio_interval, word_of
from campaigns.domain.plan.turns import order_of_runs

TITLE = "Words, by simulation: runs of 20 ms, practical threshold 5 %, 2,000 campaigns a cell"
TRIALS, AGAIN = 2_000, 20_000
_THRESHOLD = 0.05
_BASE_US = 20_000.0
_ORDERS = 500
_CVS, _REPEATS = (0.01, 0.03, 0.05, 0.10), (3, 5, 10)
_MOST_FALSE, _LEAST_COVERED = 0.05, 0.93
_SECONDS, _RHOS = (30, 60, 120, 600), (0.0, 0.5, 0.8)


@dataclass(frozen=True, slots=True)
class StudyCase:
    """A kind of campaign of two arms.

    `cv`: by how much runs vary, with the autocorrelation `rho` from run to run. On top of that
    `drift` is the size of a slow AR(1) drift (ρ 0.8), `rise` by how much times rise evenly from
    the first run to the last. One run of the candidate takes `stall` times as long; `n_missing`
    of its runs are not there.
    """

    cv: float = 0.03
    k: int = 5
    effect: float = 1.0
    rho: float = 0.0
    drift: float = 0.0
    rise: float = 0.0
    stall: float = 1.0
    n_missing: int = 0
    is_paired: bool = True


_EQUAL_ARMS = {
    "independent": StudyCase(),
    "AR(1), ρ 0.5": StudyCase(rho=0.5),
    "AR(1), ρ 0.8": StudyCase(rho=0.8),
    "AR(1) drift on top": StudyCase(drift=0.03),
    "linear drift to +50 %": StudyCase(rise=0.5),
    **{f"one run × {stall:g}": StudyCase(stall=stall) for stall in (1.5, 3, 80, 1000)},
}
_SLOWER_BY_A_TENTH = {
    "+10 %, CV 3 %, k = 5": (StudyCase(), 0.90),
    "… and AR(1) drift on top": (StudyCase(drift=0.03), 0.85),
    "… and one run missing": (StudyCase(n_missing=1), 0.80),
    "… not paired": (StudyCase(is_paired=False), 0.90),
}


def measure() -> Iterator[GoalRow]:
    source = np.random.default_rng(20_261_122)
    for name, case in _EQUAL_ARMS.items():
        for is_paired in (True, False):
            yield _equal_arms(name, replace(case, is_paired=is_paired), source)
    for name, (case, goal) in _SLOWER_BY_A_TENTH.items():
        yield _slower(name, replace(case, effect=1.1), goal, source)
    yield from _steady(source)
    yield from words_side_by_side.measure()


def _equal_arms(name: str, kind: StudyCase, source: np.random.Generator) -> GoalRow:
    """The worst of all spreads and numbers of repeats."""
    cells = [
        (*_false_and_covered(replace(kind, cv=cv, k=k), source), f"CV {cv:.0%}, k = {k}")
        for cv in _CVS
        for k in _REPEATS
    ]
    false, _, where = max(cells)
    covered = min(cell[1] for cell in cells)
    return GoalRow(
        f"A = A, {name}, {'paired' if kind.is_paired else 'not paired'}",
        f"{false:.1%} false words at worst ({where}), coverage ≥ {covered:.1%}",
        f"≤ {_MOST_FALSE:.0%}, ≥ {_LEAST_COVERED:.0%}",
        false <= _MOST_FALSE and covered >= _LEAST_COVERED,
    )


def _false_and_covered(case: StudyCase, source: np.random.Generator) -> tuple[float, float]:
    for n in (TRIALS, AGAIN):
        arms = _arms(case, n, source)
        intervals = [_interval(*each, is_paired=case.is_paired) for each in arms]
        false = sum(_word(each) in {Word.FASTER, Word.SLOWER} for each in intervals) / n
        covered = sum(each.low <= 1 <= each.high for each in intervals) / n
        if false <= _MOST_FALSE and covered >= _LEAST_COVERED:
            break
    return false, covered


def _slower(name: str, case: StudyCase, goal: float, source: np.random.Generator) -> GoalRow:
    for n in (TRIALS, AGAIN):
        slower = [_word(each) is Word.SLOWER for each in _campaigns(case, n, source)]
        share = sum(slower) / n
        if share >= goal:
            break
    return GoalRow(name, f"{share:.1%} called slower", f"≥ {goal:.0%}", share >= goal)


def _word(interval: RatioInterval) -> Word:
    return word_of(interval.low, interval.high, _THRESHOLD)


def _campaigns(case: StudyCase, n: int, source: np.random.Generator) -> Iterator[RatioInterval]:
    """The comparisons of n campaigns."""
    for arms in _arms(case, n, source):
        there = np.sort(source.permutation(case.k)[case.n_missing :])
        if case.is_paired:
            yield _interval(*arms[:, there], is_paired=True)
        else:
            yield _interval(arms[0], arms[1, there], is_paired=False)


def _arms(case: StudyCase, n: int, source: np.random.Generator) -> np.ndarray:
    """The runs of n campaigns, µs: [campaign, arm, block], made in counterbalanced order."""
    took = _BASE_US * np.exp(_noise(case, n, source))
    places = np.array([_places(case.k, each) for each in source.integers(_ORDERS, size=n)])
    arms = took[np.arange(n)[:, None, None], places]
    arms[:, 1] *= case.effect
    arms[np.arange(n), 1, source.integers(case.k, size=n)] *= case.stall
    return arms


@cache
def _places(k: int, seed: int) -> np.ndarray:
    """At which place of its campaign each run of both arms is made, by block."""
    places = np.empty((2, k), dtype=int)
    for turn in order_of_runs(2, k, is_random=True, seed=seed):
        places[turn.test, turn.repeat - 1] = turn.position - 1
    return places


def _noise(case: StudyCase, n: int, source: np.random.Generator) -> np.ndarray:
    """What is added to the logarithms of the 2 k runs of n campaigns, in the order of time."""
    places = np.arange(2 * case.k)
    noise = alike(n, 2 * case.k, case.rho, source) * case.cv
    noise += alike(n, 2 * case.k, 0.8, source) * case.drift
    return noise + np.log(1 + case.rise * places / places[-1])


def alike(n: int, length: int, rho: float, source: np.random.Generator) -> np.ndarray:
    """n stationary AR(1) series of standard deviation 1."""
    series = source.standard_normal((length, n))
    for at in range(1, length):
        series[at] = rho * series[at - 1] + np.sqrt(1 - rho**2) * series[at]
    return series.T


def _interval(baseline: np.ndarray, candidate: np.ndarray, *, is_paired: bool) -> RatioInterval:
    found = ratio_interval(baseline.tolist(), candidate.tolist(), paired=is_paired)
    assert found is not None
    return found


def _steady(source: np.random.Generator) -> Iterator[GoalRow]:
    for rho in _RHOS:
        shares = {}
        for n in _SECONDS:
            noise = 0.1 * alike(TRIALS, n, rho, source)
            shares[n] = np.mean([_is_unsteady(each) for each in noise])
        yield GoalRow(
            f"stationary, sd 10 %, ρ {rho:g}, 30, 60, 120, 600 s",
            f"{', '.join(f'{share:.1%}' for share in shares.values())} said to change",
            "≤ 5 %",
            max(shares.values()) <= 0.05,
        )


def _is_unsteady(noise: np.ndarray) -> bool:
    found = steadiness(_BASE_US * np.exp(noise))
    return bool(found and found.steady_from)
