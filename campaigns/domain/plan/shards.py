"""Shares of a run for several injectors: of a numbered sequence, and of a total.

Equal shares alternate: number k belongs to shard k mod count. With weights the order repeats with
the weights' sum as period; within it a number goes to the eligible shard whose next one is due
first. So after any count each shard has its share, rounded down or up; docs/injector.md specifies
the rule.

Stages of an open load: rates that hold or change evenly, and when their arrivals are due."""

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Any

import numpy as np

from campaigns.domain.typed_text import per_second_in, seconds_in

MAX_INJECTORS = 64
MAX_WEIGHT = 100


def is_weight(value: Any) -> bool:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return is_whole and 1 <= value <= MAX_WEIGHT


def shares_of_text(text: str) -> list[int | str]:
    """2, 1, 1 or 2:1:1 as numbers; other text is kept for the plan to reject."""
    words = re.split(r"[\s,;:/]+", text.strip())
    return [int(word) if word.isdecimal() else word for word in words if word]


def text_of_shares(shares: Sequence[int]) -> str:
    return ", ".join(map(str, shares))


@cache
def places_of(weights: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """For each shard its own numbers of the first sum(weights), in order."""
    whole = sum(weights)
    places: list[list[int]] = [[] for _ in weights]
    for number in range(whole):
        owed = [
            (-(-(len(own) + 1) * whole // weight), index)
            for index, (own, weight) in enumerate(zip(places, weights, strict=True))
            if len(own) * whole < (number + 1) * weight
        ]
        _, index = min(owed)
        places[index].append(number)
    return tuple(map(tuple, places))


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers first ≤ k < stop of which k mod period is one of `places`, in order."""

    places: tuple[int, ...]
    period: int
    first: int
    stop: int

    def __iter__(self) -> Iterator[int]:
        n_places = len(self.places)
        for nth in range(self._count_below(self.first), self._count_below(self.stop)):
            yield nth // n_places * self.period + self.places[nth % n_places]

    def __len__(self) -> int:
        return max(0, self._count_below(self.stop) - self._count_below(self.first))

    def _count_below(self, number: int) -> int:
        rounds, place = divmod(number, self.period)
        return rounds * len(self.places) + bisect_left(self.places, place)


@dataclass(frozen=True, slots=True)
class LoadSlice:
    """One of `count` injector processes that share a run; `index` counts from 0. `weights` has one
    for each process; none: equal shares.
    """

    index: int = 0
    count: int = 1
    weights: tuple[int, ...] = ()

    def own(self, first: int, stop: int) -> range | Numbers:
        """Its numbers of those from `first` on and below `stop`."""
        if self.weights:
            return Numbers(self._places, sum(self.weights), first, stop)
        return range(first + (self.index - first) % self.count, stop, self.count)

    def nth(self, number: int) -> int:
        """Its own number `number`, both counted from 0."""
        if not self.weights:
            return number * self.count + self.index
        places = self._places
        return number // len(places) * sum(self.weights) + places[number % len(places)]

    def all(self) -> Iterator[int]:
        """Its own numbers from 0 on, without end."""
        if not self.weights:
            return itertools.count(self.index, self.count)
        return map(self.nth, itertools.count())

    @property
    def share(self) -> Fraction:
        """Its part of the whole."""
        if not self.weights:
            return Fraction(1, self.count)
        return Fraction(self.weights[self.index], sum(self.weights))

    @property
    def smallest_share(self) -> Fraction:
        """Of all processes."""
        if not self.weights:
            return Fraction(1, self.count)
        return Fraction(min(self.weights), sum(self.weights))

    @property
    def _places(self) -> tuple[int, ...]:
        return places_of(self.weights)[self.index]


ALONE = LoadSlice()


def split(total: int, shard: LoadSlice) -> int:
    """The shard's part of a whole number by largest remainder: 1000 over 3 is 334 + 333 + 333; of
    equal remainders the first shards' are the largest.
    """
    weights = shard.weights or (1,) * shard.count
    whole = sum(weights)
    remainders = [total * weight % whole for weight in weights]
    n_left = sum(remainders) // whole
    by_size = sorted(range(shard.count), key=lambda index: -remainders[index])
    return total * weights[shard.index] // whole + (shard.index in by_size[:n_left])


def part_among(shard: LoadSlice, indexes: list[int]) -> LoadSlice:
    """The shard as one of those with these indexes only."""
    weights = tuple(shard.weights[index] for index in indexes) if shard.weights else ()
    return LoadSlice(indexes.index(shard.index), len(indexes), weights)


MAX_STAGES = 100
NS = 1_000_000_000
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)"
_LINE = re.compile(
    rf"\s*({_NUMBER}\s*(?:ms|s|m|min|h)?)\s*:"
    rf"\s*({_NUMBER})\s*(?:-\s*({_NUMBER})\s*)?(/(?:s|m|min|h))?\s*"
)


@dataclass(frozen=True, slots=True)
class Stage:
    """For `duration_s` the rate goes evenly from one value to the other; a step where equal."""

    duration_s: float
    from_per_s: float
    to_per_s: float


def area(stages: Sequence[Stage]) -> Fraction:
    """The exact integral of the rate: arrivals, not yet whole."""
    return sum((_area(stage) for stage in stages), Fraction(0))


def _area(stage: Stage) -> Fraction:
    rates = Fraction(str(stage.from_per_s)) + Fraction(str(stage.to_per_s))
    return Fraction(str(stage.duration_s)) * rates / 2


def count_staged(stages: Sequence[Stage]) -> int:
    """Arrivals k of which the integral reaches k before the end: as many as fit, from 0 on."""
    return ceil(area(stages))


class RateCurve:
    """Where the integral of the rate reaches a position."""

    def __init__(self, stages: Sequence[Stage]):
        areas = [Fraction(0)]
        starts = [Fraction(0)]
        for stage in stages:
            areas.append(areas[-1] + _area(stage))
            starts.append(starts[-1] + Fraction(str(stage.duration_s)))
        self.area = float(areas[-1])
        self._ends = np.array([float(each) for each in areas[1:]])
        self._areas = np.array([float(each) for each in areas[:-1]])
        self._starts_ns = np.array([float(each * NS) for each in starts[:-1]])
        self._last_ns = int(starts[-1] * NS) - 1
        self._rates = np.array([stage.from_per_s for stage in stages], dtype=np.float64)
        self._slopes = np.array(
            [(stage.to_per_s - stage.from_per_s) / stage.duration_s for stage in stages]
        )

    def due_ns(self, positions: np.ndarray) -> np.ndarray:
        """When each position is reached, in ns from the start; for one in a pause, the pause's end.

        a·t + s·t²/2 = c has the root 2c / (a + √(a² + 2·s·c)), which loses no digits.
        """
        at = np.minimum(np.searchsorted(self._ends, positions, side="right"), len(self._ends) - 1)
        beyond = np.maximum(positions - self._areas[at], 0.0)
        rate = self._rates[at]
        root = np.sqrt(np.maximum(rate * rate + 2 * self._slopes[at] * beyond, 0.0))
        divisor = rate + root
        seconds = np.divide(2 * beyond, divisor, out=np.zeros_like(divisor), where=divisor > 0)
        dues = np.floor(self._starts_ns[at] + seconds * NS).astype(np.int64)
        return np.minimum(np.maximum.accumulate(dues), self._last_ns)


def stages_of_text(text: str) -> list[dict[str, float] | str]:
    """The stages of "30: 10, 60: 10-50"; unparsable text is kept for the plan to reject."""
    stages: list[dict[str, float] | str] = []
    for line in filter(None, map(str.strip, re.split(r"[,;\n]", text))):
        if match := _LINE.fullmatch(line):
            duration, start, end, per = match.groups()
            ends = (start, end or start)
            from_per_s, to_per_s = (per_second_in(f"{each}{per or ''}") for each in ends)
            rates = {"from_per_s": from_per_s, "to_per_s": to_per_s}
            stages.append({"duration_s": seconds_in(duration), **rates})
        else:
            stages.append(line)
    return stages


def text_of_stages(stages: Sequence[dict[str, Any]]) -> str:
    """The stages as typed, one per line."""
    lines = []
    for stage in stages:
        start, end = _plain(stage["from_per_s"]), _plain(stage["to_per_s"])
        rates = start if start == end else f"{start}-{end}"
        lines.append(f"{_plain(stage['duration_s'])}: {rates}")
    return "\n".join(lines)


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(float(value))
