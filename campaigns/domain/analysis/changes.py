"""Since when is a test slower or faster? The changes of level in its history, one value for each
campaign, and whether the newest value is what the ones before it let expect.

E-divisive (Matteson & James 2014) proposes where a level may end: the cut with the largest energy
distance between both sides, then again in both parts, in windows of 50 values so that a short level
in a long history is not overlooked. A cut stays if Student's t test tells the levels on its sides
apart (p < 0.001) and they differ by more than 3 %. Single campaigns that are far off their
neighbours are outliers and belong to no level. Error rates and power: docs/measuring.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt

import numpy as np

from campaigns.domain.analysis.steady import spikes_of
from campaigns.domain.percentiles import t_quantile, t_reach, t_two_sided

MIN_CAMPAIGNS = 5  # below this a history has no levels
MIN_SEGMENT = 3
_WINDOW, _STEP = 50, 25
_PROPOSED, _SURE = 0.01, 0.001  # p values of a cut: to look further on both sides; to stay
_RELEVANT = 0.03
_LIKELY = 3.84  # twice the log likelihood that a cut may be worse than the best: 95 % of chi²(1)

_WATCHED = (5, 10)  # values before the newest one that it is held against
_EXPECTED = 0.99
_LEAST_SHARE = 0.05  # a smaller difference makes no campaign an outlier


@dataclass(frozen=True, slots=True)
class Change:
    """A new level begins at `index`; with 95 % confidence it began between `earliest` and `latest`.

    `before`, `after`: the levels, geometric means in the values' unit. `ratio` is after / before
    with its 95 % interval. `p_value`: of Student's t test between both levels.
    """

    index: int
    earliest: int
    latest: int
    before: float
    after: float
    ratio: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True, slots=True)
class Expected:
    """The range in which 99 % of further values of this level lie, from its last `n` values.
    `is_outlier`: the newest value is outside, and more than 5 % off `level`."""

    n: int
    level: float
    low: float
    high: float
    is_outlier: bool


@dataclass(frozen=True, slots=True)
class Course:
    """What happened in a history: its changes in order, the indices of outliers, and what the
    values before the newest one let expect (None if they are too few)."""

    changes: tuple[Change, ...]
    outliers: frozenset[int]
    expected: Expected | None


def course_of(values: Sequence[float | None]) -> Course:
    """The course of one value for each campaign, in order of time; None is a campaign without one.

    Indices are those of `values`. A value that is not above 0 counts as none.
    """
    usable = [index for index, value in enumerate(values) if value is not None and value > 0]
    series = np.array([values[index] for index in usable], dtype=float)
    if len(series) < MIN_CAMPAIGNS:
        return Course((), frozenset(), None)
    # For each value whether it is a spike of a relevant size, and no neighbour went along:
    # two that are off together may be the beginning of a new level.
    logs = np.log(series)
    is_spike, medians = spikes_of(logs)
    beside = np.pad(logs, 1, constant_values=np.inf)
    beside = np.stack([beside[:-2], beside[2:]])
    with_it = np.abs(beside - logs) < np.abs(beside - medians)
    is_relevant = np.abs(np.expm1(logs - medians)) > _LEAST_SHARE
    is_outlier = is_spike & is_relevant & ~with_it.any(axis=0)
    places = np.flatnonzero(~is_outlier)  # in `usable`, of the values that make levels
    wanted = series[places]
    cuts = _cuts(wanted)
    indices = [usable[place] for place in places]
    changes = [_change(wanted, *around, indices) for around in _neighbours(cuts, len(wanted))]
    outliers = frozenset(usable[place] for place in np.flatnonzero(is_outlier))
    level = places[cuts[-1]] if cuts else 0
    stretch = [series[place] for place in places if level <= place < len(series) - 1]
    return Course(tuple(changes), outliers, _expected(stretch, series[-1]))


def _cuts(values: np.ndarray) -> list[int]:
    """The indices at which a new level begins, at least three values apart."""
    logs = np.log(values)
    proposed: set[int] = set()
    for begin in range(0, max(1, len(values) - _STEP), _STEP):
        proposed.update(_proposals(values, logs, begin, min(begin + _WINDOW, len(values))))
    cuts: list[int] = []
    for cut in sorted(proposed):  # overlapping windows may find the same change twice
        if not cuts or cut - cuts[-1] >= MIN_SEGMENT:
            cuts.append(cut)
    return _placed(logs, _certain_cuts(values, _placed(logs, cuts)))


def _proposals(values: np.ndarray, logs: np.ndarray, begin: int, end: int) -> list[int]:
    if end - begin < 2 * MIN_SEGMENT:
        return []
    cut = begin + _best_cut(logs[begin:end])
    if not _differ(values[begin:cut], values[cut:end]):
        return []
    left, right = _proposals(values, logs, begin, cut), _proposals(values, logs, cut, end)
    return [*left, cut, *right]


def _differ(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether p ≤ 0.01: the quantile is known sooner than the p value."""
    error, df = _pooled(before, after)
    t = _t(float(after.mean() - before.mean()), error)
    return abs(t) >= t_quantile(1 - _PROPOSED / 2, df)


def _best_cut(series: np.ndarray) -> int:
    """The cut that separates its sides most, by the energy statistic (Matteson & James, (5))."""
    n = len(series)
    sums = np.abs(series[:, None] - series).cumsum(0).cumsum(1)
    cuts = np.arange(MIN_SEGMENT, n - MIN_SEGMENT + 1)
    rest = n - cuts
    within_left = sums[cuts - 1, cuts - 1]
    between = sums[cuts - 1, n - 1] - within_left
    within_right = sums[n - 1, n - 1] - within_left - 2 * between
    distance = (
        2 * between / (cuts * rest)
        - within_left / (cuts * (cuts - 1))
        - within_right / (rest * (rest - 1))
    )
    return int(cuts[(cuts * rest / n * distance).argmax()])


def _certain_cuts(values: np.ndarray, cuts: list[int]) -> list[int]:
    """Without the cuts whose levels are too alike, the worst first: its levels become one."""
    while cuts:
        sides = [(values[a:b], values[b:c]) for a, b, c in _neighbours(cuts, len(values))]
        worth = [
            (_p_value(*each) if abs(exp(step) - 1) > _RELEVANT else 1.0, -abs(step))
            for each in sides
            for step in [float(np.log(each[1]).mean() - np.log(each[0]).mean())]
        ]
        worst = max(worth)
        if worst[0] < _SURE:
            break
        del cuts[worth.index(worst)]
    return cuts


def _placed(logs: np.ndarray, cuts: list[int]) -> list[int]:
    """Each cut at the most likely place between its neighbours."""
    placed: list[int] = []
    for begin, _, end in _neighbours(cuts, len(logs)):
        first = placed[-1] if placed else begin
        n = end - first
        unlikely = _unlikely(logs[first:end])[MIN_SEGMENT - 1 : n - MIN_SEGMENT]
        placed.append(first + MIN_SEGMENT + int(unlikely.argmin()))
    return placed


def _neighbours(cuts: Sequence[int], n: int) -> list[tuple[int, int, int]]:
    """For each cut where the level before it begins, the cut, and where the level after it ends."""
    bounds = [0, *cuts, n]
    return list(zip(bounds, bounds[1:], bounds[2:], strict=False))


def _change(values: np.ndarray, begin: int, cut: int, end: int, indices: Sequence[int]) -> Change:
    before, after = np.log(values[begin:cut]), np.log(values[cut:end])
    error, df = _pooled(before, after)
    half = t_reach(df) * error
    step = float(after.mean() - before.mean())
    # The places where the cut may be.
    unlikely = _unlikely(np.concatenate([before, after]))
    likely = np.flatnonzero(unlikely <= unlikely[cut - begin - 1] + _LIKELY) + 1
    return Change(
        index=indices[cut],
        earliest=indices[begin + int(likely[0])],
        latest=indices[begin + int(likely[-1])],
        before=exp(before.mean()),
        after=exp(after.mean()),
        ratio=exp(step),
        low=exp(step - half),
        high=exp(step + half),
        p_value=_p_value(values[begin:cut], values[cut:end]),
    )


def _unlikely(series: np.ndarray) -> np.ndarray:
    """For the cuts 1 to n - 1: -2 times the log likelihood of a step there, in normal noise."""
    n = len(series)
    cuts = np.arange(1, n)
    centred = series - series.mean()
    explained = np.cumsum(centred)[:-1] ** 2 * n / (cuts * (n - cuts))
    return n * np.log(np.maximum(np.sum(centred**2) - explained, 1e-12))


def _p_value(before: np.ndarray, after: np.ndarray) -> float:
    """Of Student's t test with the pooled variance of both sides, two-sided."""
    error, df = _pooled(before, after)
    return t_two_sided(_t(float(after.mean() - before.mean()), error), df)


def _pooled(before: np.ndarray, after: np.ndarray) -> tuple[float, int]:
    """The standard error of the difference of both means, and its degrees of freedom."""
    df = len(before) + len(after) - 2
    squares = sum(float(np.sum((side - side.mean()) ** 2)) for side in (before, after))
    return sqrt(squares / df * (1 / len(before) + 1 / len(after))), df


def _t(difference: float, error: float) -> float:
    if error > 0:
        return difference / error
    return inf if difference else 0.0


def _expected(stretch: Sequence[float], newest: float) -> Expected | None:
    """From the values of the present level before the newest one, but those at its end that may be
    the first of another level."""
    expected = _held_against(stretch, newest)
    for _ in range(MIN_SEGMENT - 1):
        before = _held_against(stretch[:-1], stretch[-1]) if stretch else None
        if before is None or not before.is_outlier:
            break
        stretch = stretch[:-1]
        expected = _held_against(stretch, newest)
    return expected


def _held_against(stretch: Sequence[float], newest: float) -> Expected | None:
    least, most = _WATCHED
    last = np.log(stretch[-most:])
    n = len(last)
    if n < least:
        return None
    level, error = float(last.mean()), float(last.std(ddof=1)) * sqrt(1 + 1 / n)
    reach = t_quantile((1 + _EXPECTED) / 2, n - 1) * error
    is_outlier = abs(log(newest) - level) > max(reach, log(1 + _LEAST_SHARE))
    return Expected(n, exp(level), exp(level - reach), exp(level + reach), is_outlier)
