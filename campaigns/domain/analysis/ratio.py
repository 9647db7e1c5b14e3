"""The ratio B / A of two sets of run-level values, with its interval, and the four words for it.

Computed on logarithms: Student's t over the blocks' log ratios (paired), Welch's t over the arms'
logs (not paired). One wild run then widens the interval as much as it moves its centre (t stays
about 1), so it can hide a difference but not create one. Error rates and power of the verdicts:
docs/measuring.md, `make benchmark ARGS=words`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import exp, fsum, log
from statistics import median
from typing import Any

import numpy as np

from campaigns.domain.analysis.repeats import outlier_flags
from campaigns.domain.special import t_quantile, t_reach, t_two_sided

_COARSE = 0.02  # a clock step of at least this share of the mean widens the interval
# Neighbouring runs are correlated, which makes plain t slightly overconfident in counterbalanced
# blocks: with autocorrelation of 0.3 to 0.5 it gives 5.9 % false verdicts instead of 5.
_NEIGHBOURS_ALIKE = 1.05
# With five or more values, one that is a quarter off and an outlier by Grubbs' test (1 %) is set
# aside: smallest and largest are trimmed, with the variance of Tukey and McLaughlin (1963).
_ENOUGH_TO_TRIM = 5
_GRUBBS_LEVEL = 0.01
_WILD = log(1.25)


@dataclass(frozen=True, slots=True)
class OddRun:
    """An outlier run. `arm` is 0 (baseline) or 1 (candidate), `repeat` its block.

    `times`: its value over the median of the arm's others. `is_set_aside`: too wild to count.
    `rest`: the ratio without it (paired: without its block), None if too few are left.
    """

    arm: int
    repeat: int
    times: float
    is_set_aside: bool
    rest: "RatioInterval | None"


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """candidate / baseline with its 95 % interval on the log scale.

    `baseline`, `candidate`: geometric means of the runs that count. `odd`: the runs to look at.
    `logs`: the blocks' log ratios, or each arm's logs.
    """

    baseline: float
    candidate: float
    ratio: float
    low: float
    high: float
    se: float
    df: float
    k: int  # runs of the smaller arm
    p_value: float
    is_paired: bool
    logs: tuple[tuple[float, ...], ...]
    odd: tuple[OddRun, ...] = ()

    @property
    def set_aside(self) -> tuple[OddRun, ...]:
        return tuple(run for run in self.odd if run.is_set_aside)


def ratio_interval(
    baseline: Sequence[float],
    candidate: Sequence[float],
    *,
    paired: bool,
    resolutions: tuple[float, float] = (0.0, 0.0),
    repeats: tuple[Sequence[int], Sequence[int]] | None = None,
) -> RatioInterval | None:
    """The ratio of two sets of run-level values (each in the order of the blocks).

    Paired needs equally many values in both. `resolutions` are the step sizes of each arm's
    values. `repeats` are the values' block numbers, by default from 1. None with fewer than two
    runs in an arm, or a value that is not above 0.
    """
    arms = _Arms((tuple(baseline), tuple(candidate)), paired, resolutions)
    if not arms.can_be_compared:
        return None
    numbers = repeats or tuple(range(1, len(arm) + 1) for arm in arms.values)
    return replace(_interval(arms), odd=tuple(_odd_runs(arms, numbers)))


@dataclass(frozen=True)
class _Arms:
    values: tuple[tuple[float, ...], tuple[float, ...]]
    is_paired: bool
    resolutions: tuple[float, float]

    @property
    def can_be_compared(self) -> bool:
        return min(map(len, self.values)) >= 2 and min(map(min, self.values)) > 0

    @cached_property
    def logs(self) -> tuple[tuple[float, ...], ...]:
        """The logs of each arm's values; if paired, of each block's ratio."""
        if self.is_paired:
            return (tuple(log(b / a) for a, b in zip(*self.values, strict=True)),)
        return tuple(tuple(map(log, arm)) for arm in self.values)

    @cached_property
    def wild(self) -> tuple[int | None, ...]:
        """The index set aside in each of `logs`, or None."""
        return tuple(map(wild_index, self.logs))

    def without(self, arm: int, index: int) -> "_Arms":
        """Without one run; if paired, without its block."""
        kept = tuple(
            values[:index] + values[index + 1 :] if self.is_paired or number == arm else values
            for number, values in enumerate(self.values)
        )
        return _Arms(kept, self.is_paired, self.resolutions)


def centre_and_variance(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each row of values: centre, its variance, and degrees of freedom.

    The mean and its usual variance; trimmed by one at either end if one of five or more values
    is wild.
    """
    k = logs.shape[1]
    centre, variance = logs.mean(axis=1), logs.var(axis=1, ddof=1) / k
    df = np.full(len(logs), k - 1.0)
    wild = _has_outlier(logs)
    if wild.any():
        ordered = np.sort(logs[wild], axis=1)
        kept = ordered[:, 1:-1]
        drawn_in = np.clip(ordered, kept[:, :1], kept[:, -1:])
        centre[wild] = kept.mean(axis=1)
        variance[wild] = drawn_in.var(axis=1, ddof=1) * (k - 1) / ((k - 2) * (k - 3))
        df[wild] = k - 3.0
    return centre, variance, df


def _has_outlier(logs: np.ndarray) -> np.ndarray:
    """Whether the farthest value is an outlier by Grubbs' two-sided test."""
    k = logs.shape[1]
    if k < _ENOUGH_TO_TRIM:
        return np.zeros(len(logs), dtype=bool)
    off = logs - logs.mean(axis=1, keepdims=True)
    farthest = np.abs(off).max(axis=1)
    others = ((off**2).sum(axis=1) - farthest**2 * k / (k - 1)) / (k - 2)
    distance = farthest * k / (k - 1)
    limit = t_quantile(1 - _GRUBBS_LEVEL / 2 / k, k - 2)
    is_far = distance > limit * np.sqrt(np.maximum(others, 0) * k / (k - 1))
    return is_far & (distance > _WILD)


def difference(logs: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The log ratio, its variance and degrees of freedom, for each row.

    `logs` is one matrix of the blocks' log ratios, or one matrix per arm.
    """
    if len(logs) == 1:
        return centre_and_variance(logs[0])
    (a, var_a, df_a), (b, var_b, df_b) = map(centre_and_variance, logs)
    whole = var_a + var_b
    with np.errstate(invalid="ignore", divide="ignore"):
        welch = whole**2 / (var_a**2 / df_a + var_b**2 / df_b)
    return b - a, whole, np.where(whole > 0, welch, df_a + df_b)


def standard_error(variance: np.ndarray) -> np.ndarray:
    """The standard error of a log ratio with this variance."""
    return _NEIGHBOURS_ALIKE * np.sqrt(variance)


def _interval(arms: _Arms) -> RatioInterval:
    logs = arms.logs
    # Sorted, so that the order of the runs does not affect the last digit.
    (centre,), (variance,), (df,) = difference([np.array([sorted(each)]) for each in logs])
    kept = _kept_means(arms)
    # The variance that rounding to steps of the resolution adds to the log ratio.
    guard = sum(
        (step / centre) ** 2 / 12 / len(values)
        for values, step, centre in zip(arms.values, arms.resolutions, kept, strict=True)
        if (variance == 0) or step > _COARSE * centre
    )
    se = float(standard_error(variance + guard))
    width = t_reach(float(df)) * se
    ratio = exp(centre)
    return RatioInterval(
        *kept,
        ratio,
        ratio * exp(-width),
        ratio * exp(width),
        se,
        float(df),
        k=min(map(len, arms.values)),
        p_value=t_two_sided(centre / se, float(df)) if se else float(ratio == 1),
        is_paired=arms.is_paired,
        logs=logs,
    )


def _kept_means(arms: _Arms) -> tuple[float, float]:
    """The geometric mean of each arm's counted runs; their ratio is the interval's."""
    means = []
    for number, values in enumerate(arms.values):
        which = 0 if arms.is_paired else number
        logs, wild = arms.logs[which], arms.wild[which]
        order = sorted(range(len(logs)), key=logs.__getitem__)
        kept = order if wild is None else order[1:-1]
        means.append(exp(fsum(log(values[index]) for index in kept) / len(kept)))
    return means[0], means[1]


def wild_index(logs: Sequence[float]) -> int | None:
    """The index of the value set aside; None if all count."""
    if not _has_outlier(np.array([sorted(logs)]))[0]:
        return None
    middle = median(logs)
    return max(range(len(logs)), key=lambda index: abs(logs[index] - middle))


def _odd_runs(arms: _Arms, repeats: Sequence[Sequence[int]]) -> Iterator[OddRun]:
    """The runs flagged or set aside; if paired, judged by the blocks' ratios."""
    for number, (logs, wild) in enumerate(zip(arms.logs, arms.wild, strict=True)):
        for index, is_flagged in enumerate(outlier_flags([exp(each) for each in logs])):
            if is_flagged or index == wild:
                arm = number
                if arms.is_paired:
                    off = [abs(_distance_from_others(each, index)) for each in arms.values]
                    arm = off.index(max(off))
                rest = arms.without(arm, index)
                yield OddRun(
                    arm,
                    repeats[arm][index],
                    exp(_distance_from_others(arms.values[arm], index)),
                    index == wild,
                    _interval(rest) if rest.can_be_compared else None,
                )


def _distance_from_others(values: Sequence[float], index: int) -> float:
    """The log of a run's value over the median of the others."""
    return log(values[index] / median(values[:index] + values[index + 1 :]))


class Word(StrEnum):
    FASTER = "faster"
    SLOWER = "slower"
    SAME = "no practical difference"
    INCONCLUSIVE = "inconclusive"


def is_same(low: Any, high: Any, threshold: float) -> Any:
    """Whether the interval lies within the practical threshold; for numbers or arrays."""
    return (low >= 1 / (1 + threshold)) & (high <= 1 + threshold)


def is_clear(low: Any, high: Any, ratio: Any, threshold: float) -> Any:
    """Whether the interval excludes 1 and the ratio is beyond the threshold; types as is_same."""
    slower = (low > 1) & (ratio >= 1 + threshold)
    return slower | ((high < 1) & (ratio <= 1 / (1 + threshold)))


@dataclass(frozen=True, slots=True)
class Against:
    """`metric`: "p95", or "mean" where too few requests support a p95; "capacity" of a search.
    `ratio` is the candidate over the baseline with its 95 % interval, all None without one. `word`
    is that of a comparison,
    "" where there can be none, and `why` says why, or why it is inconclusive. `reference`: what
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
