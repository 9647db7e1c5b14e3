"""The four verdict words, and the interval of a ratio that each requires."""

from enum import StrEnum
from typing import Any


class Word(StrEnum):
    FASTER = "faster"
    SLOWER = "slower"
    SAME = "no practical difference"
    INCONCLUSIVE = "inconclusive"


def is_same(low: Any, high: Any, threshold: float) -> Any:
    """Whether the interval lies within the practical threshold; for numbers or arrays."""
    return (low >= 1 / (1 + threshold)) & (high <= 1 + threshold)


def is_clear(low: Any, high: Any, ratio: Any, threshold: float) -> Any:
    """Whether the interval excludes 1 and the ratio is beyond the threshold; types as is_same."""
    slower = (low > 1) & (ratio >= 1 + threshold)
    return slower | ((high < 1) & (ratio <= 1 / (1 + threshold)))
