"""An injector's end line (docs/injector.md), and what follows from the end lines of all injectors
of a run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from campaigns.domain.metrics.snapshot import Total
from campaigns.domain.plan.tls_options import group_name

COMPLETE, STOPPED = "complete", "stopped"


@dataclass(frozen=True, slots=True)
class TlsHandshakes:
    """Finished handshakes that agreed on the same; `group` is of the key exchange. What is not
    known is None.

    `certificate`: kind and size of the server's key, and `chain_bytes` all certificates that it
    sent as DER, at the first of these handshakes; a resumed one has none. `bytes_sent` and
    `bytes_received`: what was sent and read over TCP until the handshakes were over, of all
    together.
    """

    version: str
    cipher: str
    count: int
    bits: int | None = None
    resumed: bool = False
    group: str | None = None
    certificate: str | None = None
    chain_bytes: int | None = None
    bytes_sent: int | None = None
    bytes_received: int | None = None

    @property
    def agreed(self) -> str:
        """TLSv1.3, TLS_AES_256_GCM_SHA384, X25519MLKEM768"""
        return ", ".join(filter(None, (self.version, self.cipher, self.group)))

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Self:
        values = {name: entry[name] for name in cls.__slots__ if name in entry}
        if values.get("group"):
            values["group"] = group_name(values["group"])
        return cls(**values)


@dataclass(frozen=True, slots=True)
class InjectorEnd:
    """One injector's end line. Missing fields are None or empty: from an older injector, another
    program, or one that has not ended (`NO_END`).

    `measured_us`: the measured time (snapshot.py); `tail_us`: how long after it the last
    request ended, 0 for none. `streams_limit`: an HTTP/2 server's, if below the plan's.

    `by_peer`: if load goes over all addresses of a name, a `Total` as JSON for each address.

    From the launcher come `start_error_us`, the maximum error of the common start, and `programs`:
    name and share of the host's CPU of those beside the injectors that used most of it meanwhile.
    """

    outcome: str | None = None
    reason: str = ""
    totals: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    in_flight: int | None = None
    sessions_in_flight: int | None = None
    duration_us: int | None = None
    sending_us: int | None = None
    measured_us: int | None = None
    tail_us: int | None = None
    cpu_us: int | None = None
    cpu_user_us: int | None = None
    connect_burst: int | None = None
    connections_at_once: int | None = None
    streams_limit: int | None = None
    tls: Sequence[TlsHandshakes] = ()
    tls_library: str | None = None
    peers: Mapping[str, int] = field(default_factory=dict)
    by_peer: Mapping[str, Any] = field(default_factory=dict)
    servers: Sequence[str] | None = None
    warnings: Sequence[str] = ()
    certificate_der_b64: str | None = None
    start_error_us: int | None = None
    programs: Sequence[tuple[str, float]] | None = None

    @property
    def is_complete(self) -> bool:
        return self.outcome == COMPLETE

    @classmethod
    def from_json(cls, line: Mapping[str, Any] | None) -> Self:
        """From a received or stored line, None if there is none yet. Ignores unknown fields."""
        line = line or {}
        values = {name: line[name] for name in cls.__slots__ if line.get(name) is not None}
        handshakes = tuple(TlsHandshakes.from_json(each) for each in values.get("tls", ()))
        return cls(**values | {"tls": handshakes})

    def to_json(self) -> dict[str, Any]:
        """The line without missing fields; only a certificate can be null."""
        values = {name: value for name, value in asdict(self).items() if value is not None}
        if not self.by_peer:
            del values["by_peer"]
        return {"type": "end", **values, "certificate_der_b64": self.certificate_der_b64}


NO_END = InjectorEnd()


def sum_of(ends: Sequence[InjectorEnd], name: str) -> int | None:
    """The sum over all injectors; None unless all reported it."""
    values = [getattr(end, name) for end in ends]
    return sum(values) if values and None not in values else None


def most_of(ends: Iterable[InjectorEnd], name: str) -> int | None:
    """The maximum over the injectors that reported it; None if none did."""
    values = (getattr(end, name) for end in ends)
    return max((value for value in values if value is not None), default=None)


def warnings_of(ends: Iterable[InjectorEnd]) -> list[str]:
    """The injectors' warnings before the start, each once."""
    return list(dict.fromkeys(text for end in ends for text in end.warnings))


def tls_libraries_of(ends: Iterable[InjectorEnd]) -> list[str]:
    """What the injectors speak TLS with, each once: OpenSSL 4.0.3."""
    return sorted({end.tls_library for end in ends if end.tls_library})


def servers_of(ends: Iterable[InjectorEnd]) -> list[str] | None:
    """The replies' Server names, each once; None if no injector reported them."""
    servers = [end.servers for end in ends if end.servers is not None]
    return list(dict.fromkeys(name for names in servers for name in names)) if servers else None


def peers_of(ends: Iterable[InjectorEnd]) -> dict[str, int]:
    """Connections opened to each address and port, over all injectors."""
    counts: dict[str, int] = {}
    for peer, number in (pair for end in ends for pair in end.peers.items()):
        counts[peer] = counts.get(peer, 0) + number
    return counts


def totals_by_peer(ends: Iterable[InjectorEnd]) -> dict[str, Total]:
    """What went to each address, over all injectors; {} unless load went over several."""
    totals: dict[str, Total] = {}
    for peer, total in (pair for end in ends for pair in end.by_peer.items()):
        totals.setdefault(peer, Total()).add(Total.from_json(total))
    return {peer: totals[peer] for peer in sorted(totals)}


def sending_s_of(ends: Sequence[InjectorEnd]) -> float | None:
    """From the start of measuring to the last request's start; None unless all reported it.

    An injector that sent nothing had nothing to send.
    """
    sending_us = [end.sending_us for end in ends]
    return None if None in sending_us else max(sending_us, default=0) / 1e6
