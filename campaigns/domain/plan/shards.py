"""Shares of a run for several injectors: of a numbered sequence, and of a total.

Equal shares alternate: number k belongs to shard k mod count. With weights the order repeats with
the weights' sum as period; within it a number goes to the eligible shard whose next one is due
first. So after any count each shard has its share, rounded down or up; docs/injector.md specifies
the rule.
"""

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

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
