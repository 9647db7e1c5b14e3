"""Repeats of one test, the ratio B / A of two sides with its interval, and the words for it.

A run is the unit of replication: it gives one value per metric, and means, intervals and flags are
over those values. Pooled values (min of min, max of max, percentiles of all requests) come from
merged totals instead.

The ratio from runs, on logarithms: Student's t over the blocks' log ratios (paired), Welch's t over
the arms' logs (not paired). One wild run then widens the interval as much as it moves its centre (t
stays about 1), so it can hide a difference but not create one. Error rates and power of the
verdicts: docs/measuring.md, `make benchmark ARGS=words`.

From rounds: Hodges and Lehmann's centre with Wilcoxon's signed rank (Hollander and Wolfe, 3.2 and
3.4). Where the order within each round was drawn, every deviation is as likely above as below, so
the interval holds exactly, for whatever noise: bursts, stalls, drift, neighbours that resemble each
other."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import lru_cache
from math import ceil, erfc, exp, expm1, fsum, inf, log, log1p, sqrt
from statistics import fmean, median, stdev, variance
from typing import Any

import numpy as np

from campaigns.domain.analysis.changes import CampaignNoise
from campaigns.domain.percentiles import t_quantile, t_reach, t_two_sided

MIN_REPEATS = 3  # below this there is no verdict
_MAD_LIMIT = 3.5
_OUTLIER_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class MeanInterval:
    """A mean over k runs; the 95 % t interval is None for a single run."""

    mean: float
    k: int = 0
    low: float | None = None
    high: float | None = None
    cv: float | None = None

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Those that are told; (None, None) with fewer than three runs."""
        return (None, None) if self.k < MIN_REPEATS else (self.low, self.high)


def mean_interval(values: Sequence[float], *, is_signed: bool = False) -> MeanInterval:
    """The mean of run-level values and its interval between runs. `values` is not empty.

    Of few and unsteady runs it would reach below 0, which no time, rate or amount does: it is then
    one of logarithms. Of differences (`is_signed`) it may.
    """
    centre, k = fmean(values), len(values)
    if k < 2:
        return MeanInterval(centre, k)
    sd = sqrt(fsum((value - centre) ** 2 for value in values) / (k - 1))
    half = t_reach(k - 1) * sd / sqrt(k)
    low, high = centre - half, centre + half
    if low < 0 and not is_signed:
        low, high = _ends(centre, values) if min(values) > 0 else (0.0, high)
    return MeanInterval(centre, k, low, high, sd / centre if centre else None)


def typical_interval(values: Sequence[float]) -> MeanInterval:
    """The geometric mean of run-level values above 0: of two tests with equally many runs they
    divide out to the ratio of their comparison."""
    centre, k = exp(fsum(map(log, values)) / len(values)), len(values)
    return MeanInterval(centre, k, *(_ends(centre, values) if k > 1 else ()))


def _ends(centre: float, values: Sequence[float]) -> tuple[float, float]:
    width = t_reach(len(values) - 1) * stdev(map(log, values)) / sqrt(len(values))
    return centre * exp(-width), centre * exp(width)


def outlier_flags(values: Sequence[float]) -> list[bool]:
    """Flags runs that are off the median by 3.5 robust deviations and 5 %. Removes none."""
    middle = median(values)
    mad = median([abs(value - middle) for value in values])
    return [
        middle > 0
        and abs(value / middle - 1) > _OUTLIER_SHARE
        and 0.6745 * abs(value - middle) > _MAD_LIMIT * mad
        for value in values
    ]


def one_request_explains(
    means: Sequence[float], counts: Sequence[int], maxima: Sequence[float], row: int
) -> bool:
    """Whether row's average is above the others', and without its slowest request within 5 % of
    them, and off by less than half as much."""
    others = [value for index, value in enumerate(means) if index != row]
    if not others or counts[row] < 2:
        return False
    usual, n = median(others), counts[row]
    rest = (means[row] * n - maxima[row]) / (n - 1)
    return abs(rest - usual) <= min(_OUTLIER_SHARE * usual, (means[row] - usual) / 2)


_COARSE = 0.02  # a clock step of at least this share of the mean widens the interval
# Neighbouring runs are correlated, which makes plain t slightly overconfident in counterbalanced
# blocks: with autocorrelation of 0.3 to 0.5 it gives 5.9 % false verdicts instead of 5.
_NEIGHBOURS_ALIKE = 1.07
_POWER = 0.8
_COUNTED_UP_TO = 60
_LIKE_NORMAL = 1e7  # degrees of freedom


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """candidate / baseline with its interval on the log scale.

    `k`: runs of the smaller arm, or rounds. `confidence` is what the interval really has: of very
    few rounds less than was asked for. `se`: standard error of the log ratio, with `df` degrees of
    freedom. `baseline`, `candidate`: geometric means, whose quotient is `ratio`; 1 and the ratio of
    rounds, until they are `around` two figures.
    """

    ratio: float
    low: float
    high: float
    k: int
    confidence: float = 0.95
    se: float = 0.0
    df: float = inf
    p_value: float = 1.0
    is_paired: bool = True
    baseline: float = 1.0
    candidate: float = 1.0
    is_of_campaigns: bool = False  # as wide as earlier campaigns differ, which no longer pass mends

    @property
    def half_width(self) -> float:
        """On the log scale; infinite where there is no bound."""
        return log(self.high / self.low) / 2 if self.low > 0 and self.high < inf else inf

    def overlaps(self, other: "RatioInterval") -> bool:
        return self.low <= other.high and other.low <= self.high

    def centred(self, ratio: float) -> "RatioInterval":
        """As wide, around another estimate of the same ratio."""
        shift = ratio / self.ratio
        return replace(self, ratio=ratio, low=self.low * shift, high=self.high * shift)

    def between_campaigns(self, noise: CampaignNoise, sizes: Sequence[int]) -> "RatioInterval":
        """At least as wide as campaigns differ by themselves. `sizes`: the campaigns of baseline
        and candidate."""
        se = noise.sd * sqrt(sum(1 / n for n in sizes))
        if se <= self.se:
            return self
        ends = [self.ratio * exp(sign * t_reach(noise.df) * se) for sign in (-1, 1)]
        p_value = t_two_sided(log(self.ratio) / se, noise.df)
        wider = dict(zip(("low", "high"), ends, strict=True), se=se, df=noise.df, p_value=p_value)
        return replace(self, **wider, is_of_campaigns=True)

    def around(self, baseline: float, candidate: float, confidence: float) -> "RatioInterval":
        """Around the geometric mean of two figures, so that the quotient of its two is the ratio.
        `confidence`: of all looks together, where each has had more."""
        centre, half = sqrt(baseline * candidate), sqrt(self.ratio)
        level = min(confidence, self.confidence)
        return replace(self, baseline=centre / half, candidate=centre * half, confidence=level)


def ratio_interval(
    baseline: Sequence[float],
    candidate: Sequence[float],
    *,
    paired: bool,
    resolutions: Sequence[float] = (0.0, 0.0),
) -> RatioInterval | None:
    """The ratio of two sets of run-level values (each in the order of the blocks).

    Paired needs equally many values in both. `resolutions` are the step sizes of each arm's
    values. None with fewer than two runs in an arm, or a value that is not above 0.
    """
    arms = (baseline, candidate)
    if min(map(len, arms)) < 2 or min(map(min, arms)) <= 0:
        return None
    # Sorted, so that the order of the runs does not affect the last digit.
    logs = [sorted(map(log, arm)) for arm in arms]
    means = [exp(fsum(each) / len(each)) for each in logs]
    if paired:
        ratios = sorted(log(b / a) for a, b in zip(*arms, strict=True))
        centre, spread, df = fmean(ratios), variance(ratios) / len(ratios), len(ratios) - 1.0
    else:
        centre, spread, df = _welch(*logs)
    # The variance that rounding to steps of the resolution adds to the log ratio.
    guard = sum(
        (step / mean) ** 2 / 12 / len(values)
        for values, step, mean in zip(arms, resolutions, means, strict=True)
        if spread == 0 or step > _COARSE * mean
    )
    se = _NEIGHBOURS_ALIKE * (spread + guard) ** 0.5
    width, ratio = t_reach(df) * se, exp(centre)
    return RatioInterval(
        ratio,
        ratio * exp(-width),
        ratio * exp(width),
        k=min(map(len, arms)),
        se=se,
        df=df,
        p_value=t_two_sided(centre / se, df) if se else float(ratio == 1),
        is_paired=paired,
        baseline=means[0],
        candidate=means[1],
    )


def _welch(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """The difference of the means, its variance, and Welch's degrees of freedom."""
    var_a, var_b = (variance(each) / len(each) for each in (a, b))
    whole = var_a + var_b
    df_a, df_b = len(a) - 1, len(b) - 1
    df = whole**2 / (var_a**2 / df_a + var_b**2 / df_b) if whole else df_a + df_b
    return fmean(b) - fmean(a), whole, float(df)


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
) -> RatioInterval | None:
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
    return _of_rounds(exp(middle), exp(below[k - 1]), _exp(above[-k]), n, confidence)


def _of_rounds(ratio: float, low: float, high: float, n: int, confidence: float) -> RatioInterval:
    interval = RatioInterval(ratio, low, high, n, confidence, df=n - 1.0, candidate=ratio)
    se = interval.half_width / t_quantile((1 + confidence) / 2, _LIKE_NORMAL)
    z = log(ratio) / se if 0 < se < inf else 0.0
    return replace(interval, se=se, p_value=erfc(abs(z) / sqrt(2)))


def _means_of_pairs(values: Sequence[float]) -> np.ndarray:
    each = np.asarray(values, dtype=np.float64)
    first, second = _pairs_of(len(each))
    return np.sort((each[first] + each[second]) / 2)


_pairs_of = lru_cache(maxsize=4)(np.triu_indices)  # of 400 rounds 1.3 MB


def _exp(value: float) -> float:
    return exp(value) if value < 700 else inf


def ratio_of_sums(
    before: Sequence[float], after: Sequence[float], confidence: float
) -> RatioInterval | None:
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
    return _of_rounds(value, value * exp(-reach), value * _exp(reach), n, confidence)


class Word(StrEnum):
    """Of times: what the interval says. OPEN: it reaches beyond the threshold on both sides."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "no practical difference"
    NOT_SLOWER = "not slower"
    NOT_FASTER = "not faster"
    OPEN = "too close to call"


CLEAR = frozenset({Word.SLOWER, Word.FASTER})
# Each says what was learnt, but not which is faster.
BOUNDED = (Word.NOT_SLOWER, Word.NOT_FASTER, Word.OPEN)


def word_of(low: float, high: float, threshold: float) -> Word:
    """The word for the interval of a ratio; `threshold`: the practical one, 0.05 for 5 %."""
    least, most = 1 / (1 + threshold), 1 + threshold
    if low >= least and high <= most:
        return Word.SAME
    if low > 1:
        return Word.SLOWER
    if high < 1:
        return Word.FASTER
    if high < most:
        return Word.NOT_SLOWER
    return Word.NOT_FASTER if low > least else Word.OPEN


def more_repeats(interval: RatioInterval, threshold: float) -> int:
    """About how many more repeats would settle an open comparison."""
    half = log(interval.high / interval.low) / 2
    # With few degrees of freedom, t is larger than it will be.
    large = half * t_reach(1000.0) / t_reach(interval.df)
    return max(1, ceil(interval.k * share_left(interval.ratio, large, threshold)))


def share_left(ratio: float, half_width: float, threshold: float) -> float:
    """What settles an open comparison, as a share of what was measured: an interval's width falls
    with the root of that. `half_width` is of the logarithm; the ratio is taken for the true one."""
    centre = abs(log(ratio))
    distance = max(centre, log1p(threshold) - centre)
    return (half_width / distance) ** 2 - 1


def smallest_shown(interval: RatioInterval) -> float:
    """The smallest true difference, as a share, whose interval would have excluded 0 with the
    probability `_POWER`: exp((t_0.975 + t_power) · se) − 1, with the interval's own standard error
    and degrees of freedom.
    """
    beyond = t_reach(interval.df) + t_quantile(_POWER, interval.df)
    return expm1(beyond * interval.se)


@dataclass(frozen=True, slots=True)
class Against:
    """`metric`: "p95", or "mean" where too few requests support a p95, or "typical" where a machine
    was busy; "capacity" of a search. `ratio` is the candidate over the baseline with its 95 %
    interval, all None without one. `word` is that of a comparison, "" where there can be none, and
    `why` says why, or what would settle it. `reference`: what
    became of the reference that both campaigns measured (presentation.compared.ReferenceState), ""
    without one."""

    baseline: str  # its name
    metric: str
    word: str
    why: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    reference: str = ""

    @property
    def is_clear(self) -> bool:
        return self.word in CLEAR

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> "Against | None":
        return cls(**data) if data else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
