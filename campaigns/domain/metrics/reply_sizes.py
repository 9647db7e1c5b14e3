"""Reply sizes, and whether a page changed while it was measured."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt
from typing import Self

from campaigns.domain.metrics.snapshot import Second, Total

# Natural variation is not a change: this many standard errors count as chance, and
# fewer replies than this are not compared.
_CHANCE = 5
_FEW = 30
# Squares are exact to only 15 digits: a deviation below this share of the mean counts as 0.
_ALIKE = 1e-6


@dataclass(frozen=True, slots=True)
class ReplySizes:
    """Mean bytes of an ok reply's parts, and the standard deviation of its body."""

    head: float
    body: float
    framing: float
    body_sd: float

    @property
    def whole(self) -> float:
        return self.head + self.body + self.framing

    @property
    def varies(self) -> bool:
        return self.body_sd > _ALIKE * self.body


def reply_sizes(total: Total) -> ReplySizes | None:
    """None if there are no ok replies, or their parts were not counted separately."""
    n = total.count("ok")
    if not n or not total.count("head_received"):
        return None
    parts = (total.count(f"{part}_received") / n for part in ("head", "body", "framing"))
    bodies = _Bodies(n, total.count("body_received"), total.count("body_squares"))
    return ReplySizes(*parts, bodies.sd)


@dataclass(slots=True)
class _Bodies:
    n: int = 0
    sum_bytes: int = 0
    sum_squares: int = 0

    @property
    def mean(self) -> float:
        return self.sum_bytes / self.n

    @property
    def sd(self) -> float:
        return sqrt(max(0, self.n * self.sum_squares - self.sum_bytes**2)) / self.n

    def add(self, other: "_Bodies") -> None:
        self.n += other.n
        self.sum_bytes += other.sum_bytes
        self.sum_squares += other.sum_squares


class BodyWatch:
    """Compares the mean body of each step's ok replies with that of all before them.

    Constant sizes are compared second by second; varying ones once there are enough replies to
    distinguish a change from chance.
    """

    def __init__(self) -> None:
        self._before: dict[int, _Bodies] = {}
        self._latest: dict[int, _Bodies] = {}

    def state(self) -> list[list[list[int]]]:
        """[before, latest] as JSON, each a list of [step, n, sum of bytes, sum of squares]."""
        return [
            [[step, each.n, each.sum_bytes, each.sum_squares] for step, each in of.items()]
            for of in (self._before, self._latest)
        ]

    @classmethod
    def of_state(cls, state: list[list[list[int]]]) -> Self:
        watch = cls()
        watch._before, watch._latest = (
            {step: _Bodies(*sums) for step, *sums in of} for of in state
        )
        return watch

    def change(self, seconds: Iterable[Second]) -> float | None:
        """The relative change of one second's bodies, at the step where it is largest; 0 if chance
        explains it, None if nothing was compared. Call in order of seconds."""
        changes = []
        for step, bodies in _bodies_by_step(seconds).items():
            before = self._before.setdefault(step, _Bodies())
            latest = self._latest.setdefault(step, _Bodies())
            latest.add(bodies)
            if before.n and (change := _change(before, latest)) is not None:
                changes.append(change)
            elif before.n >= _FEW:
                continue
            before.add(self._latest.pop(step))
        return max(changes, default=None)


def _bodies_by_step(seconds: Iterable[Second]) -> dict[int, _Bodies]:
    bodies: dict[int, _Bodies] = {}
    for second in seconds:
        count = second.counters.get
        if count("ok") and count("head_received"):
            counts = _Bodies(count("ok"), count("body_received", 0), count("body_squares", 0))
            bodies.setdefault(second.step, _Bodies()).add(counts)
    return bodies


def _change(before: _Bodies, latest: _Bodies) -> float | None:
    """None if there are too few replies."""
    off = abs(latest.mean - before.mean)
    spread = max(before.sd, latest.sd)
    if spread > _ALIKE * before.mean:
        if min(before.n, latest.n) < _FEW:
            return None
        if off <= _CHANCE * spread * sqrt(1 / before.n + 1 / latest.n):
            return 0.0
    return off / max(before.mean, 1.0)
