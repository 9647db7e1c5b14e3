"""The ratio B / A of two sides with its interval, and the words for it.

From runs, on logarithms: Student's t over the blocks' log ratios (paired), Welch's t over the arms'
logs (not paired). One wild run then widens the interval as much as it moves its centre (t stays
about 1), so it can hide a difference but not create one. Error rates and power of the verdicts:
docs/measuring.md, `make benchmark ARGS=words`.

From rounds: Hodges and Lehmann's centre with Wilcoxon's signed rank (Hollander and Wolfe, 3.2 and
3.4). Where the order within each round was drawn, every deviation is as likely above as below, so
the interval holds exactly, for whatever noise: bursts, stalls, drift, neighbours that resemble each
other.

From profiles of perf record: how the shares of functions in the CPU time differ between two sides.
Samples are counts, so a difference has Newcombe's interval of two shares, which is made of Wilson's
intervals of each (Statistics in Medicine 17, 1998, method 10). Runs differ by more than chance
alone: the samples count for as many fewer as the runs of a side vary more than binomially
(Pearson's X² over its degrees of freedom). All functions are looked at and only those that changed
are shown, so that the bounds are of all of them together (Bonferroni)."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import lru_cache
from math import ceil, erfc, exp, expm1, fsum, inf, log, log1p, sqrt
from statistics import NormalDist, fmean, variance
from typing import Any

import numpy as np

from campaigns.domain.metrics.profiles import MOST_FUNCTIONS, Profile
from campaigns.domain.percentiles import CONFIDENCE, t_quantile, t_reach, t_two_sided

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


@lru_cache(maxsize=4)  # of 400 rounds 1.3 MB
def _pairs_of(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(n)


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
    wanted = max(centre, log1p(threshold) - centre)
    return (half_width / wanted) ** 2 - 1


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
    def from_json(cls, stored: Mapping[str, Any] | None) -> "Against | None":
        return cls(**stored) if stored else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


Names = tuple[str, str]
# Where fewer are expected, X² says little.
_FEWEST_EXPECTED = 5


@dataclass(frozen=True, slots=True)
class ShareChange:
    """Of a function, without the command: its shares, of what was listed, and the bounds of their
    difference."""

    object: str
    symbol: str
    before: float
    after: float
    low: float
    high: float

    @property
    def growth(self) -> float:
        return self.after - self.before

    @property
    def is_certain(self) -> bool:
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class _Side:
    """The runs of a side that recorded anything, each with its samples by function. An agent lists
    those with most: `hidden` is how many samples of another each may have."""

    totals: tuple[int, ...]
    counts: tuple[Counter[Names], ...]
    hidden: tuple[int, ...]

    @classmethod
    def of(cls, profiles: Iterable[Profile]) -> "_Side":
        recorded = [profile for profile in profiles if profile.samples]
        return cls(
            tuple(each.samples for each in recorded),
            tuple(map(_counts, recorded)),
            tuple(map(_hidden, recorded)),
        )

    def samples(self, names: Names) -> tuple[int, int]:
        """(at least, at most)"""
        listed = sum(counts[names] for counts in self.counts)
        pairs = zip(self.counts, self.hidden, strict=True)
        return listed, listed + sum(hidden for counts, hidden in pairs if not counts[names])

    def deviation(self, names: Names) -> tuple[float, int]:
        """(X², degrees of freedom) of the runs' shares of a function; (0, 0) where they say
        little."""
        share = self.samples(names)[0] / sum(self.totals)
        expected = min(self.totals) * min(share, 1 - share)
        if expected < _FEWEST_EXPECTED or not all(each[names] for each in self.counts):
            return 0.0, 0
        pairs = zip(self.counts, self.totals, strict=True)
        squares = sum((each[names] - n * share) ** 2 / n for each, n in pairs)
        return squares / (share * (1 - share)), len(self.totals) - 1


def share_changes(before: Sequence[Profile], after: Sequence[Profile]) -> list[ShareChange]:
    """Of each function that either side lists: those that grew most first, those that fell most
    last. Both sides have samples."""
    old, new = _Side.of(before), _Side.of(after)
    every = {names: None for side in (old, new) for each in side.counts for names in each}
    if not every:
        return []
    z = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2 / len(every))
    deviations = [side.deviation(names) for side in (old, new) for names in every]
    freedom = sum(degrees for _, degrees in deviations)
    spread = max(1.0, sum(squares for squares, _ in deviations) / freedom) if freedom else 1.0
    n_old, n_new = sum(old.totals), sum(new.totals)
    changes = []
    for names in every:
        (least_old, most_old), (least_new, most_new) = old.samples(names), new.samples(names)
        low, _ = _difference((most_old, n_old), (least_new, n_new), z * z * spread)
        _, high = _difference((least_old, n_old), (most_new, n_new), z * z * spread)
        changes.append(ShareChange(*names, least_old / n_old, least_new / n_new, low, high))
    return sorted(changes, key=lambda each: -each.growth)


def _counts(profile: Profile) -> Counter[Names]:
    counts: Counter[Names] = Counter()
    for each in profile.functions:
        counts[each.object, each.symbol] += each.samples
    return counts


def _hidden(profile: Profile) -> int:
    if len(profile.functions) < MOST_FUNCTIONS:
        return 0
    listed = [each.samples for each in profile.functions]
    return min(min(listed), profile.samples - sum(listed))


def _difference(
    before: tuple[int, int], after: tuple[int, int], squared_z: float
) -> tuple[float, float]:
    """Newcombe's interval of the second share minus the first, of (samples, of all)."""
    p, (p_low, p_high) = before[0] / before[1], _wilson(*before, squared_z)
    q, (q_low, q_high) = after[0] / after[1], _wilson(*after, squared_z)
    return q - p - math.hypot(q - q_low, p_high - p), q - p + math.hypot(q_high - q, p - p_low)


def _wilson(samples: int, of_all: int, squared_z: float) -> tuple[float, float]:
    share, weight = samples / of_all, squared_z / of_all
    middle = share + weight / 2
    half = math.sqrt(weight * share * (1 - share) + weight * weight / 4)
    return (middle - half) / (1 + weight), (middle + half) / (1 + weight)
