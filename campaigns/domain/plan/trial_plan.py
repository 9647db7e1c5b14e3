"""A plan as a trial of a search sends it: its own requests, at one rate for a while."""

from collections.abc import Sequence
from typing import Any

from campaigns.domain.plan.load import Model
from campaigns.domain.plan.plan import Plan

# What an open load keeps for its trials; the rest of the load is the trial's own.
_KEPT = ("distribution", "arrival_unit", "max_in_flight", "when_saturated", "shares")


def trial_plan(
    plan: Plan, rate_per_s: float, trial_s: float, objective: Sequence[dict[str, Any]] = ()
) -> Plan:
    """`objective`: rules as JSON that replace the plan's own, if there are any. Raises InvalidPlan
    if its requests cannot be sent like this."""
    spec = plan.to_json()
    if objective:
        spec["thresholds"] = list(objective)
    load = spec["load"] if plan.load.model == Model.OPEN else {}
    kept = {name: load[name] for name in _KEPT if load.get(name) is not None}
    trial = {"model": "open", "rate_per_s": rate_per_s, "duration_s": trial_s}
    return Plan.from_json({**spec, "load": {**kept, **trial}})
