"""Changes of level, in the seconds of a run and in the history of a test.

Did a run reach a steady state? A cut counts if the means before and after it differ by more than
autocorrelated noise explains: neighbouring seconds are correlated, and a test that assumes
independence finds changes in any run. The correlation is estimated from differences of nearby
seconds, which a change of level hardly affects (Tecuapetla-Gómez & Munk 2017). Computed on
logarithms after a Hampel filter: a single slow second is no change.

Since when is a test slower or faster, with one value for each campaign, and is the newest value
what the ones before it let expect? Levels are proposed all at once (segment neighbourhood, Auger &
Lawrence 1989), in windows of 50 values: one cut after the other overlooks a level from which a
test came back. A cut stays if Student's t test tells the levels on its sides apart (p < 0.001) and
they differ by more than 3 %.
Single campaigns that are far off their neighbours are outliers and belong to no level.

Limits, error rates and power: docs/measuring.md.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import exp, inf, log, sqrt

import numpy as np

from campaigns.domain.percentiles import t_quantile, t_reach, t_two_sided

_REACH = 3  # neighbours on each side; beyond the ends the series is mirrored
_SPIKE_LIMIT = (
    4 * 1.4826
)  # in median absolute deviations of the neighbours: about 4 standard deviations


def spikes_of(series: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each value whether it is a spike, and the median of its neighbours. At least 4 values."""
    wider = np.pad(series, _REACH, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(wider, 2 * _REACH + 1)
    neighbours = np.delete(windows, _REACH, axis=1)
    medians = _medians_of_six(neighbours)
    spread = _medians_of_six(np.abs(neighbours - medians[:, None]))
    return np.abs(series - medians) > _SPIKE_LIMIT * spread, medians


def _medians_of_six(rows: np.ndarray) -> np.ndarray:
    """Of rows of six values; NumPy's own median takes several times as long for so few."""
    return np.sort(rows, axis=1)[:, _REACH - 1 : _REACH + 1].mean(axis=1)


MIN_WINDOWS = 30
_MIN_SEGMENT = 5
_MAX_WINDOWS = 600
_TOLERANCE = 0.05
# Required size of a cut in standard errors, by number of seconds: the best cut of stationary noise
# exceeds it in one run of twenty, for any autocorrelation up to 0.8.
_LIMITS = ((30, 6.1), (60, 4.9), (120, 4.2), (200, 3.85))
# The same of two cuts, where one did not count.
_HUMP_LIMITS = ((30, 12.5), (60, 15.0), (120, 12.0), (200, 11.0))
_MOST_CUTS = 150
_MOST_SPIKES = 0.15  # a share of the seconds; of independent noise about 0.07 are taken for spikes
_HUMP_PARTS = 40  # a stretch is at least one of so many parts of the run
_FURTHER_LIMIT = 3.0  # for further cuts in a run with one already
_LAGS = np.arange(1, 9)
_RHOS = np.arange(0, 0.91, 0.02)
_LONE = np.array([0.0, 0.25, 0.5, 0.75])  # a share of the variance


@dataclass(frozen=True, slots=True)
class Steadiness:
    """`unsteady_share` of the seconds precedes `steady_from`, the index of the first second of the
    stretch that stays within 5 % of its level to the end. `ratio`: the median before it over that
    level, or the level just before it where the median went another way; 1 if nothing precedes
    it. A run that began at this level and came back to it was away from `left_at` on, and share and
    ratio are those of the stretch in between; 0 of any other."""

    unsteady_share: float
    steady_from: int
    ratio: float
    left_at: int = 0


def steadiness(values: Sequence[float]) -> Steadiness | None:
    """From one positive value per second, in order; None for fewer than 30."""
    if len(values) < MIN_WINDOWS:
        return None
    size = -(-len(values) // _MAX_WINDOWS)
    raw = np.log(_medians_of_blocks(np.asarray(values, dtype=float), size))
    # The series with outliers replaced by their neighbours' median. Where there are many,
    # they are its noise: without them, those that happen to be neighbours would be a change
    # of level.
    is_spike, medians = spikes_of(raw)
    logs = raw if is_spike.mean() > _MOST_SPIKES else np.where(is_spike, medians, raw)
    bounds = [0, *change_points(logs, raw), len(logs)]
    levels = [_median(logs[a:b]) for a, b in pairwise(bounds)]
    first = len(levels) - 1
    while first > 0 and _are_alike(levels[first - 1], levels[-1]):
        first -= 1
    begin = bounds[first]
    if not begin:
        return Steadiness(0.0, 0, 1.0)
    departure = bounds[1] if _are_alike(levels[0], levels[-1]) else 0
    # By how much the logs were off the last level before it: as a whole, unless most of them were
    # as they are now, or off to the other side. Then a rise or a fall is from the nearest level.
    off, step = _median(logs[departure:begin]) - levels[-1], levels[first - 1] - levels[-1]
    if off * step <= 0 or abs(np.expm1(off)) <= _TOLERANCE:
        off = step
    share = (begin - departure) / len(logs)
    return Steadiness(share, begin * size, float(np.exp(off)), departure * size)


def _are_alike(level: float, other: float) -> bool:
    return abs(np.expm1(level - other)) <= _TOLERANCE


def change_points(series: np.ndarray, raw: np.ndarray) -> list[int]:
    """The indices at which a new level begins, at least five values apart. `raw`: with spikes."""
    if len(series) < 2 * _MIN_SEGMENT:
        return []
    # The series without its largest change of level, the cut with the least squared residuals.
    cuts, steps = _steps(series)
    best = int((np.abs(steps) * np.sqrt(cuts * (len(series) - cuts))).argmax())
    noise = _Noise.of(series - np.where(np.arange(len(series)) < cuts[best], steps[best], 0.0))
    points = _split(series, 0, len(series), noise, _limit_of(_LIMITS, len(series)))
    return points or _hump(series, raw)


def _limit_of(limits: Sequence[tuple[int, float]], n: int) -> float:
    return float(np.interp(n, *zip(*limits, strict=True)))


# By `_LONE` and `_RHOS`: how squared differences grow with the lag, in logarithms.
_SIZES = 1 - (1 - _LONE[:, None, None]) * _RHOS[:, None] ** _LAGS
_GROWTHS = np.log(_SIZES / _SIZES[..., :1])


@dataclass(frozen=True, slots=True)
class _Noise:
    """Variance of the seconds around their level, and the correlation of neighbours (AR(1)) of all
    but the share `lone` of it, which each second has for itself: a p50 of few requests varies on
    top of a machine that is slower for some seconds."""

    variance: float
    rho: float
    lone: float

    @classmethod
    def of(cls, rest: np.ndarray, growths: np.ndarray = _GROWTHS) -> "_Noise":
        """From mean squared differences at lags 1 to 8, each of which is
        2·γ₀·(lone + (1 − lone)·(1 − ρ^lag))."""
        squares = np.array([np.mean((rest[lag:] - rest[:-lag]) ** 2) for lag in _LAGS])
        if not squares.all():
            return cls(0.0, 0.0, 0.0)
        misfit = (np.log(squares / squares[0]) - growths) ** 2
        best = np.unravel_index(misfit.sum(axis=2).argmin(), misfit.shape[:2])
        lone, rho = float(_LONE[best[0]]), float(_RHOS[best[1]])
        return cls(float(squares[0]) / 2 / (1 - (1 - lone) * rho), rho, lone)

    def variance_of_mean(self, n: np.ndarray) -> np.ndarray:
        """The variance of the mean of n consecutive values."""
        rho = self.rho
        alike = (1 + rho) / (1 - rho) - 2 * rho * (1 - rho**n) / (n * (1 - rho) ** 2)
        return self.variance * (self.lone + (1 - self.lone) * alike) / n


def _split(series: np.ndarray, begin: int, end: int, noise: _Noise, limit: float) -> list[int]:
    if end - begin < 2 * _MIN_SEGMENT:
        return []
    cuts, steps = _steps(series[begin:end])
    errors = np.sqrt(noise.variance_of_mean(cuts) + noise.variance_of_mean(end - begin - cuts))
    worth = np.abs(steps) / np.maximum(errors, 1e-9)
    best = int(worth.argmax())
    if worth[best] <= limit:
        return []
    at = begin + int(cuts[best])
    return [
        *_split(series, begin, at, noise, _FURTHER_LIMIT),
        at,
        *_split(series, at, end, noise, _FURTHER_LIMIT),
    ]


def _steps(series: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cuts with enough values on both sides, and the mean before each minus that after it."""
    n = len(series)
    cuts = np.arange(_MIN_SEGMENT, n - _MIN_SEGMENT + 1)
    before = np.cumsum(series)[cuts - 1]
    return cuts, before / cuts - (series.sum() - before) / (n - cuts)


def _hump(series: np.ndarray, raw: np.ndarray) -> list[int]:
    """The two cuts between which the series was at another level than before and after. One cut
    cannot find that: a step that is left in the series counts as noise. So do spikes here, or a few
    that happen to be neighbours would be a hump."""
    n, sums = len(series), np.concatenate(([0.0], np.cumsum(series)))
    cuts = np.arange(_MIN_SEGMENT, n - _MIN_SEGMENT + 1, -(-n // _MOST_CUTS))
    begins, ends = (cuts[each] for each in np.triu_indices(len(cuts), 1))
    is_long = ends - begins >= max(_MIN_SEGMENT, n // _HUMP_PARTS)
    begins, ends = begins[is_long], ends[is_long]
    before, within, after = sums[begins], sums[ends] - sums[begins], sums[n] - sums[ends]
    inside = ends - begins
    explained = before**2 / begins + within**2 / inside + after**2 / (n - ends)
    best = int(explained.argmax())
    parts = np.split(raw, [begins[best], ends[best]])
    # Its limits are so high that they leave out nothing that a second has for itself.
    noise = _Noise.of(np.concatenate([part - part.mean() for part in parts]), _GROWTHS[:1])
    variances = noise.variance_of_mean(np.arange(1, n))
    errors = np.sqrt(variances[inside - 1] + variances[n - inside - 1])
    steps = within / inside - (before + after) / (n - inside)
    worth = np.abs(steps) / np.maximum(errors, 1e-9)
    at = int(worth.argmax())
    is_one = worth[at] > _limit_of(_HUMP_LIMITS, n)
    return [int(begins[at]), int(ends[at])] if is_one else []


def _medians_of_blocks(values: np.ndarray, size: int) -> np.ndarray:
    """One median per `size` seconds, to bound memory for long runs."""
    if size == 1:
        return values
    n_whole = len(values) // size * size
    medians = _medians(values[:n_whole].reshape(-1, size))
    rest = values[n_whole:]
    return np.append(medians, _median(rest)) if len(rest) else medians


def _median(values: np.ndarray) -> float:
    return float(_medians(values.reshape(1, -1))[0])


def _medians(rows: np.ndarray) -> np.ndarray:
    """Of each row. np.median takes a hundred times as long for some values, and its first call
    loads numpy.ma, for which somebody waits."""
    size = rows.shape[1]
    return np.sort(rows, axis=1)[:, (size - 1) // 2 : size // 2 + 1].mean(axis=1)


MIN_CAMPAIGNS = 5  # below this a history has no levels
MIN_SEGMENT = 3
_WINDOW, _STEP = 50, 25
_MOST_LEVELS = 9  # in a window
_CUT_COST = 2.2  # times log n: a cut has a place and a size, and is the best of many
_SURE = 0.001  # the p value of a cut that stays
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
    level_values = series[places]
    cuts = _cuts(level_values)
    indices = [usable[place] for place in places]
    changes = [
        _change(level_values, *around, indices) for around in _neighbours(cuts, len(level_values))
    ]
    outliers = frozenset(usable[place] for place in np.flatnonzero(is_outlier))
    level = places[cuts[-1]] if cuts else 0
    stretch = [series[place] for place in places if level <= place < len(series) - 1]
    return Course(tuple(changes), outliers, _expected(stretch, series[-1]))


@dataclass(frozen=True, slots=True)
class CampaignNoise:
    """By how much campaigns of one level differ: the standard deviation of their logarithms, with
    `df` degrees of freedom."""

    sd: float
    df: int


@lru_cache(maxsize=2000)
def campaign_noise(values: Sequence[float | None]) -> CampaignNoise | None:
    """Of one value for each campaign, as `course_of`, without outliers; None of too few."""
    course = course_of(values)
    firsts = [change.index for change in course.changes]
    levels: dict[int, list[float]] = {}
    for index, value in enumerate(values):
        if value and index not in course.outliers:
            levels.setdefault(bisect_right(firsts, index), []).append(log(value))
    df = sum(map(len, levels.values())) - len(levels)
    if df < MIN_CAMPAIGNS - 1:
        return None
    squares = sum(float(np.var(level)) * len(level) for level in levels.values())
    return CampaignNoise(sqrt(squares / df), df)


def _cuts(values: np.ndarray) -> list[int]:
    """The indices at which a new level begins, at least three values apart."""
    logs = np.log(values)
    candidates: set[int] = set()
    for begin in range(0, max(1, len(values) - _STEP), _STEP):
        candidates.update(begin + cut for cut in _proposals(logs[begin : begin + _WINDOW]))
    cuts: list[int] = []
    for cut in sorted(candidates):  # overlapping windows may find the same change twice
        if not cuts or cut - cuts[-1] >= MIN_SEGMENT:
            cuts.append(cut)
    return _at_likeliest(logs, _certain_cuts(values, _at_likeliest(logs, cuts)))


def _proposals(logs: np.ndarray) -> list[int]:
    """The cuts between the levels that leave the least squared residuals. A further cut must lower
    their likelihood ratio by more than Schwarz's criterion asks of one (Yao 1988)."""
    n, off = len(logs), logs - logs.mean()
    sums, squares = (np.concatenate(([0.0], np.cumsum(each))) for each in (off, off**2))
    lengths = np.arange(n + 1) - np.arange(n + 1)[:, None]
    # Of one level, by where it begins and where it ends.
    residuals = squares - squares[:, None] - (sums - sums[:, None]) ** 2 / np.maximum(lengths, 1)
    residuals[lengths < MIN_SEGMENT] = inf
    least = residuals[0]  # of all values before a place, in levels one more than there are `begins`
    begins: list[np.ndarray] = []  # where the last of these levels begins
    costs = []
    for n_cuts in range(max(1, min(_MOST_LEVELS, n // MIN_SEGMENT))):
        if n_cuts:
            before = least[:, None] + residuals
            begins.append(before.argmin(axis=0))
            least = before.min(axis=0)
        costs.append(n * log(max(least[n] / n, 1e-12)) + n_cuts * _CUT_COST * log(n))
    cuts, end = [], n
    for places in reversed(begins[: int(np.argmin(costs))]):
        end = int(places[end])
        cuts.append(end)
    return cuts[::-1]


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


def _at_likeliest(logs: np.ndarray, cuts: list[int]) -> list[int]:
    """Each cut at the most likely place between its neighbours."""
    places: list[int] = []
    for begin, _, end in _neighbours(cuts, len(logs)):
        first = places[-1] if places else begin
        n = end - first
        unlikely = _unlikely(logs[first:end])[MIN_SEGMENT - 1 : n - MIN_SEGMENT]
        places.append(first + MIN_SEGMENT + int(unlikely.argmin()))
    return places


def _neighbours(cuts: Sequence[int], n: int) -> list[tuple[int, int, int]]:
    """For each cut where the level before it begins, the cut, and where the level after it ends."""
    bounds = [0, *cuts, n]
    return list(zip(bounds, bounds[1:], bounds[2:], strict=False))


def _change(values: np.ndarray, begin: int, cut: int, end: int, indices: Sequence[int]) -> Change:
    before, after = np.log(values[begin:cut]), np.log(values[cut:end])
    error, df = _error_of_difference(before, after)
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
    off = series - series.mean()
    explained = np.cumsum(off)[:-1] ** 2 * n / (cuts * (n - cuts))
    return n * np.log(np.maximum(np.sum(off**2) - explained, 1e-12))


def _p_value(before: np.ndarray, after: np.ndarray) -> float:
    """Of Student's t test with the pooled variance of both sides, two-sided."""
    error, df = _error_of_difference(before, after)
    return t_two_sided(_t(float(after.mean() - before.mean()), error), df)


def _error_of_difference(before: np.ndarray, after: np.ndarray) -> tuple[float, int]:
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
