"""Did a run come to rest? Change points of its seconds, and how much of it lies before the last
stretch at one level.

Change points by E-divisive (Matteson & James 2013: energy statistics) with a t-test as in Fleming
et al. 2023, on logarithms, after a Hampel filter: a single slow second is no change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import numpy as np

from campaigns.domain.special import t_two_sided

MIN_WINDOWS = 30
_MIN_SEGMENT = 10
_MAX_WINDOWS = 600
_TOLERANCE = 0.05
_WEAK_P, _STRONG_P = 0.01, 1e-4
_HAMPEL_REACH, _HAMPEL_LIMIT = 3, 4 * 1.4826


@dataclass(frozen=True, slots=True)
class Steadiness:
    """`unsteady_share` of the seconds lies before `steady_from`, the index of the first second of
    the stretch that lasts to the end within 5 % of its level. `ratio`: the median of what came
    before, over that level; 1 where nothing did."""

    unsteady_share: float
    steady_from: int
    ratio: float


def steadiness(values: Sequence[float]) -> Steadiness | None:
    """Of one positive value for each second, in order; None for fewer than 30."""
    if len(values) < MIN_WINDOWS:
        return None
    size = -(-len(values) // _MAX_WINDOWS)
    logs = _without_spikes(np.log(_medians_of_blocks(np.asarray(values, dtype=float), size)))
    bounds = [0, *change_points(logs), len(logs)]
    levels = [float(np.median(logs[a:b])) for a, b in pairwise(bounds)]
    first = len(levels) - 1
    while first > 0 and abs(np.expm1(levels[first - 1] - levels[-1])) <= _TOLERANCE:
        first -= 1
    begin = bounds[first]
    before = float(np.median(logs[:begin])) if begin else levels[-1]
    return Steadiness(begin / len(logs), begin * size, float(np.exp(before - levels[-1])))


def change_points(series: np.ndarray) -> list[int]:
    """The indices at which a new level begins, at least ten values apart and each with p ≤ 1e-4."""
    points = _split(series, 0, len(series))
    while points:
        bounds = [0, *points, len(series)]
        chances = [
            _p_of_same_mean(series[a:b], series[b:c])
            for a, b, c in zip(bounds, bounds[1:], bounds[2:], strict=False)
        ]
        worst = int(np.argmax(chances))
        if chances[worst] <= _STRONG_P:
            break
        del points[worst]
    return points


def _split(series: np.ndarray, begin: int, end: int) -> list[int]:
    """Candidates, in order: what looks like a change to a weak test."""
    if end - begin < 2 * _MIN_SEGMENT:
        return []
    at = begin + _best_cut(series[begin:end])
    if _p_of_same_mean(series[begin:at], series[at:end]) > _WEAK_P:
        return []
    return [*_split(series, begin, at), at, *_split(series, at, end)]


def _best_cut(series: np.ndarray) -> int:
    """The cut with the largest energy distance between what is before and after it."""
    n = len(series)
    distances = np.triu(np.abs(series[:, None] - series[None, :]), 1)
    cuts = np.arange(_MIN_SEGMENT, n - _MIN_SEGMENT + 1)
    before = np.cumsum(distances.sum(axis=0))[cuts - 1]
    after = np.cumsum(distances.sum(axis=1)[::-1])[n - cuts - 1]
    between = distances.sum() - before - after
    rest = n - cuts
    energy = 2 * between / (cuts * rest)
    energy -= 2 * before / (cuts * (cuts - 1)) + 2 * after / (rest * (rest - 1))
    return int(cuts[np.argmax(cuts * rest / n * energy)])


def _p_of_same_mean(x: np.ndarray, y: np.ndarray) -> float:
    """Student's two-sided t-test with pooled variance."""
    df = len(x) + len(y) - 2
    pooled = (x.var() * len(x) + y.var() * len(y)) / df
    difference = float(x.mean() - y.mean())
    if pooled == 0:
        return 1.0 if difference == 0 else 0.0
    return t_two_sided(difference / sqrt(pooled * (1 / len(x) + 1 / len(y))), df)


def _medians_of_blocks(values: np.ndarray, size: int) -> np.ndarray:
    """One value for `size` seconds, so that an hour takes no more memory than ten minutes."""
    if size == 1:
        return values
    return np.array([np.median(values[at : at + size]) for at in range(0, len(values), size)])


def _without_spikes(series: np.ndarray) -> np.ndarray:
    """With values far from their neighbours replaced by those' median."""
    reach = _HAMPEL_REACH
    padded = np.pad(series, reach, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * reach + 1)
    neighbours = np.delete(windows, reach, axis=1)
    medians = np.median(neighbours, axis=1)
    spread = np.median(np.abs(neighbours - medians[:, None]), axis=1)
    return np.where(np.abs(series - medians) > _HAMPEL_LIMIT * spread, medians, series)
