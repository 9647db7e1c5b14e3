"""Did a run reach a steady state? Change points of its seconds, and the share of the run before
its last stretch at one level.

A cut counts if the means before and after it differ by more than autocorrelated noise explains:
neighbouring seconds are correlated, and a test that assumes independence finds changes in any run.
The correlation is estimated from differences of nearby seconds, which a change of level hardly
affects (Tecuapetla-Gómez & Munk 2017). Computed on logarithms after a Hampel filter: a single slow
second is no change. The limits are calibrated: docs/measuring.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

_REACH = 3  # neighbours on each side; beyond the ends the series is mirrored
_SPIKE_LIMIT = (
    4 * 1.4826
)  # in median absolute deviations of the neighbours: about 4 standard deviations


def spikes_of(series: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each value whether it is a spike, and the median of its neighbours. At least 4 values."""
    padded = np.pad(series, _REACH, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * _REACH + 1)
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
    off = _off_before(_median(logs[departure:begin]), levels[first - 1], levels[-1])
    share = (begin - departure) / len(logs)
    return Steadiness(share, begin * size, float(np.exp(off)), departure * size)


def _are_alike(level: float, other: float) -> bool:
    return abs(np.expm1(level - other)) <= _TOLERANCE


def _off_before(whole: float, nearest: float, last: float) -> float:
    """By how much the logs were off the last level before it: as a whole, unless most of them were
    as they are now, or off to the other side. Then a rise or a fall is from the nearest level."""
    off, step = whole - last, nearest - last
    is_told_by_whole = off * step > 0 and abs(np.expm1(off)) > _TOLERANCE
    return off if is_told_by_whole else step


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


def _log_growths() -> np.ndarray:
    """By `_LONE` and `_RHOS`: how squared differences grow with the lag, in logarithms."""
    alike = 1 - _LONE[:, None, None]
    sizes = 1 - alike * _RHOS[:, None] ** _LAGS
    return np.log(sizes / sizes[..., :1])


_GROWTHS = _log_growths()


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
