"""A test against its baseline, as it was judged when its campaign ended."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from campaigns.domain.judged.words import Word


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
