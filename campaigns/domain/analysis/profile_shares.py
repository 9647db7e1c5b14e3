"""How the shares of functions in the CPU time differ between two sides' profiles of perf record.

Samples are counts, so a difference has Newcombe's interval of two shares, which is made of Wilson's
intervals of each (Statistics in Medicine 17, 1998, method 10). Runs differ by more than chance
alone: the samples count for as many fewer as the runs of a side vary more than binomially
(Pearson's X² over its degrees of freedom). All functions are looked at and only those that changed
are shown, so that the bounds are of all of them together (Bonferroni).
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from campaigns.domain.metrics.profiles import MOST_FUNCTIONS, Profile
from campaigns.domain.percentiles import CONFIDENCE

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
