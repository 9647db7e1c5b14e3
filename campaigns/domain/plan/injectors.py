"""A plan's load for a number of injectors, or why they cannot share it."""

from dataclasses import replace

from campaigns.domain.plan.load import MAX_CONNECTIONS, MAX_REQUESTS, Load, Model, late_start_fault
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.shards import LoadSlice, split
from campaigns.domain.units import counted


def plan_for(plan: Plan, injectors: int) -> Plan:
    """The plan with the total load of all injectors, as stored in a run."""
    return replace(plan, load=load_for(plan.load, injectors))


def load_for(load: Load, injectors: int) -> Load:
    """A per-injector load times their number; any other load unchanged.

    Several injectors with sequential loads become one closed load with as many connections.
    """
    if not load.per_injector:
        return load
    whole = replace(load, per_injector=False, requests=load.requests and load.requests * injectors)
    if load.model == Model.CLOSED:
        return replace(whole, connections=load.connections * injectors)
    if load.model == Model.SEQUENTIAL and injectors > 1:
        return replace(whole, model=Model.CLOSED, connections=injectors)
    return whole


def largest_share(load: Load, injectors: int) -> float:
    """The part of the load that the busiest injector has."""
    return max(load.shares) / sum(load.shares) if load.shares else 1 / injectors


def _without_share(whole: Load, injectors: int) -> int | None:
    """The number, from 1, of an injector whose share is empty, or None."""
    shards = [LoadSlice(index, injectors, whole.shares) for index in range(injectors)]
    for shard in shards:
        counts = [len(shard.own(0, whole.connections))] if whole.connections else []
        if whole.requests:
            counts += [split(whole.requests, shard), len(shard.own(0, whole.requests))]
        if 0 in counts:
            return shard.index + 1
    return None


def share_fault(load: Load, injectors: int) -> str | None:
    """Why this many injectors cannot share the load, or None. The text follows a name."""
    whole = load_for(load, injectors)
    for count, most, noun in (
        (whole.connections, MAX_CONNECTIONS, "connections"),
        (whole.requests, MAX_REQUESTS, "requests"),
    ):
        if count is not None and count > most:
            processes = counted(injectors, "injector processes")
            return f"has {counted(count, noun)} with {processes}, at most {most:,} are possible"
    if load.shares and len(load.shares) != injectors:
        shares = counted(len(load.shares), "injector processes")
        return f"has shares for {shares}, not for {injectors}"
    if injectors == 1:
        return None
    if whole.model == Model.SEQUENTIAL:
        return "sends one request after the other: use one injector process"
    for count, noun in ((whole.connections, "connections"), (whole.requests, "requests")):
        if count is not None and count < injectors:
            return f"has {counted(count, noun)}, too few to share among {injectors}"
    if idle := _without_share(whole, injectors):
        return f"has too few connections or requests for its shares: process {idle} would get none"
    late = late_start_fault(whole, injectors)
    return late and f"cannot be shared so: {late}"
