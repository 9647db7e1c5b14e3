"""A capacity with its interval, from independent searches; and whether it drifted meanwhile.

Three things beside a plain t interval on logarithms, each because simulations missed without it
(docs/measuring.md): results that resemble their neighbours widen the interval, half a step of the
searches is added, and a trend over the searches makes it no steady answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, fsum, inf, log, sqrt
from typing import Annotated

from campaigns.domain.special import t_quantile, t_reach

FEWEST_FOR_INTERVAL = 3
FEWEST_FOR_TREND = 5
_MOST_ALIKE, _BIAS = 0.8, 2.2
# A trend is said from this two-sided level on, and suspected from that; and from this size.
_SAID, _SUSPECTED = 0.02, 0.10
LEAST_DRIFT = 0.05


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Where one search ended: the highest rate that passed and the lowest that failed in it.
    `middle` is the mean of its trials' numbers: when it was made.
    """

    low: float
    high: float
    middle: float

    @property
    def log_rate(self) -> float:
        return (log(self.low) + log(self.high)) / 2


@dataclass(frozen=True, slots=True)
class CapacityInterval:
    """Requests/s with the 95 % interval."""

    rate_per_s: float
    low: Annotated[float | None, "Null with fewer than 3 searches."]
    high: float | None
    n_searches: int

    @property
    def width(self) -> float:
        """Of the interval, as a share of the rate."""
        if self.low is None or self.high is None:
            return inf
        return (self.high - self.low) / self.rate_per_s


def capacity_of(searches: Sequence[SearchResult]) -> CapacityInterval | None:
    """Geometric mean and t interval on logarithms. None without a search."""
    if not searches:
        return None
    logs = [each.log_rate for each in searches]
    n = len(logs)
    centre = fsum(logs) / n
    if n < FEWEST_FOR_INTERVAL:
        return CapacityInterval(exp(centre), None, None, n)
    off = [each - centre for each in logs]
    squares = fsum(each * each for each in off)
    # Wider by √((1 + r) / (1 − r)) of the correlation r of neighbours, with 2.2/n against its bias,
    # which was chosen by simulation (docs/measuring.md); never by less than 1.
    neighbours = fsum(a * b for a, b in pairwise(off))
    r = min(max(neighbours / squares + _BIAS / n, 0.0), _MOST_ALIKE) if squares else 0.0
    error = sqrt(squares / (n - 1) / n) * sqrt((1 + r) / (1 - r))
    half_step = fsum(log(each.high / each.low) for each in searches) / n / 2
    half = t_reach(n - 1) * error + half_step
    return CapacityInterval(exp(centre), exp(centre - half), exp(centre + half), n)


@dataclass(frozen=True, slots=True)
class Trend:
    """`drift`: from the first search to the last, as a share. `is_sure` at the 2 % level,
    `is_suspected` at 10 %; neither if it is below 5 %."""

    drift: float
    is_sure: bool
    is_suspected: bool


def trend_of(searches: Sequence[SearchResult]) -> Trend:
    """The straight line through the results over time, by its t test."""
    n = len(searches)
    if n < FEWEST_FOR_TREND:
        return Trend(0.0, False, False)
    logs = [each.log_rate for each in searches]
    centre, middle = fsum(logs) / n, fsum(each.middle for each in searches) / n
    times = [each.middle - middle for each in searches]
    spread = fsum(time * time for time in times)
    slope = fsum(time * value for time, value in zip(times, logs, strict=True)) / spread
    rest = fsum((v - centre - slope * t) ** 2 for t, v in zip(times, logs, strict=True))
    t = abs(slope) / sqrt(rest / (n - 2) / spread) if rest else inf
    drift = exp(slope * (times[-1] - times[0])) - 1
    is_large = abs(drift) >= LEAST_DRIFT
    return Trend(
        drift,
        is_large and t > t_quantile(1 - _SAID / 2, n - 2),
        is_large and t > t_quantile(1 - _SUSPECTED / 2, n - 2),
    )
