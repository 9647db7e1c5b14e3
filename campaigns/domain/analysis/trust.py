"""Can the measurement be trusted? Whether the injectors measured what they claim.

Everything here is about the injectors and their machines; a bad target makes no measurement
doubtful. The worst reason decides.
"""

from collections.abc import Mapping

from campaigns.domain.analysis.criteria import JudgementReason, Limits, Observed, excess, reason_for
from campaigns.domain.analysis.observations import judged_percentile
from campaigns.domain.lifecycle import Trust
from campaigns.domain.metrics.snapshot import Timing

# The same as own_time_p99 below the limit of doubt: a note, and the percentile is marked as weak.
OWN_TAIL = "own_tail"
# From this run_delay on, if other programs use so many cores, they compete for the injector's: then
# the p99 is doubted as soon as it would be noted, because what the injector added is no whim of the
# hypervisor. Waiting alone does not show it: an injector that hardly wants a CPU waits for a large
# part of that little time until its virtual processor is woken up.
_CONTENDED, _OTHERS = "contended_share", "other_cores"
# The largest own_time_p99 that the sample of timed requests allows for the whole run. It is judged
# where others compete: a tail of about a hundredth is in one sample's p99, and not in another's.
_EDGE = "own_edge"
# Shares are fractions of 1; the injector's CPU share of one core, other processes' of the machine.
LIMITS: dict[str, Limits] = {
    "no_seconds": Limits(None, 0),
    "lost_shards": Limits(None, 0),
    "own_time_us": Limits(400, 10_000),
    "own_time_p99_us": Limits(3_000, 10_000),
    "own_tail_us": Limits(1_000),
    "own_time_share": Limits(0.05, 0.25),
    "lateness_p99_us": Limits(1_000, 10_000),
    "lateness_p99_share": Limits(0.10, 0.25),
    "cpu": Limits(0.60, 0.85),
    "cpu_5s": Limits(0.80, 0.95),
    "run_delay": Limits(0.50),
    "contended_share": Limits(0.25),
    "other_cores": Limits(0.25),
    "throttled": Limits(0.01, 0.25),
    "hub_lag": Limits(100_000, 400_000),
    "hub_lag_p50_us": Limits(2_000, 10_000),
    "hub_lag_p99_us": Limits(3_000, 25_000),
    "hub_lag_share": Limits(0.10, 0.25),
    "steal": Limits(0.05, 0.10),
    "other_cpu": Limits(0.20, 0.50),
    "gc_pause": Limits(10_000, 100_000),
    "gc_share": Limits(0.01, 0.05),
    "open_files": Limits(0.70, 0.95),
    "ports": Limits(0.70),
    "swapped": Limits(0, 100),
    "clock_step": Limits(50_000, 500_000),
    "starts_apart": Limits(100_000, 1_000_000),
    "link": Limits(0.80),
    "packets_lost": Limits(0.01),
    "injector_exhausted": Limits(None, 0),
    "little": Limits(0.05, 0.20),
    "missing_seconds": Limits(0.0, 0.01),
    "in_doubt": Limits(0.0, 0.01),
}

# The larger of a time and a share of the run's own times is the limit.
_RELATIVE: dict[str, tuple[str, str]] = {
    "own_time": ("own_time_us", "own_time_share"),
    "own_time_p99": ("own_time_p99_us", "own_time_share"),
    OWN_TAIL: ("own_tail_us", "own_time_share"),
    "lateness_p99": ("lateness_p99_us", "lateness_p99_share"),
    "hub_lag_p50": ("hub_lag_p50_us", "hub_lag_share"),
    "hub_lag_p99": ("hub_lag_p99_us", "hub_lag_share"),
}
# Beyond the severe limit of these nothing is known; of all others, a busy machine's, the median
# without its part still is.
_FATAL = {
    "no_seconds", "lost_shards", "injector_exhausted", "little", "missing_seconds", "in_doubt",
}  # fmt: skip
# What the injectors added to the times, where it was measured; and what may have made them late.
# Causes without an effect are no doubt. Sending late is in the high percentile's effect only.
HIGH_EFFECT = "own_time_p99"
_EFFECTS = frozenset({"own_time", HIGH_EFFECT})
_CAUSES = frozenset(
    {"run_delay", "hub_lag_p50", "hub_lag_p99", "gc_pause", "gc_share", "other_cpu"}
)

_STARVED = (
    "{who} was starved: about {value} of the times are its own ({measure} without it {whole}, "
    "limit {limit})."
)
_SENTENCES: dict[str, str] = {
    "own_time": _STARVED,
    "own_time_p99": _STARVED,
    "no_seconds": "The injector delivered no measurements.",
    "lost_shards": "{value} {were} lost during the run: what was measured is incomplete.",
    "lateness_p99": "{who} sent late ({measure} {value}, limit {limit}). Its own delay is part of "
    "the response times.",
    "cpu": "{who} was busy: {value} of a core on average (limit {limit}).",
    "cpu_5s": "{who} was busy: {value} of a core over five seconds (limit {limit}).",
    "run_delay": "{who} had to wait for a CPU {value} of the time that it wanted one (limit "
    "{limit}): other programs ran.",
    "throttled": "{who} had used up its CPU quota {value} of the time (limit {limit}). Raise the "
    "quota of its container or service to a whole core.",
    "hub_lag": "{whose_} event loop stalled for {value} (limit {limit}).",
    "hub_lag_p50": "{who} was slow to react ({measure} {value}, limit {limit}). Its own delay is "
    "part of the response times.",
    "hub_lag_p99": "{who} was slow to react ({measure} {value}, limit {limit}). Its own delay is "
    "part of the response times.",
    "steal": "The hypervisor gave {value} of {whose} CPU to other machines (limit {limit}).",
    "other_cpu": "Other programs used {value} of the CPU of {whose} machine (limit {limit}).",
    "gc_pause": "A garbage collection paused {whose} process for {value} (limit {limit}).",
    "gc_share": "{who} spent {value} of the time on garbage collection (limit {limit}).",
    "open_files": "{who} used {value} of its open files (limit {limit}). Raise the limit "
    "(ulimit -n).",
    "ports": "{value} of the local ports of {whose} machine were in use (limit {limit}). More "
    "connections may fail.",
    "swapped": "{whose_} machine swapped {value} within a second (limit {limit}). Waiting for "
    "swapped memory is part of the response times.",
    "clock_step": "The wall clock of {whose} machine jumped by {value} (limit {limit}): the "
    "machine was suspended, or its clock was set. Durations use another clock, but the run's "
    "times of day may not match other logs.",
    "starts_apart": "The injector processes may have started up to {value} apart (limit {limit}): "
    "they share the database's clock, and the connection to it is slow for one of them.",
    "link": "A network link of {whose} machine was {value} full (limit {limit}). The link was "
    "measured, not the target.",
    "packets_lost": "{whose_} machine lost {value} of its network packets within a second (limit "
    "{limit}). The delays that follow are not the target's.",
    "injector_exhausted": "The injector host ran out of open files or ports for {value}. "
    "The target is not the cause.",
    "little": "Requests in flight and response times disagree by {value} (limit {limit}): some of "
    "the waiting was not timed.",
    "missing_seconds": "{value} of the seconds are missing.",
    "in_doubt": "Up to {value} of the replies (limit {limit}) may belong to other requests: on "
    "some connection the server sent more replies than there were requests.",
}
# The same as of the target, while the injectors are in doubt: then they may be the cause.
_UNSENT: dict[str, str] = {
    "sent_share": "Only {value} of the planned requests were sent (limit {limit}).",
    "dropped": "{value} of the requests were dropped for lack of a free connection (limit "
    "{limit}).",
    "slot_wait": "{value} of the requests waited for a free connection (limit {limit}).",
}
_PARTS = {part for parts in _RELATIVE.values() for part in parts}
CODES = ({*LIMITS} - _PARTS | {*_RELATIVE}) - {OWN_TAIL, _CONTENDED, _OTHERS}
UNSENT = frozenset(_UNSENT)
# Reasons that a busy machine gives: they falsify times, never what was answered.
BUSY = CODES - _FATAL
_WORST_FIRST = list(reversed(Trust))


def reasons_of_measurement(
    observed: Mapping[str, Observed], limits: Mapping[str, Limits], response: Timing
) -> list[JudgementReason]:
    """Why the measurement cannot be trusted, worst first; [] if it can.

    `response` are the run's response times, to whose high percentile lateness is compared.
    """
    is_contended = HIGH_EFFECT in observed and _is_contended(observed, limits)
    if is_contended:
        observed = {**observed, HIGH_EFFECT: observed.get(_EDGE, observed[HIGH_EFFECT])}
    headline_us = response.percentile_us(judged_percentile(response.n)) or 0.0
    found = [
        reason
        for code, seen in observed.items()
        if code in CODES
        and (limit := _limits_in(observed, code, limits, headline_us))
        and (reason := _reason(code, _SENTENCES, seen, limit))
    ]
    if not any(reason.code in _EFFECTS for reason in found):
        # The causes whose effect was measured are no doubt.
        causes = _CAUSES if _EFFECTS & observed.keys() else frozenset()
        causes |= {"lateness_p99"} if HIGH_EFFECT in observed else set()
        found = [reason for reason in found if reason.code not in causes]
    if found and "no_seconds" not in observed:
        found += [
            reason
            for code in sorted(UNSENT & observed.keys())
            if (reason := _reason(code, _UNSENT, observed[code], limits[code]))
        ]
    return sorted(found, key=lambda reason: _WORST_FIRST.index(reason.state))


def _limits_in(
    observed: Mapping[str, Observed], code: str, limits: Mapping[str, Limits], headline_us: float
) -> Limits:
    found = limits_of(code, limits, observed[code], headline_us)
    if code == HIGH_EFFECT and _is_contended(observed, limits):
        return Limits(limits_of(OWN_TAIL, limits, observed[code]).mild, found.severe)
    return found


def _is_contended(observed: Mapping[str, Observed], limits: Mapping[str, Limits]) -> bool:
    """Each wait for the network may wake up a halted processor, which counts as waiting for it: so
    the limit holds for the waiting of one wait, against the CPU time of the request."""
    waited, share = observed.get("run_delay"), limits[_CONTENDED].mild
    others = observed.get(_OTHERS)  # they may use the machine where nobody looked
    is_alone = others is not None and excess(_OTHERS, others.value, limits[_OTHERS]) is None
    if waited is None or share is None or is_alone:
        return False
    waits = observed[HIGH_EFFECT].waits
    return waited.value > share * waits / (1 + share * (waits - 1))


def _reason(
    code: str, sentences: Mapping[str, str], seen: Observed, limits: Limits
) -> JudgementReason | None:
    beyond = excess(code, seen.value, limits)
    if beyond is None:
        return None
    severe = Trust.NOT_USABLE if code in _FATAL else Trust.BUSY
    state = severe if beyond.is_severe else Trust.DOUBTFUL
    return reason_for(code, state, sentences, seen, beyond.limit)


def limits_of(
    code: str, limits: Mapping[str, Limits], seen: Observed, headline_us: float = 0.0
) -> Limits:
    """The limits of one criterion; of some the larger of a time and a share of the run's times."""
    if code not in _RELATIVE:
        return limits[code]
    time, part = (limits[name] for name in _RELATIVE[code])
    whole_us = seen.whole or headline_us
    return Limits(
        _larger(time.mild, part.mild, seen.waits, whole_us),
        _larger(time.severe, part.severe, 1, whole_us),
    )


def _larger(
    time_us: float | None, share: float | None, waits: float, whole_us: float
) -> float | None:
    """None, that is never, if either is."""
    return None if time_us is None or share is None else max(time_us * waits, share * whole_us)
