"""Triage: what people say about a change of level, and which sightings are of the same change."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from campaigns.domain.judged.changes import MIN_SEGMENT


class TriageState(StrEnum):
    """What is known about a change; whatever is not open is quiet."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    EXPECTED = "expected"
    ENVIRONMENT = "environment"
    NOT_REAL = "not_real"
    FIXED = "fixed"


NEEDS_WHY = frozenset({TriageState.EXPECTED, TriageState.NOT_REAL, TriageState.FIXED})
# What people choose from where the reference moved at the same time: the likeliest first.
ENVIRONMENT_FIRST = sorted(TriageState, key=lambda state: state is not TriageState.ENVIRONMENT)
# A change that is found later joins these; what people have closed takes in nothing new.
TAKES_MORE = frozenset({TriageState.OPEN, TriageState.ACKNOWLEDGED})


@dataclass(frozen=True, slots=True)
class Sighting:
    """A change by its places in a history: where the new level begins, and the range in which it
    may have begun."""

    index: int
    earliest: int
    latest: int
    is_higher: bool


def same_changes(seen: Sequence[Sighting], known: Sequence[Sighting]) -> dict[int, int]:
    """Which known change each one seen now is: {its place in `seen`: the place in `known`}.

    More campaigns may move a change. It stays the same one if it goes in the same direction and
    begins fewer than three campaigns from where it was (two changes are never closer), or if the
    place where it was is still in its range. Nearest first, each at most once.
    """
    pairs = sorted(
        (abs(now.index - then.index), first, second)
        for first, now in enumerate(seen)
        for second, then in enumerate(known)
        if _is_same(now, then)
    )
    found: dict[int, int] = {}
    for _, first, second in pairs:
        if first not in found and second not in found.values():
            found[first] = second
    return found


def _is_same(now: Sighting, then: Sighting) -> bool:
    if now.index == then.index:
        return True
    is_near = abs(now.index - then.index) < MIN_SEGMENT
    return now.is_higher == then.is_higher and (is_near or now.earliest <= then.index <= now.latest)
