"""The parts of a run that tables have a row of: its flows, each with its steps below it, or its
steps alone."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.snapshot import Total
from campaigns.domain.plan.flows import steps_of


@dataclass(frozen=True, slots=True)
class RunPart:
    """`kind`: flow or step. `link`: which, {"flow": its name} or {"step": its number from 0}."""

    kind: str
    label: str
    total: Total
    link: dict[str, Any]


def parts_of(run: Measurement) -> list[RunPart]:
    """[] for the only step of a plan without flows."""
    plan = run.plan
    steps = [
        RunPart("step", label, total, {"step": number})
        for number, (label, total) in enumerate(zip(plan.labels, run.steps, strict=False))
    ]
    if plan.flows:
        return list(_with_flows(run, steps))
    return steps if len(plan.labels) > 1 else []


def _with_flows(run: Measurement, steps: list[RunPart]) -> Iterator[RunPart]:
    flows = run.plan.flows
    for flow, total, numbers in zip(flows, run.flows, steps_of(flows), strict=True):
        yield RunPart("flow", flow.name, total, {"flow": flow.name})
        yield from steps[numbers.start : numbers.stop]
