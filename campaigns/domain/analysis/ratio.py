"""The ratio B / A of two sets of run-level values, with its interval, and the words for it.

Computed on logarithms: Student's t over the blocks' log ratios (paired), Welch's t over the arms'
logs (not paired). One wild run then widens the interval as much as it moves its centre (t stays
about 1), so it can hide a difference but not create one. Error rates and power of the verdicts:
docs/measuring.md, `make benchmark ARGS=words`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from math import ceil, exp, expm1, fsum, log, log1p
from statistics import fmean, variance
from typing import Any

from campaigns.domain.special import t_quantile, t_reach, t_two_sided

_COARSE = 0.02  # a clock step of at least this share of the mean widens the interval
# Neighbouring runs are correlated, which makes plain t slightly overconfident in counterbalanced
# blocks: with autocorrelation of 0.3 to 0.5 it gives 5.9 % false verdicts instead of 5.
_NEIGHBOURS_ALIKE = 1.07
_POWER = 0.8


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """candidate / baseline with its interval on the log scale, by default of 95 %.

    `baseline`, `candidate`: geometric means, whose ratio is `ratio`. `k`: runs of the smaller arm,
    or rounds. `se`: standard error of the log ratio, with `df` degrees of freedom.
    """

    baseline: float
    candidate: float
    ratio: float
    low: float
    high: float
    se: float
    df: float
    k: int
    p_value: float
    is_paired: bool
    confidence: float = 0.95


def ratio_interval(
    baseline: Sequence[float],
    candidate: Sequence[float],
    *,
    paired: bool,
    resolutions: tuple[float, float] = (0.0, 0.0),
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
    width = t_reach(df) * se
    ratio = exp(centre)
    return RatioInterval(
        *means,
        ratio,
        ratio * exp(-width),
        ratio * exp(width),
        se,
        df,
        k=min(map(len, arms)),
        p_value=t_two_sided(centre / se, df) if se else float(ratio == 1),
        is_paired=paired,
    )


def _welch(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float]:
    """The difference of the means, its variance, and Welch's degrees of freedom."""
    var_a, var_b = (variance(each) / len(each) for each in (a, b))
    whole = var_a + var_b
    df_a, df_b = len(a) - 1, len(b) - 1
    df = whole**2 / (var_a**2 / df_a + var_b**2 / df_b) if whole else df_a + df_b
    return fmean(b) - fmean(a), whole, float(df)


class Word(StrEnum):
    """Of times: what the interval says. OPEN: it reaches beyond the threshold on both sides."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "no practical difference"
    NOT_SLOWER = "not slower"
    NOT_FASTER = "not faster"
    OPEN = "too close to call"


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
        return self.word in {Word.SLOWER, Word.FASTER}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> "Against | None":
        return cls(**stored) if stored else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
