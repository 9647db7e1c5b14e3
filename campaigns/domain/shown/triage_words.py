"""What a triage entry says: since when tests of a target are slower or faster, and by how much."""

from collections.abc import Sequence
from datetime import datetime
from math import log
from typing import Protocol

from campaigns.domain.judged.triage import TriageState
from campaigns.domain.shown.history_words import cause_words, day, or_environment, range_words
from campaigns.domain.shown.results import Sentence
from campaigns.domain.units import counted, figure, number

MEANINGS = {
    TriageState.OPEN: "not triaged yet",
    TriageState.ACKNOWLEDGED: "known, being worked on; quiet until it moves again",
    TriageState.EXPECTED: "wanted or accepted; the new level is normal",
    TriageState.ENVIRONMENT: "network, host or injectors, not the target",
    TriageState.NOT_REAL: "noise",
    TriageState.FIXED: "the old level is back",
}


def state_words(state: str) -> str:
    return state.replace("_", " ")


def direction(ratios: Sequence[float], *, is_explained: bool) -> str:
    """Slower or faster; moved, if in both directions or with plan or environment."""
    words = {"slower" if ratio > 1 else "faster" for ratio in ratios}
    if len(words) > 1:
        return "Moved"
    return f"Moved, {words.pop()}" if is_explained else words.pop().capitalize()


class NotedChange(Protocol):
    """A change of an entry; `reference_ratio` is that of the reference's change in its range."""

    ratio: float
    since_at: datetime
    causes: Sequence
    reference_ratio: float | None


def entry_sentence(changes: Sequence[NotedChange], target: str) -> Sentence:
    """Slower since 13 Dec 2026: +6.9 to +9.2 % on checkout-api, 4 tests."""
    ratios = [each.ratio for each in changes]
    causes = next((each.causes for each in changes if each.causes), ())
    word = direction(ratios, is_explained=bool(causes))
    since = day(min(each.since_at for each in changes))
    reference = moved_beside(changes)
    return [
        (f"{word} since {since}: {range_words(min(ratios) - 1, max(ratios) - 1)}", True),
        (f" on {target}, {counted(len(ratios), 'tests')}", False),
        *([(f"; at the same time: {cause_words(causes)}", False)] if causes else []),
        *([(or_environment(reference), False)] if reference else []),
    ]


def moved_beside(changes: Sequence[NotedChange]) -> float | None:
    """The ratio of the reference's largest change in the range of any of them."""
    ratios = [each.reference_ratio for each in changes if each.reference_ratio]
    return max(ratios, key=lambda ratio: abs(log(ratio)), default=None)


def change_interval(low: float, high: float) -> str:
    """[+8.5, +9.9], in percent."""
    return f"[{', '.join(number(100 * (each - 1), 1, signed=True) for each in (low, high))}]"


def levels(before_us: float, after_us: float) -> str:
    """26.1 → 28.5, in ms."""
    return f"{figure(before_us / 1000)} → {figure(after_us / 1000)}"
