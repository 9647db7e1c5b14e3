"""When requests are due, and which shard sends which, in whole nanoseconds.

Arrival k is due at ⌊k·period⌋, counted from the start of the measurement, so that no rounding adds
up: 3 over 1 s are due at 0, 333333333 and 666666666 ns. The warm-up has the same period and the
arrivals −1, −2, … before zero. Arrival k belongs to shard k mod count, so that the shards together
send exactly the intended schedule, evenly spread.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from campaigns.domain.plan import Load, Model, count_arrivals

NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` injector processes that share a run; `index` counts from 0."""

    index: int = 0
    count: int = 1


@dataclass(frozen=True, slots=True)
class Schedule:
    """The arrivals first, first + step, … below stop; arrival k is due at ⌊k·period⌋ ns."""

    period_ns: Fraction
    first: int
    stop: int
    step: int = 1

    def due_ns(self, arrival: int) -> int:
        return arrival * self.period_ns.numerator // self.period_ns.denominator

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """(number of the arrival, its due time in ns), in order."""
        for arrival in range(self.first, self.stop, self.step):
            yield arrival, self.due_ns(arrival)

    def __len__(self) -> int:
        return len(range(self.first, self.stop, self.step))


def is_scheduled(load: Load) -> bool:
    """Whether requests have due times of their own, whatever the replies do."""
    return load.model in {Model.OPEN, Model.OVER}


def period_ns(load: Load) -> Fraction:
    """Exact nanoseconds between two arrivals of an open load, or of N over T."""
    if load.model == Model.OVER:
        return Fraction(str(load.over_s)) * NS / load.requests
    return NS / Fraction(str(load.rate_per_s))


def schedule(load: Load, warm_up_s: int = 0, shard: Shard = Shard()) -> Schedule:
    """The shard's arrivals of a scheduled load, its warm-up (negative numbers) included."""
    period = period_ns(load)
    stop = load.requests or count_arrivals(load.rate_per_s, load.duration_s)
    earliest = -(warm_up_s * NS // period)
    first = earliest + (shard.index - earliest) % shard.count
    return Schedule(period, first, stop, shard.count)


def split(total: int, shard: Shard) -> int:
    """The shard's part of a whole number by largest remainder: 1000 over 3 is 334 + 333 + 333."""
    return total // shard.count + (shard.index < total % shard.count)


def connections_of(load: Load, shard: Shard) -> int:
    """How many connections of a closed load this shard keeps busy; may be none."""
    return split(1 if load.model == Model.SEQUENTIAL else load.connections, shard)


def requests_of(load: Load, shard: Shard) -> int | None:
    """How many requests of a closed load this shard sends; None where only time ends it.

    They are shared by the shards that have a connection; the others get none.
    """
    if load.requests is None:
        return None
    connections = 1 if load.model == Model.SEQUENTIAL else load.connections
    if shard.index >= connections:
        return 0
    return split(load.requests, Shard(shard.index, min(shard.count, connections)))
