"""What an injector says beside its seconds (docs/injector.md): the end line, and what follows from
those of all injectors of a run; and the rounds of arms that are measured side by side.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import geometric_mean
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


# What an end line says of the whole process, not of an arm.
_OF_THE_RUN = {"type", "outcome", "reason", "warnings"}


@dataclass(frozen=True, slots=True)
class ArmRound:
    """One arm's requests that were due in its turn of one round.

    `n` are ok. `spilled` ended only after the turn and the pause that follows, `in_pause` in it.
    `own_us` is the mean of what the injector added to a request, and `…undelayed_us` are without
    it: None where it was not timed. The quarters are those of the turn, each with the median of
    what was due in it. `p50_bounds_us`: the least and the most that the median may be if some had
    not failed; None where none did. `parts_us`: means by PARTS and lateness of the middle half of
    the requests, also without what the injector added; None from an injector that does not tell
    them.
    """

    n: int
    failed: int = 0
    spilled: int = 0
    in_pause: int = 0
    p50_us: float | None = None
    p50_undelayed_us: float | None = None
    mean_us: float | None = None
    mean_undelayed_us: float | None = None
    own_us: float | None = None
    second_quarter_us: float | None = None
    last_quarter_us: float | None = None
    p50_bounds_us: tuple[float, float] | None = None
    parts_us: Mapping[str, float] | None = None

    @property
    def typical_us(self) -> float | None:
        """The median, without the injector's part where that is known."""
        return self.p50_us if self.p50_undelayed_us is None else self.p50_undelayed_us

    def to_json(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        values = {name: data[name] for name in cls.__slots__ if name in data}
        bounds = values.pop("p50_bounds_us", None)
        return cls(**values, p50_bounds_us=None if bounds is None else tuple(bounds))


@dataclass(frozen=True, slots=True)
class ArmsRound:
    """`began_us` after measuring began; `order`: whose turn was first, second, …; `arms`: in the
    order's own sequence."""

    number: int
    began_us: int
    order: Sequence[int]
    arms: Sequence[ArmRound]

    def to_json(self) -> dict[str, Any]:
        return {
            "round": self.number,
            "began_us": self.began_us,
            "order": list(self.order),
            "arms": [arm.to_json() for arm in self.arms],
        }

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Self:
        arms = tuple(map(ArmRound.from_json, line["arms"]))
        return cls(line["round"], line["began_us"], tuple(line["order"]), arms)


def of_all_shards(rounds: Iterable[ArmsRound], n_shards: int) -> list[ArmsRound]:
    """The rounds that all shards of a run have, in order, each as one.

    A median is the geometric mean of those of the shards, all of which count the same: so the log
    ratio of two arms is the mean of the shards' log ratios. A comparison of these rounds is as
    exact as of one shard's, because all shards have the same drawn order: two arms that are alike
    could change places in all shards at once.
    """
    if n_shards == 1:
        return list(rounds)
    by_number: dict[int, list[ArmsRound]] = {}
    for each in rounds:
        by_number.setdefault(each.number, []).append(each)
    return [
        replace(
            shards[0],
            began_us=min(each.began_us for each in shards),
            arms=tuple(map(_arm_of_all, zip(*(each.arms for each in shards), strict=True))),
        )
        for _, shards in sorted(by_number.items())
        if len(shards) == n_shards and len({each.order for each in shards}) == 1
    ]


_COUNTS = ("n", "failed", "spilled", "in_pause")
_MEDIANS = ("p50_us", "p50_undelayed_us", "second_quarter_us", "last_quarter_us")
_MEANS = ("mean_us", "mean_undelayed_us", "own_us")


def _arm_of_all(shards: Sequence[ArmRound]) -> ArmRound:
    """What one of them lacks nobody knows of all."""
    values_of_all: dict[str, Any] = {}
    for name in (*_COUNTS, *_MEDIANS, *_MEANS):
        values = [getattr(each, name) for each in shards]
        if name in _COUNTS:
            values_of_all[name] = sum(values)
        elif None not in values and name in _MEDIANS:
            values_of_all[name] = geometric_mean(max(value, 1.0) for value in values)
        elif None not in values:
            values_of_all[name] = sum(
                each.n * value for each, value in zip(shards, values, strict=True)
            )
            values_of_all[name] /= values_of_all["n"]
    if values_of_all["n"] and all(each.parts_us for each in shards if each.n):
        own_us = [
            {part: each.n * us for part, us in each.parts_us.items()} for each in shards if each.n
        ]
        names = dict.fromkeys(part for parts in own_us for part in parts)
        values_of_all["parts_us"] = {
            part: sum(parts.get(part, 0.0) for parts in own_us) / values_of_all["n"]
            for part in names
        }
    if any(each.p50_bounds_us for each in shards) and "p50_us" in values_of_all:
        bounds = [each.p50_bounds_us or (each.typical_us,) * 2 for each in shards]
        ends = zip(*bounds, strict=True)
        values_of_all["p50_bounds_us"] = tuple(
            geometric_mean(max(us, 1.0) for us in end) for end in ends
        )
    return ArmRound(**values_of_all)


@dataclass(frozen=True, slots=True)
class ArmsEnd:
    """The end line of an injector that measured several arms. `measured_us`: of all together,
    without the trial; each arm's durations are on its own clock."""

    outcome: str
    reason: str
    rounds: int
    settled: bool
    measured_us: int
    cpu_us: int
    cpu_user_us: int
    warnings: Sequence[str]
    arms: Sequence[InjectorEnd]

    def to_json(self) -> dict[str, Any]:
        arms = [
            {name: value for name, value in arm.to_json().items() if name not in _OF_THE_RUN}
            for arm in self.arms
        ]
        return {"type": "end", **asdict(self), "arms": arms}

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> Self:
        values = {name: line[name] for name in cls.__slots__}
        return cls(**values | {"arms": tuple(map(InjectorEnd.from_json, line["arms"]))})

    @property
    def by_arm(self) -> list[InjectorEnd]:
        """Each arm's end, as if it had been alone."""
        of_run = {name: getattr(self, name) for name in _OF_THE_RUN - {"type"}}
        return [replace(arm, **of_run) for arm in self.arms]


def ends_of(line: Mapping[str, Any]) -> list[InjectorEnd]:
    """Of an end line: one, or one for each arm."""
    return ArmsEnd.from_json(line).by_arm if "arms" in line else [InjectorEnd.from_json(line)]
