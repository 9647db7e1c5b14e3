"""Searches for a capacity against each other, in a sentence and in figures."""

from dataclasses import dataclass

from campaigns.domain.judged.capacity import CapacityRatio, CapacityWord
from campaigns.domain.judged.capacity_interval import CapacityInterval
from campaigns.domain.shown.intervals import change_ends
from campaigns.domain.shown.results import Sentence
from campaigns.domain.units import DASH, THIN, percent, rate

_CLEAR = {CapacityWord.MORE: "more", CapacityWord.LESS: "less"}


@dataclass(frozen=True, slots=True)
class ComparedCapacity:
    """A column's capacity against the baseline's. None: that side has no steady one. `word` is ""
    where none can be given; `why` says why."""

    column: str
    baseline: CapacityInterval | None
    candidate: CapacityInterval | None
    ratio: CapacityRatio | None
    word: str
    why: str

    @property
    def baseline_words(self) -> str:
        return capacity_words(self.baseline)

    @property
    def candidate_words(self) -> str:
        return capacity_words(self.candidate)

    @property
    def change_words(self) -> str:
        """Such as +6.5 % (+3.1 to +10.0 %)"""
        if self.ratio is None:
            return DASH
        return f"{percent(self.ratio.ratio - 1, decimals=1, signed=True)} ({self.interval_words})"

    @property
    def interval_words(self) -> str:
        """Of the change, such as +3.1 to +10.0 %; it takes a ratio."""
        found = self.ratio
        return f"{' to '.join(change_ends(found.ratio, found.low, found.high))}{THIN}%"


def capacity_words(found: CapacityInterval | None) -> str:
    """1,850 (1,790 to 1,910)"""
    if found is None:
        return DASH
    if found.low is None:
        return f"about {rate(found.rate_per_s)}"
    return f"{rate(found.rate_per_s)} ({rate(found.low)} to {rate(found.high)})"


def capacity_sentence(found: ComparedCapacity, baseline: str, candidate: str) -> Sentence:
    """Both columns by name."""
    first = f"{candidate[:1].upper()}{candidate[1:]}"
    if found.ratio is None or not found.word:
        return [("No verdict on the capacities", True), (f": {found.why}", False)]
    rates = (
        f"{rate(found.candidate.rate_per_s)} against {rate(found.baseline.rate_per_s)} requests/s"
    )
    much = percent(abs(found.ratio.ratio - 1), decimals=1)
    if found.word in _CLEAR:
        return [
            (f"{first} takes {much} {_CLEAR[found.word]}", True),
            (f" than {baseline}: {rates} ({found.interval_words}).", False),
        ]
    word = f"{found.word[:1].upper()}{found.word[1:]}"
    return [
        (word, True),
        (f": {candidate} and {baseline} take {rates} ({found.interval_words}).", False),
    ]
