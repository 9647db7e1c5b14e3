"""The four verdict words, the interval of a ratio that each requires, and a verdict against a
baseline."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
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


@dataclass(frozen=True, slots=True)
class Against:
    """`metric`: "p95", or "mean" where too few requests support a p95; "capacity" of a search.
    `ratio` is the candidate over the baseline with its 95 % interval, all None without one. `word`
    is that of a comparison,
    "" where there can be none, and `why` says why, or why it is inconclusive. `reference`: what
    became of the reference that both campaigns measured (domain.shown.compared.ReferenceState), ""
    without one."""

    baseline: str  # its name
    metric: str
    word: str
    why: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    reference: str = ""

    @property
    def is_clear(self) -> bool:
        return self.word in {Word.SLOWER, Word.FASTER}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any] | None) -> "Against | None":
        return cls(**stored) if stored else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
