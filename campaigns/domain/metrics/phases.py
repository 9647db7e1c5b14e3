"""The phases of a run whose injectors are not all active all the time: one per set of active
injectors, as the Uniserve study splits its test R99.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from campaigns.domain.metrics.kept_requests import KeptRequest

# Shorter than the precision of a boundary.
_LEAST_S = 0.001


@dataclass(frozen=True, slots=True)
class Span:
    """The measured time of an injector, s from the start of the measurement."""

    injector: int
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Part:
    """One injector's ok requests in one second, with their response times in µs."""

    injector: int
    second: int
    n: int
    sum_us: int = 0
    min_us: int = 0
    max_us: int = 0


@dataclass(slots=True)
class Phase:
    """`injectors` are the active ones. `is_shared_out`: `n` includes a second cut by a boundary.
    `by_injector`: what `n` is made of."""

    injectors: tuple[int, ...]
    start_s: float
    end_s: float
    n: int = 0
    is_shared_out: bool = False
    whole: list[Part] = field(default_factory=list)
    by_injector: dict[int, int] = field(default_factory=dict)

    def add(self, injector: int, n: int) -> None:
        self.n += n
        self.by_injector[injector] = self.by_injector.get(injector, 0) + n

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s


def find_phases(spans: Sequence[Span], parts: Iterable[Part]) -> list[Phase]:
    """The phases in order with their measurements; the numbers add up to the whole run's, without
    whole seconds of its tail."""
    phases = _windows(spans)
    by_injector = {span.injector: span for span in spans}
    for part in parts:
        if part.n and part.injector in by_injector:
            _give(part, by_injector[part.injector], phases)
    return phases


def phases_of_requests(spans: Sequence[Span], requests: Iterable[KeptRequest]) -> list[Phase]:
    """The same, exactly, where every request is known: each is of the phase in which it ended."""
    phases = _windows(spans)
    times_us: dict[tuple[int, int], list[int]] = {}
    for request in requests:
        end_s = request.end_us / 1e6
        own = [at for at, phase in enumerate(phases) if request.injector in phase.injectors]
        later = (at for at in own if end_s <= phases[at].end_s)
        if own:
            place = next(later, own[-1])
            times_us.setdefault((place, request.injector), []).append(request.response_us)
    for (place, injector), each in sorted(times_us.items()):
        second = int(phases[place].start_s)
        part = Part(injector, second, len(each), sum(each), min(each), max(each))
        phases[place].add(injector, part.n)
        phases[place].whole.append(part)
    return phases


def _windows(spans: Sequence[Span]) -> list[Phase]:
    edges = sorted({edge for span in spans for edge in (span.start_s, span.end_s)})
    phases: list[Phase] = []
    for start, end in pairwise(edges):
        middle = (start + end) / 2
        active = tuple(s.injector for s in spans if s.start_s < middle < s.end_s)
        if not active or end - start < _LEAST_S:
            continue
        if phases and phases[-1].injectors == active:
            phases[-1].end_s = end
        else:
            phases.append(Phase(active, start, end))
    return phases


def _give(part: Part, span: Span, phases: Sequence[Phase]) -> None:
    """Distribute the part over its injector's phases, by its time in each."""
    start, end = max(part.second, span.start_s), min(part.second + 1, span.end_s)
    overlaps = [
        (phase, min(end, phase.end_s) - max(start, phase.start_s))
        for phase in phases
        if part.injector in phase.injectors
    ]
    touched = [(phase, overlap) for phase, overlap in overlaps if overlap > _LEAST_S]
    if len(touched) == 1:
        touched[0][0].add(part.injector, part.n)
        touched[0][0].whole.append(part)
    elif touched:
        _share_out(part, touched)
    elif start - end < _LEAST_S:  # after its injector's end, due to rounding
        nearest = min(phases, key=lambda phase: abs(phase.end_s - start))
        nearest.add(part.injector, part.n)


def _share_out(part: Part, touched: Sequence[tuple[Phase, float]]) -> None:
    """Distributes whole requests by largest remainder, so that none is lost."""
    whole_s = sum(overlap for _, overlap in touched)
    exact = [part.n * overlap / whole_s for _, overlap in touched]
    counts = [int(value) for value in exact]
    most_left = sorted(range(len(exact)), key=lambda i: counts[i] - exact[i])
    for index in most_left[: part.n - sum(counts)]:
        counts[index] += 1
    for (phase, _), count in zip(touched, counts, strict=True):
        phase.add(part.injector, count)
        phase.is_shared_out = True
