"""Repeats of one test: the run is the unit of replication.

A run gives one value per metric; means, intervals and flags are over those values. Pooled values
(min of min, max of max, percentiles of all requests) come from merged totals instead.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, log, sqrt
from statistics import fmean, median, stdev

from campaigns.domain.percentiles import t_reach

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
