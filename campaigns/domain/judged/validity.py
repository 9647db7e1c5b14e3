"""Are a run's figures valid? Criteria with limits, and sentences that name the side at fault.

The worst reason decides. Limits and their sources: docs/measuring.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from campaigns.domain.lifecycle import Validity
from campaigns.domain.units import count, counted, percent
from campaigns.domain.units import ms as ms_text


@dataclass(frozen=True, slots=True)
class Limits:
    """The values from which a run is suspicious or invalid; None: never."""

    suspicious: float | None
    invalid: float | None


# Shares are fractions of 1; the injector's CPU share of one core, other processes' of the machine.
LIMITS: dict[str, Limits] = {
    "too_few_requests": Limits(1000, 100),
    "lateness_p99_us": Limits(2_000, 10_000),
    "lateness_p99_share": Limits(0.10, 0.25),
    "sent_share": Limits(0.999, 0.99),
    "dropped": Limits(0.001, 0.01),
    "cpu": Limits(0.60, 0.85),
    "cpu_5s": Limits(0.80, 0.95),
    "run_delay": Limits(0.10, 0.20),
    "hub_lag": Limits(100_000, 400_000),
    "hub_lag_p99": Limits(5_000, 25_000),
    "steal": Limits(0.02, 0.10),
    "other_cpu": Limits(0.20, 0.50),
    "gc_pause": Limits(10_000, 100_000),
    "gc_share": Limits(0.01, 0.05),
    "open_files": Limits(0.70, 0.95),
    "ports": Limits(0.70, None),
    "swapped": Limits(0, 100),
    "clock_step": Limits(50_000, 500_000),
    "starts_apart": Limits(100_000, 1_000_000),
    "link": Limits(0.80, None),
    "packets_lost": Limits(0.01, None),
    "resent": Limits(0.01, 0.05),
    "slot_wait": Limits(0.001, None),
    "injector_exhausted": Limits(None, 0),
    "little": Limits(0.05, 0.20),
    "missing_seconds": Limits(0.0, 0.01),
    "warming_up": Limits(0.0, None),
    "slowing_down": Limits(0.0, None),
    "in_doubt": Limits(0.0, 0.01),
    "errors": Limits(0.01, 0.10),
    "only_redirects": Limits(0.0, None),
    "body_changed": Limits(0.01, None),
    "co_located": Limits(0.0, None),
}


def limits_with(overrides: Mapping[str, Any]) -> dict[str, Limits]:
    """The limits with the settings' overrides, {code: (suspicious, invalid)}.

    Raises KeyError for a code that does not exist.
    """
    unknown = sorted(set(overrides) - set(LIMITS))
    if unknown:
        known = ", ".join(sorted(LIMITS))
        raise KeyError(
            f"VALIDITY_LIMITS has unknown codes: {', '.join(unknown)}. Known codes: {known}."
        )
    return {**LIMITS, **{code: Limits(*pair) for code, pair in overrides.items()}}


@dataclass(frozen=True, slots=True)
class Observed:
    """A criterion's worst value, and where it occurred.

    `injector` counts from 1 and is None if there is only one. `measure` names the value, such as
    p99.
    """

    value: float
    second: int | None = None
    injector: int | None = None
    measure: str = ""


# The reasons' sentences. {value}, {limit}: numbers with units; {who}: "The injector", or "Injector
# process 2" if there are several.
_SENTENCES: dict[str, str] = {
    "no_requests": "Nothing was measured: no request ended after the warm-up.",
    "no_success": "No request succeeded, so there are no response times. See the errors.",
    "too_few_requests": "Only {value} {were} measured. With fewer than {limit}, the p99 "
    "depends on a handful of them. Repeat the run or plan more requests.",
    "lateness_p99": "{who} sent late ({measure} {value}, limit {limit}). Its own delay is part of "
    "the response times.",
    "sent_share": "Only {value} of the planned requests were sent (limit {limit}).",
    "dropped": "{value} of the requests were dropped for lack of a free connection (limit "
    "{limit}).",
    "target_saturated": "The target did not keep up: {value} of the requests found all "
    "connections busy. The injector was on time, so this measures overload, not response times.",
    "cpu": "{who} was busy: {value} of a core on average (limit {limit}).",
    "cpu_5s": "{who} was busy: {value} of a core over five seconds (limit {limit}).",
    "run_delay": "{who} waited for a CPU {value} of the time (limit {limit}) while other "
    "programs ran.",
    "hub_lag": "{whose_} event loop stalled for {value} (limit {limit}).",
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
    "resent": "{value} of the TCP segments were retransmitted (limit {limit}): packets or their "
    "acknowledgements were lost or late, and the delay is part of the response times.",
    "slot_wait": "{value} of the requests waited because all connections were busy (limit "
    "{limit}): the target did not keep up, and the wait is part of the response times.",
    "injector_exhausted": "The injector host ran out of open files or ports for {value}. "
    "The target is not the cause.",
    "little": "Requests in flight and response times disagree by {value} (limit {limit}): some of "
    "the waiting was not timed.",
    "missing_seconds": "{value} of the seconds are missing.",
    "warming_up": "Response times became steady only after {value} of the run (limit {limit}) and "
    "were longer before. Use a longer warm-up.",
    "slowing_down": "Response times rose after {value} of the run (limit {limit}) and stayed "
    "higher. One figure for the whole run hides that.",
    "in_doubt": "Up to {value} of the replies (limit {limit}) may belong to other requests: on "
    "some connection the server sent more replies than there were requests.",
    "errors": "{value} of the requests failed at the target (limit {limit}). Response times only "
    "include those that succeeded.",
    "only_redirects": "Every reply was a redirect. This measures the redirect, not the page.",
    "body_changed": "The size of the response bodies changed by {value} (limit {limit}): before "
    "and after, it is not the same page.",
    "co_located": "The target runs on the injector host: they share its CPU, and no real "
    "network is involved.",
}
_TIMES = {"lateness_p99", "hub_lag", "hub_lag_p99", "gc_pause", "clock_step", "starts_apart"}
_COUNTS = {"too_few_requests": "requests", "injector_exhausted": "requests", "swapped": "pages"}
# For these, `second` is the start of the last stretch at one level.
_STRETCHES = {"warming_up", "slowing_down"}
_LESS_IS_WORSE = {"too_few_requests", "sent_share"}


def judge(
    observed: Mapping[str, Observed],
    limits: Mapping[str, Limits] = LIMITS,
    headline_us: float | None = None,
) -> tuple[Validity, list[dict[str, Any]]]:
    """The worst state and its reasons, [{code, validity, value, limit, second, text}], worst first.

    `observed` is keyed by the codes of LIMITS and "lateness_p99", without criteria that could not
    be observed. `headline_us` is the run's own p99 (p90 in short runs), to which lateness is
    compared.
    """
    if not observed["too_few_requests"].value:
        return Validity.INVALID, [_reason("no_requests", Validity.INVALID, Observed(0), None)]
    found = [
        reason
        for code, seen in observed.items()
        if (reason := _judge_one(code, seen, limits_of(code, limits, headline_us)))
    ]
    found = _blame_the_target_when_the_injector_was_on_time(found)
    if headline_us is None:
        found.append(_reason("no_success", Validity.INVALID, Observed(0), None))
    found.sort(key=lambda reason: reason["validity"] != Validity.INVALID)
    return _worst(found), found


def _worst(reasons: list[dict[str, Any]]) -> Validity:
    return Validity(reasons[0]["validity"]) if reasons else Validity.VALID


def limits_of(code: str, limits: Mapping[str, Limits], headline_us: float | None) -> Limits:
    """The limits of one criterion; for lateness the larger of a time and a share."""
    if code != "lateness_p99":
        return limits[code]
    time, part = limits["lateness_p99_us"], limits["lateness_p99_share"]
    headline = headline_us or 0.0
    return Limits(
        max(time.suspicious, part.suspicious * headline), max(time.invalid, part.invalid * headline)
    )


def _judge_one(code: str, seen: Observed, limits: Limits) -> dict[str, Any] | None:
    for validity, limit in (
        (Validity.INVALID, limits.invalid),
        (Validity.SUSPICIOUS, limits.suspicious),
    ):
        if limit is not None and _is_beyond(code, seen.value, limit):
            return _reason(code, validity, seen, limit)
    return None


def _is_beyond(code: str, value: float, limit: float) -> bool:
    return value < limit if code in _LESS_IS_WORSE else value > limit


def _reason(code: str, validity: Validity, seen: Observed, limit: float | None) -> dict[str, Any]:
    who = f"Injector process {seen.injector}" if seen.injector else "The injector"
    text = _SENTENCES[code].format(
        value=_shown(code, seen.value),
        were="was" if seen.value == 1 else "were",
        limit="" if limit is None else _limit_text(code, limit),
        who=who,
        whose=f"{who[0].lower()}{who[1:]}'s",
        whose_=f"{who}'s",
        measure=seen.measure,
    )
    return {
        "code": code,
        "validity": str(validity),
        "value": seen.value,
        "limit": limit,
        "second": seen.second,
        "text": text if seen.second is None else f"{text} {_place(code, seen.second)}",
    }


def _place(code: str, second: int) -> str:
    if code in _STRETCHES:
        return f"Steady from second {second} on."
    return f"Worst in second {second}."


def _shown(code: str, value: float) -> str:
    if code in _TIMES:
        return ms_text(value)
    return counted(int(value), _COUNTS[code]) if code in _COUNTS else percent(value)


def _limit_text(code: str, limit: float) -> str:
    """The limit without its noun, which the value already has."""
    return count(int(limit)) if code in _COUNTS else _shown(code, limit)


def _blame_the_target_when_the_injector_was_on_time(reasons: list[dict]) -> list[dict]:
    """Unsent and dropped requests are the injector's fault only if it also sent late."""
    if any(reason["code"] == "lateness_p99" for reason in reasons):
        return reasons
    return [_without_blame(reason) for reason in reasons]


def _without_blame(reason: dict[str, Any]) -> dict[str, Any]:
    if reason["validity"] != Validity.INVALID or reason["code"] not in {"dropped", "sent_share"}:
        return reason
    if reason["code"] == "sent_share":
        return {**reason, "validity": str(Validity.SUSPICIOUS)}
    seen = Observed(reason["value"], reason["second"])
    return _reason("target_saturated", Validity.SUSPICIOUS, seen, reason["limit"])
