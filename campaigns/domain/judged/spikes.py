"""Single values that are far off their neighbours: Hampel's filter over seven values."""

import numpy as np

_REACH = 3  # neighbours on each side; beyond the ends the series is mirrored
_LIMIT = 4 * 1.4826  # in median absolute deviations of the neighbours: about 4 standard deviations


def spikes_of(series: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each value whether it is a spike, and the median of its neighbours. At least 4 values."""
    padded = np.pad(series, _REACH, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * _REACH + 1)
    neighbours = np.delete(windows, _REACH, axis=1)
    medians = _medians(neighbours)
    spread = _medians(np.abs(neighbours - medians[:, None]))
    return np.abs(series - medians) > _LIMIT * spread, medians


def _medians(rows: np.ndarray) -> np.ndarray:
    """Of rows of six values; NumPy's own median takes several times as long for so few."""
    return np.sort(rows, axis=1)[:, _REACH - 1 : _REACH + 1].mean(axis=1)
