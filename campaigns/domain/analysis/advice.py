"""How many more repeats would settle a comparison, with what probability: simulated by the rule.

Future runs are drawn with the spread of the existing runs, including its uncertainty; the verdict
rule is then applied to both together. The true difference is unknown, so two cases are simulated:
no difference, and a clear one of twice the threshold.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from math import expm1, log

import numpy as np

from campaigns.domain.analysis.ratio import (
    RatioInterval,
    difference,
    is_clear,
    is_same,
    standard_error,
    wild_index,
)
from campaigns.domain.special import t_quantile, t_reach
from campaigns.domain.units import decimals_for, percent

CHANCE = 0.8
_MORE = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 130, 170, 220, 300, 400)
MOST = _MORE[-1]
_LANDINGS = range(3, len(_MORE), 4)
_TRIALS = 400
# Comparisons without a verdict tend to show more spread than usual. Without an extra degree of
# freedom for that, repeats advised for 80 % would settle 95 % where runs vary by 3 %.
_TRUSTED_MORE = 1
_SMALL = 0.02  # a difference from here on is told in whole percent
_SEED = 20_261_122  # arbitrary but fixed, so that the same figures give the same advice


@dataclass(frozen=True, slots=True)
class Advice:
    """`more` blocks (or repeats of each arm) settle it with this `chance` if the arms differ by
    `difference`, a share: 0.0 is not at all. `more` None: not even 400 would."""

    difference: float
    more: int | None
    chance: float


def difference_words(each: Advice) -> str:
    """Such as 10 %, or 0.4 % of a small threshold."""
    size = abs(each.difference)
    few = decimals_for([100 * size], digits=2)
    return percent(size, decimals=0 if size >= _SMALL else few)


def advice(interval: RatioInterval, threshold: float) -> tuple[Advice, ...]:
    """One Advice per difference that the interval leaves open: none, and twice the threshold."""
    sign = 1 if interval.ratio >= 1 else -1
    clear = sign * log(1 + 2 * threshold)
    inside = [truth for truth in (0.0, clear) if (log(interval.low) <= truth <= log(interval.high))]
    return tuple(_advice(interval.logs, truth, threshold) for truth in inside)


@lru_cache(maxsize=512)
def _advice(logs: tuple[tuple[float, ...], ...], truth: float, threshold: float) -> Advice:
    arms = _arms_to_come(logs, truth)

    @cache
    def chance_of(rung: int) -> float:
        centre, variance, df = difference([arm.with_more(_MORE[rung]) for arm in arms])
        width = _t_of(df) * standard_error(variance)
        low, high, ratio = np.exp(centre - width), np.exp(centre + width), np.exp(centre)
        settled = is_same(low, high, threshold) | is_clear(low, high, ratio, threshold)
        return float(settled.mean())

    told, last = float(np.expm1(truth)), len(_MORE) - 1
    # Large numbers are the slowest to simulate: tried only if small ones are not enough.
    above = next((rung for rung in (*_LANDINGS, last) if chance_of(rung) >= CHANCE), None)
    if above is None:
        return Advice(told, None, chance_of(last))
    below = max((rung for rung in _LANDINGS if rung < above), default=-1)
    while above - below > 1:
        middle = (below + above) // 2
        if chance_of(middle) >= CHANCE:
            above = middle
        else:
            below = middle
    return Advice(told, _MORE[above], chance_of(above))


def _t_of(df: np.ndarray) -> np.ndarray:
    """The 97.5 % quantile of Student's t: exact for whole df below 10, else expanded (to 3e-5)."""
    few = np.array([0.0, *(t_quantile(0.975, float(each)) for each in range(1, 10))])
    z, many = 1.959964, np.maximum(df, 10)
    expanded = (
        z
        + (z**3 + z) / (4 * many)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * many**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * many**3)
    )
    return np.where(df < 10, few[np.minimum(df, 9).astype(int)], expanded)


class _ArmToCome:
    """The existing logs of an arm, and simulated ones around `mean`, drawn as far as somebody asks:
    most advice needs only a few."""

    def __init__(self, there: np.ndarray, mean: float, df: int, source: np.random.Generator):
        clean = _drop_outlier(there)
        around = mean if df == len(clean) else clean.mean()
        squares = ((clean - around) ** 2).sum()
        self._spread = np.sqrt(squares / source.chisquare(df + _TRUSTED_MORE, (_TRIALS, 1)))
        self._mean, self._n, self._source = mean, len(there), source
        self._rows = np.broadcast_to(there, (_TRIALS, len(there)))

    def with_more(self, more: int) -> np.ndarray:
        """A row for each trial, of the existing logs and so many more."""
        missing = self._n + more - self._rows.shape[1]
        if missing > 0:
            drawn = self._source.standard_normal((_TRIALS, missing))
            self._rows = np.hstack([self._rows, self._mean + self._spread * drawn])
        return self._rows[:, : self._n + more]


def _arms_to_come(logs: tuple[tuple[float, ...], ...], truth: float) -> list[_ArmToCome]:
    """Each arm has random numbers of its own, so that it does not matter who draws first."""
    arms = [np.array(arm) for arm in logs]
    return [
        _ArmToCome(arm, mean, df, np.random.default_rng([_SEED, number]))
        for number, (arm, (mean, df)) in enumerate(zip(arms, _means(arms, truth), strict=True))
    ]


def _means(arms: Sequence[np.ndarray], truth: float) -> list[tuple[float, int]]:
    """Each arm's mean of future runs, and the χ² degrees of freedom of its known spread."""
    clean = [_drop_outlier(arm) for arm in arms]
    if len(arms) == 1:
        return [(truth, len(clean[0]))]
    a, b = (float(arm.mean()) for arm in clean)
    var_a, var_b = (float(arm.var(ddof=1)) / len(arm) for arm in clean)
    missing = truth - (b - a)
    from_b = var_b / (var_a + var_b) if var_a + var_b else 0.5
    means = a - missing * (1 - from_b), b + missing * from_b
    return [(mean, len(arm) - 1) for mean, arm in zip(means, clean, strict=True)]


def _drop_outlier(arm: np.ndarray) -> np.ndarray:
    index = wild_index(tuple(arm))
    return arm if index is None else np.delete(arm, index)


_POWER = 0.8


def smallest_shown(interval: RatioInterval) -> float:
    """The smallest true difference, as a share, whose interval would have excluded 0 with the
    probability `_POWER`: exp((t_0.975 + t_power) · se) − 1, with the interval's own standard error
    and degrees of freedom.
    """
    beyond = t_reach(interval.df) + t_quantile(_POWER, interval.df)
    return expm1(beyond * interval.se)
