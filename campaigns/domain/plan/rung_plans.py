"""The plans of a ladder's rungs, made from the plan that says what is sent, and what they take."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.estimates import Estimate, estimate_campaign
from campaigns.domain.plan.http_version import HttpVersion
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.rungs import Rung

AT_ONCE_S = 10  # what a load of 32 requests at a time measures


def spec_of_rung(plan: Plan, rung: Rung) -> tuple[dict[str, Any], str]:
    """(the plan's JSON on this rung, what its name adds). One that no plan may have is as it was
    asked for, and refused where it is read."""
    changed = replace(plan, http_version=rung.http, streams=rung.streams).to_json()
    name = "HTTP/2" if rung.http == HttpVersion.HTTP_2 else "HTTP/1.1"
    if rung.connections is None:
        return changed, name
    changed["load"] = {
        "model": "closed",
        "connections": rung.connections,
        "duration_s": AT_ONCE_S,
    }
    name += f", {rung.connections} × {rung.streams} at once"
    try:
        return Plan.from_json(changed).to_json(), name
    except InvalidPlan:
        return changed, name


def estimate_ladder(plan: Plan, rungs: Iterable[Rung], *, repeats: int, pause_s: float) -> Estimate:
    """What these rungs take, without those that cannot send the plan."""
    return estimate_campaign(list(_tests(plan, rungs)), repeats=repeats, pause_s=pause_s)


def _tests(plan: Plan, rungs: Iterable[Rung]) -> Iterator[tuple[Plan, ConnectionMode, int]]:
    for rung in rungs:
        try:
            yield Plan.from_json(spec_of_rung(plan, rung)[0]), rung.mode, 1
        except InvalidPlan:
            continue
