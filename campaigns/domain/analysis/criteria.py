"""The criteria of the judgement: one row each, with its limits and all of its words.

A row of the measurement excludes (the run has no answer), spoils (a busy machine: average and tail
are not the target's) or only explains. Beyond `mild` it is a note, beyond `severe` it decides. A
row of the target says how it was. docs/measuring.md has the sources of the limits, and its tables
come from here.

The words follow five rules: who does what in the first four words, one fact a sentence, the trade's
nouns, the next step instead of the absence, and a figure with its limit.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from campaigns.domain.lifecycle import Precision, TargetState, Trust
from campaigns.domain.units import (
    THIN,
)


class Aspect(StrEnum):
    MEASUREMENT = "measurement"
    TARGET = "target"
    PRECISION = "precision"
    NOTE = "note"


class Who(StrEnum):
    """Who limited a run, or spoilt it."""

    INJECTOR = "the injector"
    MACHINE = "the injector's machine"
    OTHERS = "other programs"
    HYPERVISOR = "the hypervisor"
    QUOTA = "the CPU quota"
    NETWORK = "the network"
    TARGET = "the target"
    PLAN = "the load as planned"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Limits:
    """The values beyond which a criterion is a note, and beyond which it decides; None: never. The
    target's decide from `mild` on."""

    mild: float | None = None
    severe: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """`share`: limits as shares of the run's own times, of which the larger one counts. `state`:
    the answer beyond the limit that decides. `unit`: "us", "s", "" for a share, or a noun.

    `sentence` may have {value}, {limit}, {measure}, {whole} (a time without the value), {rest} (the
    other share), {who} ("The injector", or its number of several), {whose} and {Whose}. `cause` is
    a clause about the value for first lines, with {value}. `who`: whose fault it is, None where it
    says nothing about a limit.
    """

    aspect: Aspect
    sentence: str
    limits: Limits = Limits()
    state: str = ""
    meaning: str = ""
    share: Limits | None = None
    unit: str = ""
    cause: str = ""
    remedy: str = ""
    who: Who | None = None
    less_is_worse: bool = False
    is_stretch: bool = False  # `second` is where the last level begins


_ONLINE = "Check that the injector host is online; its log says what happened."
_DATABASE = "Check the connection between the injector hosts and the database."
_MORE_CPU = (
    "Stop other programs on the injector host, send less, or measure from a machine with more free "
    "cores."
)


def _excludes(limits: Limits, sentence: str, **words: Any) -> Criterion:
    state = Trust.NO_ANSWER
    return Criterion(
        aspect=Aspect.MEASUREMENT, limits=limits, state=state, sentence=sentence, **words
    )


def _spoils(limits: Limits, sentence: str, **words: Any) -> Criterion:
    words = {"remedy": _MORE_CPU, "who": Who.MACHINE, **words}
    return Criterion(
        aspect=Aspect.MEASUREMENT, limits=limits, state=Trust.BUSY, sentence=sentence, **words
    )


def _explains(limit: float, sentence: str, **words: Any) -> Criterion:
    return _spoils(Limits(limit), sentence, **words)


def _target(state: TargetState, limits: Limits, sentence: str, **words: Any) -> Criterion:
    return Criterion(aspect=Aspect.TARGET, limits=limits, state=state, sentence=sentence, **words)


def _changing(sentence: str, **words: str) -> Criterion:
    return _target(TargetState.CHANGING, Limits(0.0), sentence, is_stretch=True, **words)


def _note(limit: float, sentence: str, **words: Any) -> Criterion:
    return Criterion(aspect=Aspect.NOTE, limits=Limits(limit), sentence=sentence, **words)


# Other programs used most of an injector host's CPU; the target among them, where it runs there.
CROWDED, CROWDED_BESIDE = "crowded", "crowded_beside"
SATURATED, ONLY_REDIRECTS = "target_saturated", "only_redirects"
TARGET_MACHINE = ("target_cpu", "target_link", "listen_overflows")
TYPICAL_EFFECT, HIGH_EFFECT, LATE = "own_time", "own_time_p99", "late"

CRITERIA: dict[str, Criterion] = {
    "no_seconds": _excludes(
        Limits(None, 0),
        "The injector delivered no measurements.",
        cause="the injector delivered no measurements",
        remedy=_ONLINE,
        meaning="no injector delivered a measurement",
    ),
    "lost_shards": _excludes(
        Limits(None, 0),
        "{value} {were} lost during the run. The figures are incomplete.",
        unit="injector processes",
        cause="an injector process was lost",
        remedy=_ONLINE,
        meaning="injector processes that were lost during the run",
    ),
    "missing_seconds": _excludes(
        Limits(0.0, 0.01),
        "{value} of the seconds are missing.",
        cause="{value} of the seconds are missing",
        remedy=_DATABASE,
        meaning="seconds that no injector delivered",
    ),
    "injector_exhausted": _excludes(
        Limits(None, 0),
        "The injector host ran out of open files or ports for {value}. The target is not the "
        "cause.",
        unit="requests",
        cause="the injector ran out of open files or ports",
        remedy="Raise the limits of open files and local ports on the injector host.",
        who=Who.INJECTOR,
        meaning="requests that got no file descriptor or local port",
    ),
    "injector_failed": _excludes(
        Limits(None, 0),
        "The injector itself failed at {value}. The target is not the cause.",
        unit="requests",
        cause="the injector itself failed",
        remedy="Report this fault with the details under Errors.",
        who=Who.INJECTOR,
        meaning="requests that ended with an error of the injector itself",
    ),
    "little": _excludes(
        Limits(0.05, 0.20),
        "Requests in flight and response times disagree by {value} (limit {limit}). Some "
        "waiting was not timed.",
        cause="part of the waiting was not timed",
        remedy=_MORE_CPU,
        meaning="requests in flight do not match rate × time; closed plans with 10 or more",
    ),
    "in_doubt": _excludes(
        Limits(0.0, 0.01),
        "Up to {value} of the replies (limit {limit}) may belong to other requests. The "
        "server sent more replies than requests.",
        cause="replies could not be matched to their requests",
        remedy="Measure without pipelining: the server sends more replies than requests.",
        meaning="replies on connections that returned more replies than there were requests",
    ),
    TYPICAL_EFFECT: _spoils(
        Limits(400, 10_000),
        "{who} added about {value} to the {measure} ({whole} without it, limit {limit}).",
        share=Limits(0.05, 0.25),
        unit="us",
        cause="the injector had no CPU",
        meaning="what the injector added to mean or p50, see *Starved injectors*; twice the time "
        "where each request has a TLS handshake",
    ),
    HIGH_EFFECT: _spoils(
        Limits(3_000, 10_000),
        "{who} added about {value} to the {measure} ({whole} without it, limit {limit}).",
        share=Limits(0.05, 0.25),
        unit="us",
        cause="the injector had no CPU",
        meaning="the same of the p99, or of the p90 in short runs",
    ),
    LATE: _spoils(
        Limits(3_000, 10_000),
        "{who} was late ({measure} {value}, limit {limit}). Its own delay is part of the response "
        "times.",
        share=Limits(0.10, 0.25),
        unit="us",
        cause="the injector was late",
        meaning="sending late, or reacting late to the network; only where what this added was not "
        "timed",
    ),
    "stall": _explains(
        100_000,
        "{Whose} event loop stalled for {value} (limit {limit}).",
        unit="us",
        cause="the injector stalled",
        meaning="the longest stall of the event loop",
    ),
    "cpu": _spoils(
        Limits(0.60, 0.85),
        "{who} was busy: {value} of a core on average (limit {limit}).",
        cause="the injector used {value} of a core",
        remedy="Share the load among more injector processes or hosts, or send less.",
        who=Who.INJECTOR,
        meaning="the injector process's CPU, of one core",
    ),
    "throttled": _spoils(
        Limits(0.01, 0.25),
        "{who} had used up its CPU quota {value} of the time (limit {limit}).",
        cause="the CPU quota was used up {value} of the time",
        remedy="Raise the CPU quota of the injector's container or service to a whole core.",
        who=Who.QUOTA,
        meaning="the time at the CPU quota of its control group",
    ),
    "steal": _spoils(
        Limits(0.05, 0.10),
        "The hypervisor gave {value} of {whose} CPU to other machines (limit {limit}).",
        cause="the hypervisor gave {value} of the CPU to other machines",
        remedy="Measure from a machine whose CPU is not shared with other virtual machines.",
        who=Who.HYPERVISOR,
        meaning="CPU that the hypervisor gave to other machines",
    ),
    "open_files": _explains(
        0.70,
        "{who} used {value} of its open files (limit {limit}).",
        cause="the injector ran short of open files",
        remedy="Raise the limit of open files (ulimit -n) on the injector host.",
        who=Who.INJECTOR,
        meaning="open files, of its process's limit",
    ),
    "ports": _explains(
        0.70,
        "{value} of the local ports of {whose} machine were in use (limit {limit}). More "
        "connections may fail.",
        cause="the injector ran short of local ports",
        remedy="Widen net.ipv4.ip_local_port_range on the injector host, or keep connections open.",
        who=Who.INJECTOR,
        meaning="TCP sockets in use or in TIME_WAIT, of its machine's local ports; not checked if "
        "the target runs there too",
    ),
    "swapped": _explains(
        0,
        "{Whose} machine swapped {value} within a second. Waiting for swapped memory is part of "
        "the response times.",
        unit="pages",
        cause="the injector's machine swapped memory",
        remedy="Give the injector host more memory, or stop other programs on it.",
        meaning="memory pages swapped in or out within a second, on the whole machine",
    ),
    "clock_step": _explains(
        50_000,
        "The wall clock of {whose} machine jumped by {value} (limit {limit}). Durations are "
        "right. Times of day may not match other logs.",
        unit="us",
        cause="the injector's clock jumped",
        remedy="Keep the injector host's clock in sync by NTP; do not suspend the machine.",
        who=None,
        meaning="the wall clock jumped relative to the monotonic clock",
    ),
    "starts_apart": _explains(
        100_000,
        "The injector processes may have started up to {value} apart (limit {limit}). The "
        "connection to the database is slow for one of them.",
        unit="us",
        cause="the injector processes did not start together",
        remedy=_DATABASE,
        who=None,
        meaning="how far apart two injectors may have started: half of each one's fastest round "
        "trip to the database",
    ),
    "link": _explains(
        0.80,
        "A network link of {whose} machine was {value} full (limit {limit}). The link was "
        "measured, not the target.",
        cause="the injector's network link was full",
        remedy="Share the load among more injector hosts, or send less.",
        who=Who.NETWORK,
        meaning="a network link, in its busier direction; not checked if its speed is unknown",
    ),
    "packets_lost": _explains(
        0.01,
        "{Whose} machine lost {value} of its network packets within a second (limit {limit}). The "
        "delays that follow are not the target's.",
        cause="the injector's machine lost packets",
        remedy="Check the network of the injector host, or send less.",
        who=Who.NETWORK,
        meaning="packets dropped or with errors in a second, of at least 1,000",
    ),
    "no_success": _target(
        TargetState.FAILING,
        Limits(0),
        "No request succeeded ({measure}). There are no response times.",
        cause="no request succeeded",
        meaning="no request succeeded",
    ),
    "errors": _target(
        TargetState.FAILING,
        Limits(0.01),
        "{value} of the requests failed ({measure}). Response times are of the other {rest}.",
        cause="{value} of the requests failed",
        meaning="failed at the target, with the most frequent cause",
    ),
    "extract_missed": _target(
        TargetState.FAILING,
        Limits(0),
        "{value} found nothing ({measure}). Later requests had no new value.",
        unit="extractions",
        cause="{value} found nothing",
        meaning="whole replies without a value for a step's extraction, from the first one. Check "
        "the pattern or path beside the reply of an example",
    ),
    # The plan counts redirects as right, so nothing failed; that nothing else came is told first.
    ONLY_REDIRECTS: _target(
        TargetState.HEALTHY,
        Limits(0.0),
        "Every reply was a redirect. This measures the redirect, not the page.",
        cause="every reply was a redirect",
        meaning="redirects are replies that the plan counts as right, as ab does",
    ),
    "errors_at_limit": _target(
        TargetState.OVERLOADED,
        Limits(0.01),
        "{value} of the requests failed ({measure}) at the limit that was looked for. Response "
        "times are of the other {rest}.",
        cause="{value} of the requests failed",
        meaning="the same, where the load looks for the limit: 429, 502, 503, 504, refused, closed "
        "or reset connections, and timeouts",
    ),
    SATURATED: _target(
        TargetState.OVERLOADED,
        Limits(),
        "The target did not keep up: {value} of the requests found all connections busy. "
        "This measures overload, not response times.",
        cause="all connections were busy",
        meaning="`dropped` beyond its second limit. A correct measurement of overload, which "
        "comparisons of response times leave out",
    ),
    "sent_share": _target(
        TargetState.OVERLOADED,
        Limits(0.999, 0.99),
        "Only {value} of the planned requests were sent (limit {limit}).",
        less_is_worse=True,
        cause="planned requests were not sent",
        meaning="fewer requests sent than planned",
    ),
    "dropped": _target(
        TargetState.OVERLOADED,
        Limits(0.001, 0.01),
        "{value} of the requests were dropped for lack of a free connection (limit {limit}).",
        cause="requests were dropped",
        meaning="no free connection",
    ),
    "slot_wait": _target(
        TargetState.OVERLOADED,
        Limits(0.001),
        "{value} of the requests waited because all connections were busy (limit {limit}). The "
        "wait is part of the response times.",
        cause="{value} of the requests waited for a connection",
        meaning="requests that waited for a free connection",
    ),
    "in_flight_growing": _target(
        TargetState.OVERLOADED,
        Limits(0.02),
        "The target did not keep up: {value} of the requests of the second half were left waiting "
        "(limit {limit}). This measures overload, not response times.",
        cause="requests in flight grew",
        meaning="of what an even open load sent in the second half of the run, what was left in "
        "flight, if p50 rose by half or more",
    ),
    # Packets are lost where a queue overflows: in the target or on the way to it.
    "resent": _target(
        TargetState.OVERLOADED,
        Limits(0.01),
        "The network or the target lost packets: {value} of the TCP segments were sent again "
        "(limit {limit}). The delay is part of the response times.",
        cause="{value} of the TCP segments were sent again",
        meaning="retransmitted TCP segments of the run's connections, of at least 1,000; not "
        "checked if the target runs on the injector's machine, which loses none",
    ),
    # Of its machine, by an agent; after the others, which say what came of it.
    "target_cpu": _target(
        TargetState.OVERLOADED,
        Limits(4.5),
        f"The target's CPU was at 100{THIN}%{{measure}}.",
        unit="s",
        cause=f"its machine's CPU was at 100{THIN}%",
        who=Who.TARGET,
        meaning="the CPU of the target's machine was in use to 98 % or more, other guests of its "
        "hypervisor included; where processes were chosen, with at most 10 % by other programs; "
        "on the injector's machine only where they were. Needs an [agent](agent.md) or an "
        "exporter, as the two below",
    ),
    "target_link": _target(
        TargetState.OVERLOADED,
        Limits(4.5),
        "The target's network link was full{measure}.",
        unit="s",
        cause="its network link was full",
        who=Who.NETWORK,
        meaning="the network link of the target's machine carried 90 % of its speed or more in one "
        "direction",
    ),
    "listen_overflows": _target(
        TargetState.OVERLOADED,
        Limits(0.001),
        "The target's listen queue overflowed{measure}.",
        cause="its listen queue overflowed",
        who=Who.TARGET,
        meaning="connections that the target's machine could not put into a full listen queue, of "
        "the requests, at least 1,000",
    ),
    "slowing_down": _changing(
        "Response times rose after {value} of the run and stayed higher. One figure for the whole "
        "run hides that.",
        cause="response times rose and stayed higher",
        meaning="response times were shorter before, see *Did it become steady?*",
    ),
    "warming_up": _changing(
        "Response times became steady only after {value} of the run and were longer before. Use a "
        "longer warm-up.",
        cause="response times were longer at first",
        meaning="response times were longer before they became steady",
    ),
    **{
        f"{change}_for_a_while": _changing(
            f"Response times were {change} for {{value}} of the run, {{measure}}, and then as "
            "before. One figure for the whole run hides that.",
            cause=f"response times were {change} for a while",
            meaning=f"response times were at a {level} level than before and after",
        )
        for change, level in (("longer", "higher"), ("shorter", "lower"))
    },
    "body_changed": _target(
        TargetState.CHANGING,
        Limits(0.01),
        "The response bodies changed in size by {value} (limit {limit}). It is not the same page "
        "before and after.",
        cause="the response bodies changed in size",
        meaning="the mean body size of a step compared with all previous seconds; sizes that vary "
        "anyway must differ by more than 5 standard errors",
    ),
    "too_few_requests": Criterion(
        aspect=Aspect.PRECISION,
        sentence="",  # judgement.precision_of
        limits=Limits(1000),
        state=Precision.COARSE,
        unit="requests",
        less_is_worse=True,
        meaning="fewer response times: there are not ten beyond the p99",
    ),
    "cookies_too_large": _note(
        0,
        "{value} over 4,096 bytes {were} not sent back.",
        unit="cookies",
        meaning="cookies whose name and value have over 4,096 bytes, as sessions leave out",
    ),
    "uncompressed": _note(
        0,
        "{value} {were} not compressed: the server did not take permessage-deflate.",
        unit="connections",
        meaning="WebSockets of a plan with compression whose server did not take it",
    ),
    "streams_limit": _note(
        0,
        "The server allows {value} at a time on a connection (SETTINGS_MAX_CONCURRENT_STREAMS). "
        "The plan has {measure}.",
        unit="streams",
        meaning="how many streams a server of HTTP/2 allows, where that is less than planned",
    ),
    "address_slow": _note(
        2.0,
        "{measure}: its median response time is {value} of the other's.",
        meaning="the median of the slowest address, of that of the fastest, of those with 20 ok "
        "requests or more, where load goes over all addresses of a name",
    ),
    "address_failing": _note(
        0.05,
        "{measure}: of its requests {value} more failed.",
        meaning="the share of failed requests of the address that failed most, beyond that of the "
        "one that failed least",
    ),
    "tail": _note(
        0.05,
        "{measure} after the end of the load, which no rate counts.",
        meaning="how long after the measured time the last request ended, of that time",
    ),
    "co_located": _note(
        0.0,
        "Server and load generator share this machine. Network time isn't included.",
        meaning="the server runs on the load generator's machine",
    ),
    CROWDED: _note(
        0.5,
        "Other programs used {value} of the injector host's CPU.",
        cause="other programs used {value} of the CPU",
        remedy="Stop other programs on the injector host, or measure from a quieter machine.",
        who=Who.OTHERS,
        meaning="other programs than the run's injectors used the CPU of an injector host",
    ),
    CROWDED_BESIDE: _note(
        0.5,
        "Other programs and the target used {value} of the injector host's CPU.",
        cause="other programs and the target used {value} of the CPU",
        remedy="Stop other programs there, or measure from another machine than the target's.",
        who=Who.OTHERS,
        meaning="the same, where the target is one of them",
    ),
}
# Of the target, unless the measurement is in doubt: then the injectors may be the cause.
UNSENT = frozenset({"sent_share", "dropped", "slot_wait"})
# What lateness cannot falsify: told however busy the machine was.
CERTAIN = frozenset(
    {"no_success", "errors", "errors_at_limit", "extract_missed", ONLY_REDIRECTS, "body_changed"}
)
BUSY = UNSENT | {
    code for code, each in CRITERIA.items()
    if each.aspect == Aspect.MEASUREMENT and each.state == Trust.BUSY
}  # fmt: skip
