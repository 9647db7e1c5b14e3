"""The parts of a run that tables have a row of: its flows, each with its steps below it, or its
steps alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.snapshot import Total
from campaigns.domain.plan.flows import steps_of


@dataclass(frozen=True, slots=True)
class Part:
    """`kind`: flow or step. `link`: which, {"flow": its name} or {"step": its number from 0}."""

    kind: str
    label: str
    total: Total
    link: dict[str, Any]


def parts_of(seen: Measurement) -> list[Part]:
    """[] for the only step of a plan without flows."""
    plan = seen.plan
    steps = [
        Part("step", label, total, {"step": number})
        for number, (label, total) in enumerate(zip(plan.labels, seen.steps, strict=False))
    ]
    if plan.flows:
        return list(_with_flows(seen, steps))
    return steps if len(plan.labels) > 1 else []


def _with_flows(seen: Measurement, steps: list[Part]) -> Iterator[Part]:
    flows = seen.plan.flows
    for flow, total, numbers in zip(flows, seen.flows, steps_of(flows), strict=True):
        yield Part("flow", flow.name, total, {"flow": flow.name})
        yield from steps[numbers.start : numbers.stop]
