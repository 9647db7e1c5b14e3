"""How was the target? Healthy, changing, overloaded or failing: a result, not a fault of the run.

A starved injector makes any target look slow, so overload is claimed only of trusted measurements;
what a target answered is CERTAIN.
"""

from collections.abc import Mapping

from campaigns.domain.analysis.criteria import (
    TARGET_MACHINE,
    JudgementReason,
    Limits,
    Observed,
    excess,
    reason_for,
)
from campaigns.domain.lifecycle import TargetState

LIMITS: dict[str, Limits] = {
    "no_success": Limits(0),
    "errors": Limits(0.01),
    "errors_at_limit": Limits(0.01),
    "only_redirects": Limits(0.0),
    "sent_share": Limits(0.999, 0.99),
    "dropped": Limits(0.001, 0.01),
    "slot_wait": Limits(0.001),
    "in_flight_growing": Limits(0.02),
    "resent": Limits(0.01),
    "slowing_down": Limits(0.0),
    "warming_up": Limits(0.0),
    "longer_for_a_while": Limits(0.0),
    "shorter_for_a_while": Limits(0.0),
    "body_changed": Limits(0.01),
    "target_cpu": Limits(4.5),
    "target_link": Limits(4.5),
    "listen_overflows": Limits(0.001),
}

# Beyond the severe limit of `dropped`, response times are those of the requests that got through.
SATURATED = "target_saturated"
ONLY_REDIRECTS = "only_redirects"
OVERLOADS = frozenset({SATURATED, "in_flight_growing"})

STATES: dict[str, TargetState] = {
    "no_success": TargetState.FAILING,
    "errors": TargetState.FAILING,
    # The plan counts redirects as right, so nothing failed; that nothing else came is told first.
    ONLY_REDIRECTS: TargetState.HEALTHY,
    "errors_at_limit": TargetState.OVERLOADED,
    SATURATED: TargetState.OVERLOADED,
    "sent_share": TargetState.OVERLOADED,
    "dropped": TargetState.OVERLOADED,
    "slot_wait": TargetState.OVERLOADED,
    "in_flight_growing": TargetState.OVERLOADED,
    # Packets are lost where a queue overflows: in the target or on the way to it.
    "resent": TargetState.OVERLOADED,
    # Of its machine, by an agent; after the others, which say what came of it.
    **dict.fromkeys(TARGET_MACHINE, TargetState.OVERLOADED),
    "slowing_down": TargetState.CHANGING,
    "warming_up": TargetState.CHANGING,
    "longer_for_a_while": TargetState.CHANGING,
    "shorter_for_a_while": TargetState.CHANGING,
    "body_changed": TargetState.CHANGING,
}
# Told even of a starved injector, which cannot be the cause.
CERTAIN = frozenset({"no_success", "errors", "errors_at_limit", ONLY_REDIRECTS, "body_changed"})

RAN_OUT: dict[str, str] = {
    "target_cpu": "The target's CPU was at 100\u202f%",
    "target_link": "The target's network link was full",
    "listen_overflows": "The target's listen queue overflowed",
}
_SENTENCES: dict[str, str] = {
    "no_success": "No request succeeded ({measure}), so there are no response times.",
    "errors": "{value} of the requests failed ({measure}). Response times are of the other {rest}.",
    "errors_at_limit": "{value} of the requests failed ({measure}) at the limit that was looked "
    "for. Response times are of the other {rest}.",
    "only_redirects": "Every reply was a redirect. This measures the redirect, not the page.",
    SATURATED: "The target did not keep up: {value} of the requests found all connections busy. "
    "The injector was on time, so this measures overload, not response times.",
    "sent_share": "Only {value} of the planned requests were sent (limit {limit}), although the "
    "injector was on time.",
    "dropped": "{value} of the requests were dropped for lack of a free connection (limit "
    "{limit}).",
    "slot_wait": "{value} of the requests waited because all connections were busy (limit "
    "{limit}): the target did not keep up, and the wait is part of the response times.",
    "in_flight_growing": "The target did not keep up: of what was sent in the second half of the "
    "run, {value} were left waiting (limit {limit}). Response times rise for as long as the load "
    "lasts, so this measures overload.",
    "resent": "{value} of the TCP segments were retransmitted (limit {limit}): the network or the "
    "target lost packets or was late, and the delay is part of the response times.",
    **{code: f"{words}{{measure}}." for code, words in RAN_OUT.items()},
    "slowing_down": "Response times rose after {value} of the run (limit {limit}) and stayed "
    "higher. One figure for the whole run hides that.",
    "warming_up": "Response times became steady only after {value} of the run (limit {limit}) and "
    "were longer before. Use a longer warm-up.",
    "longer_for_a_while": "Response times were longer for {value} of the run (limit {limit}), "
    "{measure}, and then as before. One figure for the whole run hides that.",
    "shorter_for_a_while": "Response times were shorter for {value} of the run (limit {limit}), "
    "{measure}, and then as before. One figure for the whole run hides that.",
    "body_changed": "The size of the response bodies changed by {value} (limit {limit}): before "
    "and after, it is not the same page.",
}


def reasons_of_target(
    observed: Mapping[str, Observed], limits: Mapping[str, Limits]
) -> list[JudgementReason]:
    """What was wrong with the target, worst first, and what to know of a healthy one."""
    found = [
        reason
        for code, seen in observed.items()
        if code in LIMITS and (reason := _reason(code, seen, limits[code]))
    ]
    worst_first = list(reversed(TargetState))
    return sorted(found, key=lambda reason: worst_first.index(reason.state))


def _reason(code: str, seen: Observed, limits: Limits) -> JudgementReason | None:
    beyond = excess(code, seen.value, limits)
    if beyond is None:
        return None
    if code == "dropped" and beyond.is_severe:
        code = SATURATED
    return reason_for(code, STATES[code], _SENTENCES, seen, beyond.limit)
