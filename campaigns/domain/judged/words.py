"""The four words, and what an interval of a ratio must be for each."""

from enum import StrEnum
from typing import Any


class Word(StrEnum):
    FASTER = "faster"
    SLOWER = "slower"
    SAME = "no practical difference"
    INCONCLUSIVE = "inconclusive"


def is_same(low: Any, high: Any, threshold: float) -> Any:
    """Whether the interval lies within the practical threshold; of numbers or of arrays."""
    return (low >= 1 / (1 + threshold)) & (high <= 1 + threshold)


def is_clear(low: Any, high: Any, ratio: Any, threshold: float) -> Any:
    """Whether the interval leaves 1 out and the ratio is beyond the threshold; as is_same."""
    slower = (low > 1) & (ratio >= 1 + threshold)
    return slower | ((high < 1) & (ratio <= 1 / (1 + threshold)))
