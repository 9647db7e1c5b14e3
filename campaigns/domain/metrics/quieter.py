"""Response times without what the injector added, in the quieter half of a run's seconds: the lower
end of a figure whose upper end is as measured.

A run's seconds are not kept for it. Those in which the injector added about as much to a request
are added up as they come.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import log2
from typing import Any, Self

from campaigns.domain.metrics.snapshot import Second, Timing

QUIETER = "quieter"  # the timing's name in a total
_ENOUGH_SECONDS = 20
_GROUPS_PER_DOUBLING = 4


def added_us(parts: Iterable[Mapping[str, Timing]]) -> float | None:
    """What the injector added to a request on average; None where no reading was timed."""
    rows = [each for each in parts if "sampled" in each and "undelayed" in each]
    n = sum(each["sampled"].n for each in rows)
    added = sum(each["sampled"].sum_us - each["undelayed"].sum_us for each in rows)
    return added / n if n else None


def quieter_half(n_seconds: Mapping[float, int]) -> set[float]:
    """`n_seconds`: how many had each dose. The smallest doses that half of the seconds had; of few
    seconds all."""
    n_all = sum(n_seconds.values())
    if n_all < _ENOUGH_SECONDS:
        return set(n_seconds)
    doses = sorted(n_seconds)
    up_to = accumulate(n_seconds[dose] for dose in doses)
    n_more = sum(2 * n < n_all for n in up_to)
    return set(doses[: n_more + 1])


class QuieterSeconds:
    """Measured seconds are added one by one, each with all its rows."""

    def __init__(self) -> None:
        self._n_seconds: Counter[int] = Counter()
        self._timings: dict[tuple[int, int], Timing] = {}  # by group of seconds and step

    def add(self, parts: Sequence[Second]) -> None:
        dose_us = added_us(part.timings for part in parts)
        if dose_us is None:
            return
        group = round(_GROUPS_PER_DOUBLING * log2(max(1.0, dose_us)))
        self._n_seconds[group] += 1
        for part in parts:
            if timing := part.timings.get("undelayed"):
                known = self._timings.get((group, part.step), Timing())
                self._timings[group, part.step] = known.merged(timing)

    def timings(self, n_steps: int) -> list[Timing]:
        """Of all steps together, then of each."""
        quieter = quieter_half(self._n_seconds)
        rows = [(step, each) for (group, step), each in self._timings.items() if group in quieter]
        return [
            Timing.together(each for _, each in rows),
            *(Timing.together(each for at, each in rows if at == n) for n in range(n_steps)),
        ]

    def state(self) -> list[list[Any]]:
        """As JSON, from which `of_state` goes on."""
        rows = [[*place, each.to_json()] for place, each in self._timings.items()]
        return [[*self._n_seconds.items()], rows]

    @classmethod
    def of_state(cls, state: Sequence[Sequence[Any]]) -> Self:
        found = cls()
        n_seconds, rows = state
        found._n_seconds.update(dict(n_seconds))
        found._timings = {(group, step): Timing.from_json(each) for group, step, each in rows}
        return found
