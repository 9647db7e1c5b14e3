"""Single requests of a run: all of them where they are few, else the slowest.

An injector tells them once, before its end, in columns (docs/injector.md). They are stored as that
line, compressed: a byte with the number of the format, then JSON in a zlib stream.
"""

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
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
    most, planned = MOST_IN_PHASES if in_phases else MOST, plan.planned_requests
    return most if planned is not None and planned <= most else most // n_injectors


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
    def unpack(cls, packed: bytes, injector: int = 0) -> Self:
        if packed[0] != _FORMAT:
            raise ValueError(f"Requests of format {packed[0]}; this release reads {_FORMAT}.")
        return cls.from_line(json.loads(zlib.decompress(packed[1:])), injector)


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
