"""One capacity against another: the ratio with its interval, on logarithms, and a word.

Both intervals are of logarithms, so half the width of the ratio's is the root of the sum of their
squares, as of any two independent measurements.
"""

from dataclasses import dataclass
from enum import StrEnum
from math import exp, hypot, log

from campaigns.domain.judged.capacity_interval import CapacityInterval
from campaigns.domain.judged.words import is_clear, is_same


class CapacityWord(StrEnum):
    MORE = "takes more"
    LESS = "takes less"
    SAME = "no practical difference"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class CapacityRatio:
    """candidate / baseline with its 95 % interval."""

    ratio: float
    low: float
    high: float

    def word(self, threshold: float) -> CapacityWord:
        """`threshold`: the practical one, as a share."""
        if is_clear(self.low, self.high, self.ratio, threshold):
            return CapacityWord.MORE if self.ratio > 1 else CapacityWord.LESS
        if is_same(self.low, self.high, threshold):
            return CapacityWord.SAME
        return CapacityWord.INCONCLUSIVE


def capacity_ratio(baseline: CapacityInterval, candidate: CapacityInterval) -> CapacityRatio | None:
    """None if one of them has no interval."""
    if baseline.high is None or candidate.high is None:
        return None
    centre = log(candidate.rate_per_s / baseline.rate_per_s)
    half = hypot(*(log(each.high / each.rate_per_s) for each in (baseline, candidate)))
    return CapacityRatio(exp(centre), exp(centre - half), exp(centre + half))
