"""Single requests of a run: all of them where they are few, else the slowest.

An injector tells them once, before its end, in columns (docs/injector.md). They are stored as that
line, compressed: a byte with the number of the format, then JSON in a zlib stream.

The phases of a run whose injectors are not all active all the time: one per set of active
injectors, as the Uniserve study splits its test R99."""

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, Self

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.metrics.snapshot import PARTS
from campaigns.domain.plan.plan import Plan

N_SLOWEST = 10
# Kept whole, and drawn. Where injectors begin one after another, their phases need each request:
# three of 5,000, as the Uniserve study had them.
MOST, MOST_IN_PHASES = 2_000, 20_000


def most_kept(plan: Plan, n_injectors: int) -> int:
    """How many requests an injector keeps, until there are more: its part of the limit, or all of
    it where the plan says that the whole run has no more."""
    in_phases = plan.load.start_offset_s > 0 and n_injectors > 1
    most, n_planned = MOST_IN_PHASES if in_phases else MOST, plan.planned_requests
    return most if n_planned is not None and n_planned <= most else most // n_injectors


@dataclass(frozen=True, slots=True)
class KeptRequest:
    """A part that did not happen is None, and so are all of a failed request."""

    number: Annotated[
        int | None,
        "The how many-th its injector process began, from 1; null in the warm-up.",
    ]
    step: Annotated[int, "From 0."]
    start_us: Annotated[int, "From the start of the measurement."]
    response_us: int
    status: Annotated[int, "0 without a whole reply."]
    kind: Annotated[str, "Of a failed one; else empty."]
    lateness_us: int | None = None
    redirects_us: int | None = None
    dns_us: int | None = None
    connect_us: int | None = None
    tls_us: int | None = None
    send_us: int | None = None
    wait_us: int | None = None
    receive_us: int | None = None
    handshake_us: int | None = None
    exchange_us: int | None = None
    close_us: int | None = None
    injector: Annotated[int, "From 0."] = 0

    @property
    def parts_us(self) -> dict[str, int]:
        """Of the response time, by name; those that it did not have are absent."""
        values = ((name.removesuffix("_us"), getattr(self, name)) for name in PART_COLUMNS)
        return {name: value for name, value in values if value is not None}

    @property
    def end_us(self) -> int:
        return self.start_us - (self.lateness_us or 0) + self.response_us


PART_COLUMNS = ("lateness_us", *(f"{part}_us" for part in PARTS))
_ALWAYS = ("number", "step", "start_us", "response_us", "status", "kind")
COLUMNS = (*_ALWAYS, *PART_COLUMNS)
_FORMAT = 1


@dataclass(frozen=True)
class KeptRequests:
    """`is_all`: every measured request is there, and the warm-up's if these were as few."""

    rows: tuple[KeptRequest, ...] = ()
    is_all: bool = False

    @classmethod
    def together(cls, parts: Iterable[Self]) -> Self:
        """Those of several injectors, in the order of their starts."""
        parts = list(parts)
        is_all = bool(parts) and all(each.is_all for each in parts)
        rows: Iterable[KeptRequest] = (row for each in parts for row in each.rows)
        if not is_all:
            rows = cls(tuple(rows)).slowest()
        return cls(tuple(sorted(rows, key=lambda row: row.start_us)), is_all)

    @property
    def measured(self) -> list[KeptRequest]:
        return [row for row in self.rows if row.number is not None]

    @property
    def warm_up(self) -> list[KeptRequest]:
        return [row for row in self.rows if row.number is None]

    def slowest(self, most: int = N_SLOWEST) -> list[KeptRequest]:
        return sorted(self.measured, key=lambda row: -row.response_us)[:most]

    @cached_property
    def has_several_injectors(self) -> bool:
        return len({row.injector for row in self.rows}) > 1

    @property
    def is_drawn(self) -> bool:
        return self.is_all and 0 < len(self.measured) <= MOST

    @classmethod
    def from_line(cls, line: Mapping[str, Any], injector: int = 0) -> Self:
        columns = line["columns"]
        names = [name for name in COLUMNS if name in columns]
        values = zip(*(columns[name] for name in names), strict=True)
        rows = (
            KeptRequest(**dict(zip(names, row, strict=True)), injector=injector) for row in values
        )
        return cls(tuple(rows), line["is_all"])

    @classmethod
    def unpack(cls, payload: bytes, injector: int = 0) -> Self:
        if payload[0] != _FORMAT:
            raise ValueError(f"Requests of format {payload[0]}; this release reads {_FORMAT}.")
        return cls.from_line(json.loads(zlib.decompress(payload[1:])), injector)


def pack(line: Mapping[str, Any]) -> bytes:
    """A line of requests, as it is stored."""
    columns = {name: line["columns"][name] for name in COLUMNS if name in line["columns"]}
    text = json.dumps({"is_all": line["is_all"], "columns": columns}, separators=(",", ":"))
    return bytes([_FORMAT]) + zlib.compress(text.encode(), 9)


def requests_fault(line: Mapping[str, Any]) -> str | None:
    """What is wrong with a line of requests, as the end of a sentence, or None."""
    columns = line.get("columns")
    if not isinstance(line.get("is_all"), bool) or not isinstance(columns, dict):
        return "is_all is not true or false, or columns is not an object"
    if missing := [name for name in _ALWAYS if name not in columns]:
        return f"the column {missing[0]} is missing"
    columns = {name: columns[name] for name in COLUMNS if name in columns}
    if not all(isinstance(values, list) for values in columns.values()):
        return "a column is not a list"
    if len({len(values) for values in columns.values()}) > 1:
        return "the columns are not of one length"
    for name, values in columns.items():
        if not all(_fits(name, value) for value in values):
            return f"the column {name} has a value that it cannot have"
    return None


_MAY_LACK = {field.name for field in fields(KeptRequest)} & {"number", *PART_COLUMNS}
_KINDS = {"", *Kind}


def _fits(name: str, value: Any) -> bool:
    if name == "kind":
        return value in _KINDS
    if value is None:
        return name in _MAY_LACK
    return isinstance(value, int) and not isinstance(value, bool)


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
    shares = [(phase, overlap) for phase, overlap in overlaps if overlap > _LEAST_S]
    if len(shares) == 1:
        shares[0][0].add(part.injector, part.n)
        shares[0][0].whole.append(part)
    elif shares:
        _share_out(part, shares)
    elif start - end < _LEAST_S:  # after its injector's end, due to rounding
        nearest = min(phases, key=lambda phase: abs(phase.end_s - start))
        nearest.add(part.injector, part.n)


def _share_out(part: Part, shares: Sequence[tuple[Phase, float]]) -> None:
    """Distributes whole requests by largest remainder, so that none is lost."""
    whole_s = sum(overlap for _, overlap in shares)
    exact = [part.n * overlap / whole_s for _, overlap in shares]
    counts = [int(value) for value in exact]
    most_left = sorted(range(len(exact)), key=lambda i: counts[i] - exact[i])
    for index in most_left[: part.n - sum(counts)]:
        counts[index] += 1
    for (phase, _), count in zip(shares, counts, strict=True):
        phase.add(part.injector, count)
        phase.is_shared_out = True
