"""A ratio from many log ratios, with an interval that assumes nothing about the noise in them.

Hodges and Lehmann's centre with Wilcoxon's signed rank (Hollander and Wolfe, 3.2 and 3.4). Where
the order within each round was drawn, every deviation is as likely above as below, so the interval
holds exactly, for whatever noise: bursts, stalls, drift, neighbours that resemble each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, log, sqrt

import numpy as np

from campaigns.domain.analysis.ratio import RatioInterval
from campaigns.domain.special import t_quantile, t_two_sided

_COUNTED_UP_TO = 60
_LIKE_NORMAL = 1e7  # degrees of freedom


@dataclass(frozen=True, slots=True)
class Ratio:
    """`confidence` is what the interval really has: less than asked for with very few rounds."""

    value: float
    low: float
    high: float
    n: int
    confidence: float

    @property
    def half_width(self) -> float:
        """On the log scale; infinite where there is no bound."""
        return log(self.high / self.low) / 2 if self.low > 0 and self.high < inf else inf

    def overlaps(self, other: "Ratio") -> bool:
        return self.low <= other.high and other.low <= self.high


@lru_cache(maxsize=1024)
def signed_rank(n: int, confidence: float) -> int:
    """k: from the k-th smallest to the k-th largest mean of two of n deviations is the interval. 0
    where n is too small for this confidence."""
    tail, n_pairs = (1 - confidence) / 2, n * (n + 1) // 2
    if n > _COUNTED_UP_TO:
        reach = t_quantile(1 - tail, _LIKE_NORMAL)
        return max(0, int(n_pairs / 2 - reach * sqrt(n_pairs * (2 * n + 1) / 12)))
    ways = np.zeros(n_pairs + 1)
    ways[0] = 1.0
    for rank in range(1, n + 1):
        ways[rank:] += ways[:-rank].copy()
    return int(np.searchsorted(np.cumsum(ways) / 2.0**n, tail, side="right"))


def rank_ratio(
    logs: Sequence[float],
    confidence: float,
    lows: Sequence[float] | None = None,
    highs: Sequence[float] | None = None,
) -> Ratio | None:
    """None with fewer than two. `lows` and `highs`: the least and the most that each log ratio may
    be; the interval then holds whatever they are."""
    n = len(logs)
    if n < 2:
        return None
    k = signed_rank(n, confidence)
    if not k:
        # All of the means leave out only what is all above, or all below.
        k, confidence = 1, 1 - 2.0 ** (1 - n)
    means = _means_of_pairs(logs)
    below = means if lows is None else _means_of_pairs(lows)
    above = means if highs is None else _means_of_pairs(highs)
    middle = (means[(len(means) - 1) // 2] + means[len(means) // 2]) / 2
    return Ratio(exp(middle), exp(below[k - 1]), _exp(above[-k]), n, confidence)


def _means_of_pairs(values: Sequence[float]) -> np.ndarray:
    each = np.asarray(values, dtype=np.float64)
    first, second = _pairs_of(len(each))
    return np.sort((each[first] + each[second]) / 2)


@lru_cache(maxsize=4)  # of 400 rounds 1.3 MB
def _pairs_of(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(n)


def _exp(value: float) -> float:
    return exp(value) if value < 700 else inf


def as_interval(
    ratio: Ratio, baseline: float, candidate: float, confidence: float
) -> RatioInterval:
    """Around the geometric mean of two figures, so that the quotient of its two is the ratio.
    `confidence`: of all looks together, where each has had more."""
    centre, half = sqrt(baseline * candidate), sqrt(ratio.value)
    se = ratio.half_width / t_quantile((1 + ratio.confidence) / 2, _LIKE_NORMAL)
    z = log(ratio.value) / se if 0 < se < inf else 0.0
    return RatioInterval(
        centre / half,
        centre * half,
        ratio.value,
        ratio.low,
        ratio.high,
        se,
        df=ratio.n - 1.0,
        k=ratio.n,
        p_value=t_two_sided(z, _LIKE_NORMAL),
        is_paired=True,
        confidence=min(confidence, ratio.confidence),
    )


def ratio_of_sums(
    before: Sequence[float], after: Sequence[float], confidence: float
) -> Ratio | None:
    """Σ after / Σ before over rounds, by the delta method: one stall may be half of a sum, so this
    interval is wide where the median's is narrow. None with fewer than two."""
    a, b = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    n = len(a)
    if n < 2 or not a.sum() or not b.sum():
        return None
    value = float(b.sum() / a.sum())
    deviations = (b - value * a) / a.mean() / value
    error = float(deviations.std(ddof=1)) / sqrt(n)
    reach = t_quantile((1 + confidence) / 2, n - 1) * error
    return Ratio(value, value * exp(-reach), value * _exp(reach), n, confidence)
