"""What a report is made of, whether a person measured at the terminal or a campaign did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from campaigns.domain.judged.thresholds import Verdict
from campaigns.domain.measured.injector_end import TlsHandshakes
from campaigns.domain.measured.snapshot import Total
from campaigns.domain.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run. `steps` has a total for each of the plan's steps, `total` is of all of them; the
    warm-up is apart. `replies` counts the replies of each measured second, `sessions` the ok
    sessions that ended in it.

    `tls` are the entries of the injectors' end lines. `cpu_us` is their CPU time, `cpu_user_us`
    what of it is not the kernel's (None where not all said it); `connect_burst` the most
    connections that one of them began at once (None where none said it); `connections_at_once` at
    most so many were open at a time (None where not all said it); `servers` what replies named as
    their server (None where none said it). `warnings` are what the injectors said before the start.

    `verdict` is the validity, or what is said in its place, with its reasons. `most_in_flight`: at
    the end of a second; `sending_s`: until the last request's start; both None where it is not
    known. `is_stopped`: it ended before its plan did."""

    plan: Plan
    host: str
    port: int
    connection_mode: str
    total: Total
    duration_s: float
    verdict: tuple[str, Sequence[Mapping[str, Any]]]
    steps: Sequence[Total] = ()
    warm_up: Total = field(default_factory=Total)
    replies: Mapping[int, int] = field(default_factory=dict)
    sessions: Mapping[int, int] = field(default_factory=dict)
    tls: Sequence[TlsHandshakes] = ()
    cpu_us: int | None = None
    cpu_user_us: int | None = None
    connect_burst: int | None = None
    connections_at_once: int | None = None
    thresholds: Sequence[Verdict] = ()
    warnings: Sequence[str] = ()
    servers: Sequence[str] | None = None
    most_in_flight: int | None = None
    sending_s: float | None = None
    is_stopped: bool = False
