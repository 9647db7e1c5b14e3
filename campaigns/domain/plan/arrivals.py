"""When requests are due, and which shard sends which, in whole nanoseconds.

Even arrival k is due at ⌊k·period⌋ after the start of the measurement, so rounding errors do not
add up: 3 over 1 s are due at 0, 333333333 and 666666666 ns. The warm-up has the same rate, with
arrivals −1, −2, … before zero. Each arrival belongs to one shard (`LoadSlice`), so together
they send exactly the intended schedule, evenly spread; of a random schedule each shard draws all
arrivals and keeps its own.

Equal shares alternate: number k belongs to shard k mod count. With weights the order repeats with
the weights' sum as period; within it a number goes to the eligible shard whose next one is due
first. So after any count each shard has its share, rounded down or up; docs/injector.md specifies
the rule.
"""

import itertools
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np

from campaigns.domain.plan.load import (
    MAX_CONNECTIONS,
    MAX_REQUESTS,
    Distribution,
    Load,
    Model,
    Stage,
    late_start_fault,
    planned_arrivals,
    planned_duration_s,
)
from campaigns.domain.plan.load_rules import load_for
from campaigns.domain.units import counted

NS = 1_000_000_000


@cache
def places_of(weights: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """For each shard its own numbers of the first sum(weights), in order."""
    whole = sum(weights)
    places: list[list[int]] = [[] for _ in weights]
    for number in range(whole):
        dues = [
            (-(-(len(own) + 1) * whole // weight), index)
            for index, (own, weight) in enumerate(zip(places, weights, strict=True))
            if len(own) * whole < (number + 1) * weight
        ]
        _, index = min(dues)
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


class RateCurve:
    """Where the integral of the rate reaches a position."""

    def __init__(self, stages: Sequence[Stage]):
        areas = [Fraction(0)]
        starts = [Fraction(0)]
        for stage in stages:
            areas.append(areas[-1] + stage.area)
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


@dataclass(frozen=True, slots=True)
class EvenSchedule:
    """The arrivals of these numbers; arrival k is due at ⌊k·period⌋ ns."""

    period_ns: Fraction
    numbers: range | Numbers

    def due_ns(self, arrival: int) -> int:
        return arrival * self.period_ns.numerator // self.period_ns.denominator

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """(number of the arrival, its due time in ns), in order."""
        for arrival in self.numbers:
            yield arrival, self.due_ns(arrival)

    def __len__(self) -> int:
        return len(self.numbers)


@dataclass(frozen=True, slots=True)
class DrawnSchedule:
    """Arrivals −n_warm_up … n_measured − 1 of which this shard takes its own.

    `draw` gives the due times of all shards in ns, in order, in chunks.
    """

    draw: Callable[[], Iterator[np.ndarray]]
    n_warm_up: int
    n_measured: int
    shard: LoadSlice = ALONE

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """(number of the arrival, its due time in ns), in order."""
        first = -self.n_warm_up
        for dues in self.draw():
            own = self.shard.own(first, first + len(dues))
            places = np.fromiter(own, np.int64, len(own)) - first
            yield from zip(own, dues[places].tolist(), strict=True)
            first += len(dues)

    def __len__(self) -> int:
        return len(self.shard.own(-self.n_warm_up, self.n_measured))


AnySchedule = EvenSchedule | DrawnSchedule


def is_scheduled(load: Load) -> bool:
    """Whether requests have due times independent of replies."""
    return load.model in {Model.OPEN, Model.OVER}


def period_ns(load: Load) -> Fraction:
    """Exact nanoseconds between two even arrivals of an open load, or of N over T."""
    if load.model == Model.OVER:
        return Fraction(str(load.over_s)) * NS / load.requests
    return NS / Fraction(str(load.rate_per_s))


def schedule(
    load: Load, warm_up_s: int = 0, shard: LoadSlice = ALONE, seed: int = 0
) -> AnySchedule:
    """The shard's arrivals of a scheduled load, its warm-up (negative numbers) included.

    The same load and seed give the same arrivals, whatever the number of shards.
    """
    if load.distribution == Distribution.UNIFORM:
        return _uniform(load, warm_up_s, shard, seed)
    if load.stages or load.distribution == Distribution.EXPONENTIAL:
        return _on_curve(load, warm_up_s, shard, seed)
    own = shard.own(-(warm_up_s * NS // period_ns(load)), planned_arrivals(load))
    return EvenSchedule(period_ns(load), own)


def _on_curve(load: Load, warm_up_s: int, shard: LoadSlice, seed: int) -> DrawnSchedule:
    """Positions, even or random, mapped to instants by the integral of the rate.

    The warm-up has the rate with which the first stage begins.
    """
    n_measured, duration_s = planned_arrivals(load), planned_duration_s(load)
    # 3/s over 1.1 s are 4 arrivals: random ones lie within the 1.1 s.
    steady = (Stage(duration_s, n_measured / duration_s, n_measured / duration_s),)
    curve = RateCurve(load.stages or steady)
    first_rate = load.stages[0].from_per_s if load.stages else load.rate_per_s
    n_warm_up = int(warm_up_s * Fraction(str(first_rate)))
    is_random = load.distribution == Distribution.EXPONENTIAL
    positions = poisson_positions if is_random else even_positions
    scale = curve.area / n_measured if is_random else 1.0

    def draw() -> Iterator[np.ndarray]:
        for chunk in positions(n_warm_up, seed, WARM_UP):
            yield _whole_ns((chunk - n_warm_up) * NS / first_rate)
        for chunk in positions(n_measured, seed, MEASURED):
            yield curve.due_ns(chunk * scale)

    return DrawnSchedule(draw, n_warm_up, n_measured, shard)


def _uniform(load: Load, warm_up_s: int, shard: LoadSlice, seed: int) -> DrawnSchedule:
    gaps = load.uniform_min_s, load.uniform_max_s
    # Negative seconds of the warm-up's arrivals, in order.
    chunks, last_s = [], 0.0
    endless = uniform_offsets(None, *gaps, seed, WARM_UP)
    while last_s <= warm_up_s:
        offsets = next(endless)
        chunks.append(offsets[offsets <= warm_up_s])
        last_s = offsets[-1]
    before = -np.concatenate(chunks)[::-1]

    def draw() -> Iterator[np.ndarray]:
        yield _whole_ns(before * NS)
        # The first one is due at zero.
        yield np.zeros(1, dtype=np.int64)
        for offsets in uniform_offsets(load.requests - 1, *gaps, seed, MEASURED):
            yield _whole_ns(offsets * NS)

    return DrawnSchedule(draw, len(before), load.requests, shard)


def _whole_ns(ns: np.ndarray) -> np.ndarray:
    return np.floor(ns).astype(np.int64)


def connections_of(load: Load, shard: LoadSlice) -> int:
    """How many connections of a closed load this shard keeps busy; may be 0."""
    return len(shard.own(0, 1 if load.model == Model.SEQUENTIAL else load.connections))


def ramp_offsets_ns(load: Load, shard: LoadSlice) -> list[int]:
    """When each of the shard's connections begins, in ns after the start of sending.

    JMeter's rule, exact: connection i of N begins at i·ramp/N. The shards take turns, so that
    together they make the one ramp.
    """
    n_all = 1 if load.model == Model.SEQUENTIAL else load.connections
    ramp_ns = Fraction(str(load.ramp_up_s)) * NS
    begin_ns = start_offset_ns(load, shard)
    return [begin_ns + int(i * ramp_ns / n_all) for i in shard.own(0, n_all)]


def start_offset_ns(load: Load, shard: LoadSlice) -> int:
    """How much later than the first injector this one begins to send."""
    return int(shard.index * Fraction(str(load.start_offset_s)) * NS)


def numbers_of(load: Load, shard: LoadSlice) -> range | Numbers | None:
    """The numbers of the connections that this shard's window opens; None: only time ends it."""
    return None if load.requests is None else shard.own(0, load.requests)


def requests_of(load: Load, shard: LoadSlice) -> int | None:
    """How many requests of a closed load this shard sends; None if only time ends it.

    They are shared by the shards that have a connection; the others get none.
    """
    if load.requests is None:
        return None
    each = [replace(shard, index=index) for index in range(shard.count)]
    at_work = [one.index for one in each if connections_of(load, one)]
    if shard.index not in at_work:
        return 0
    weights = tuple(shard.weights[index] for index in at_work) if shard.weights else ()
    part = LoadSlice(at_work.index(shard.index), len(at_work), weights)
    return split(load.requests, part)


CHUNK = 4096
# Separate streams, so that draws for one purpose do not shift those for another.
MEASURED, WARM_UP = 0, 1


def _generator(seed: int, stream: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64([seed % 2**64, stream]))


def _chunks(count: int) -> Iterator[int]:
    for start in range(0, count, CHUNK):
        yield min(CHUNK, count - start)


def _exponentials(count: int, seed: int, stream: int) -> Iterator[np.ndarray]:
    generator = _generator(seed, stream)
    for size in _chunks(count):
        yield -np.log1p(-generator.random(size))


def poisson_positions(count: int, seed: int, stream: int = MEASURED) -> Iterator[np.ndarray]:
    """`count` increasing positions in [0, count), in chunks: a Poisson process of rate 1 that is
    known to have exactly so many arrivals.

    Sₖ/Sₙ₊₁ of exponential gaps are the order statistics of n uniform values (Devroye 1986, V.2.1).
    """
    if not count:
        return
    scale = count / sum(float(gaps.sum()) for gaps in _exponentials(count + 1, seed, stream))
    below_end = np.nextafter(float(count), 0.0)
    before, n_left = 0.0, count
    for gaps in _exponentials(count + 1, seed, stream):
        sums = before + np.cumsum(gaps)
        before = float(sums[-1])
        if n_left:
            yield np.minimum(sums[:n_left] * scale, below_end)
        n_left = max(0, n_left - len(sums))


def even_positions(count: int, seed: int, stream: int = MEASURED) -> Iterator[np.ndarray]:
    """0, 1, 2 … below `count`, in chunks: nothing is drawn."""
    for first in range(0, count, CHUNK):
        yield np.arange(first, min(first + CHUNK, count), dtype=np.float64)


def uniform_offsets(
    count: int | None, low: float, high: float, seed: int, stream: int = MEASURED
) -> Iterator[np.ndarray]:
    """Sums of gaps that are uniform in [low, high), in chunks; endless where `count` is None."""
    generator = _generator(seed, stream)
    before = 0.0
    sizes = iter(lambda: CHUNK, None) if count is None else _chunks(count)
    for size in sizes:
        sums = before + np.cumsum(low + (high - low) * generator.random(size))
        before = float(sums[-1])
        yield sums


def _without_share(whole: Load, injectors: int) -> int | None:
    """The number, from 1, of an injector whose share is empty, or None."""
    shards = [LoadSlice(index, injectors, whole.shares) for index in range(injectors)]
    for shard in shards:
        counts = [len(shard.own(0, whole.connections))] if whole.connections else []
        if whole.requests:
            counts += [split(whole.requests, shard), len(shard.own(0, whole.requests))]
        if 0 in counts:
            return shard.index + 1
    return None


def share_fault(load: Load, injectors: int) -> str | None:
    """Why this many injectors cannot share the load, or None. The text follows a name."""
    whole = load_for(load, injectors)
    for count, most, noun in (
        (whole.connections, MAX_CONNECTIONS, "connections"),
        (whole.requests, MAX_REQUESTS, "requests"),
    ):
        if count is not None and count > most:
            processes = counted(injectors, "injector processes")
            return f"has {counted(count, noun)} with {processes}, at most {most:,} are possible"
    if load.shares and len(load.shares) != injectors:
        shares = counted(len(load.shares), "injector processes")
        return f"has shares for {shares}, not for {injectors}"
    if injectors == 1:
        return None
    if whole.model == Model.SEQUENTIAL:
        return "sends one request after the other: use one injector process"
    for count, noun in ((whole.connections, "connections"), (whole.requests, "requests")):
        if count is not None and count < injectors:
            return f"has {counted(count, noun)}, too few to share among {injectors}"
    if idle := _without_share(whole, injectors):
        return f"has too few connections or requests for its shares: process {idle} would get none"
    late = late_start_fault(whole, injectors)
    return late and f"cannot be shared so: {late}"
