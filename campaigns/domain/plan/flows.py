"""Flows: several ways of users through the steps of one plan, each with its share of the sessions.

The flow of session k is the same for every injector. After any number of sessions from the first,
each flow has had its share of them, rounded down or up. What that leaves open is drawn by the seed:
in a fixed order a flow could always meet the same injector, or the same row of values.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import ceil, gcd, lcm
from typing import Any

import numpy as np

from campaigns.domain.plan.load import ArrivalUnit, Load, Model
from campaigns.domain.plan.step import IN_TURNS, MAX_STEPS, Step, StepOrder, draw
from campaigns.domain.plan.threshold import KINDS_IN_RULES
from campaigns.domain.plan.variables import Variables, declared_names, names_used
from campaigns.domain.typed_text import JsonReader, clean_name

MAX_FLOW_NAME = 40
MAX_SHARE = 1_000_000
# Sessions after which the shares come out even, at most.
MAX_PERIOD = 10_000
# The order repeats after at least so many sessions.
_LEAST_PERIOD = 1000
_STREAM = 0x666C6F77
# What a rule could not tell from its own words: p95 of step 2 < 300 ms.
_NO_NAME = re.compile(r"step \d+|.*[<>,].*|(.* )?of( .*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Flow:
    """`steps`: how many of the plan's steps it has, which follow those of the flow before."""

    name: str
    share: float
    steps: int

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "share": self.share, "steps": self.steps}


def parse_flow(text: str) -> dict[str, Any]:
    """browse=90:3 as JSON. Raises ValueError."""
    name, _, numbers = text.rpartition("=")
    share, colon, steps = numbers.partition(":")
    try:
        if not colon:
            raise ValueError
        return {"name": name, "share": float(share), "steps": int(steps)}
    except ValueError:
        raise ValueError(f"{text!r}: write name, share and steps, as in browse=90:3.") from None


def steps_of(flows: Sequence[Flow]) -> list[range]:
    """The numbers of each flow's steps."""
    ends = accumulate(flow.steps for flow in flows)
    return [range(end - flow.steps, end) for flow, end in zip(flows, ends, strict=True)]


def weights_of(flows: Sequence[Flow]) -> tuple[int, ...]:
    """The shares as the smallest whole numbers."""
    exact = [Fraction(str(flow.share)) for flow in flows]
    whole = [int(each * lcm(*(each.denominator for each in exact))) for each in exact]
    return tuple(each // gcd(*whole) for each in whole)


def mean_steps(flows: Sequence[Flow]) -> Fraction:
    """How many steps a session has on average."""
    weights = weights_of(flows)
    n_steps = sum(weight * flow.steps for weight, flow in zip(weights, flows, strict=True))
    return Fraction(n_steps, sum(weights))


def sessions_of(flows: Sequence[Flow], n_sessions: int | Fraction) -> list[Fraction]:
    """Each flow's share of so many sessions, exactly."""
    weights = weights_of(flows)
    return [Fraction(n_sessions * weight, sum(weights)) for weight in weights]


def requests_of(flows: Sequence[Flow], n_sessions: int) -> int | None:
    """Those of so many sessions; None where the seed decides."""
    each = sessions_of(flows, n_sessions)
    is_even = all(share.denominator == 1 for share in each)
    if not is_even and len({flow.steps for flow in flows}) > 1:
        return None
    return int(n_sessions * mean_steps(flows))


@lru_cache(maxsize=64)
def flow_order(weights: tuple[int, ...], seed: int) -> tuple[int, ...]:
    """Session k has the flow at place k modulo the length.

    Of weight w in their sum W, a flow has had count c by place k. It may come if it is not ahead,
    c·W < (k + 1)·w. Its next place is due by ⌈(c + 1)·W / w⌉. Where the places up to h are as many
    as are due by then, Σ max(0, ⌊h·w / W⌋ − c) = h − k, no flow may come that is due later.
    """
    whole = sum(weights)
    places = np.arange(1, whole + 1)
    spare = places - sum(places * weight // whole for weight in weights)
    order: list[int] = []
    for number in range(ceil(_LEAST_PERIOD / whole) * whole):
        place = number % whole
        if not place:
            slack, counts = spare.copy(), [0] * len(weights)
        limit = place + 1 + int(np.argmin(slack[place:]))
        pairs = list(zip(counts, weights, strict=True))
        dues = [-(-(count + 1) * whole // weight) for count, weight in pairs]
        chances = [
            (weight - count) * (count * whole < (place + 1) * weight and due <= limit)
            for (count, weight), due in zip(pairs, dues, strict=True)
        ]
        ends = list(accumulate(chances))
        point = draw(seed ^ _STREAM, number) * ends[-1] >> 64
        flow = next(index for index, end in enumerate(ends) if point < end)
        slack[place : dues[flow] - 1] -= 1
        counts[flow] += 1
        order.append(flow)
    return tuple(order)


def read_flows(reader: JsonReader, n_steps: int) -> tuple[Flow, ...]:
    """The field `flows` of a plan with so many steps; what is wrong goes to the reader's errors."""
    raw = reader.data.get("flows") or []
    if not isinstance(raw, list | tuple) or len(raw) > MAX_STEPS:
        reader.fail("flows", f"Write a list of at most {MAX_STEPS} flows.")
        return ()
    flows = tuple(
        _read_flow(JsonReader(item, f"flows.{index}", reader.errors))
        for index, item in enumerate(raw)
    )
    if not flows or any(name.startswith("flows.") for name in reader.errors):
        return ()
    n_in_all = sum(flow.steps for flow in flows)
    if n_steps and n_in_all != n_steps:
        reader.fail(
            "flows", f"Each step belongs to one flow; these have {n_in_all}, the plan {n_steps}."
        )
    names = [flow.name.casefold() for flow in flows]
    if len(set(names)) < len(names):
        reader.fail("flows", "Give each flow a name of its own.")
    if sum(weights_of(flows)) > MAX_PERIOD:
        reader.fail(
            "flows", f"Round the shares: they must come out even within {MAX_PERIOD:,} sessions."
        )
    return () if "flows" in reader.errors else flows


def _read_flow(reader: JsonReader) -> Flow:
    reader.refuse_unknown("name", "share", "steps")
    name = clean_name(reader.text("name", "", limit=MAX_FLOW_NAME))
    if not name:
        reader.fail("name", "Give the flow a name, such as browse.")
    elif _NO_NAME.fullmatch(name) or name in KINDS_IN_RULES:
        reader.fail("name", f"Choose another name; in a rule {name!r} has a meaning already.")
    for field in ("share", "steps"):
        if reader.data.get(field) in (None, ""):
            reader.fail(field, "Write a number.")
    share = reader.number("share", 1.0, low=0, high=MAX_SHARE, above_low=True)
    return Flow(name, share, reader.number("steps", 1, low=1, high=MAX_STEPS, whole=True))


def flow_faults(
    flows: Sequence[Flow],
    load: Load,
    order: StepOrder,
    steps: Sequence[Step],
    variables: Variables,
) -> Iterator[tuple[str, str]]:
    """(field, sentence) for what does not go together with flows."""
    if load.model == Model.WINDOW:
        yield "flows", "A window opens connections, and flows are what users do; choose closed."
    elif load.model in {Model.OPEN, Model.OVER} and load.arrival_unit != ArrivalUnit.SESSION:
        yield "load.arrival_unit", "Flows are what users do; let sessions arrive."
    if order != IN_TURNS:
        yield "order.kind", "A user sends the steps of a flow one after another; choose in turns."
    of_table, of_plan = declared_names(variables, ()), declared_names(variables, steps)
    for index, (flow, numbers) in enumerate(zip(flows, steps_of(flows), strict=True)):
        own = [steps[number] for number in numbers]
        uses = {name for step in own for name in names_used(step)} & of_plan
        if foreign := sorted(uses - of_table - declared_names(variables, own)):
            yield (
                f"flows.{index}",
                f"{flow.name} uses ${{{foreign[0]}}}, which only a step of another flow gives.",
            )
