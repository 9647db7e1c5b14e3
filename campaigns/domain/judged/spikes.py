"""Single values that are far off their neighbours: Hampel's filter over seven values."""

import numpy as np

_REACH = 3  # neighbours on each side; beyond the ends the series is mirrored
_LIMIT = 4 * 1.4826  # in median absolute deviations of the neighbours: about 4 standard deviations


def spikes_of(series: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each value whether it is a spike, and the median of its neighbours. At least 4 values."""
    padded = np.pad(series, _REACH, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * _REACH + 1)
    neighbours = np.delete(windows, _REACH, axis=1)
    medians = np.median(neighbours, axis=1)
    spread = np.median(np.abs(neighbours - medians[:, None]), axis=1)
    return np.abs(series - medians) > _LIMIT * spread, medians
