"""All that determines what a run sends, copied when it is queued; later edits do not affect it. And
the plan as an injector gets it in its order, and as runs share its large parts.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any, Self

from campaigns.domain.plan.fields import PlanField, fields_of
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.target import Origin
from campaigns.domain.plan.threshold import SESSION_PREFIX
from campaigns.domain.plan.turns import MessagePlan, TurnsOrder, messages_take_turns, plan_at_pace

_FIRST_TIMES = ("p50", "p95", "p99", "mean", "max")
# The metrics of rules that protocol 1 began with.
_FIRST_METRICS = {
    *_FIRST_TIMES,
    *(SESSION_PREFIX + name for name in _FIRST_TIMES),
    *("errors", "rate", "sessions_failed", "session_rate"),
}


@lru_cache(maxsize=256)
def _parse(plan_json: str) -> Plan:
    return Plan.from_json(json.loads(plan_json))


@dataclass(frozen=True)
class FrozenRun:
    """`plan_json` is the plan as stored and sent to injectors; `plan` is its parsed value.
    `environment` has the target's facts, [["CPU", "4 × Xeon"], …]; injectors may connect only to
    `allowed_networks`. `swept`: the value that the run has of a sweep, in words. `turns`: with the
    arms of its campaign that it is measured side by side with; `pace`: of the injector's line, once
    its trial is over, and `measured_s` on the arm's own clock, once it has ended.
    """

    plan_json: Mapping[str, Any]
    plan_name: str
    plan_number: int
    endpoint: Origin
    connection_mode: ConnectionMode
    target: str
    environment: tuple[tuple[str, str], ...]
    seed: int
    allowed_networks: tuple[str, ...]
    swept: str = ""
    turns: TurnsOrder | None = None
    pace: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def plan(self) -> Plan:
        """Parsed on first use: lists of runs need only names, and many runs have the same plan."""
        plan = _parse(json.dumps(self.plan_json))
        if self.turns and messages_take_turns(plan):
            plan = MessagePlan(*(getattr(plan, each.name) for each in fields(plan)))
        return plan_at_pace(plan, self.pace) if self.pace else plan

    @property
    def nouns(self) -> str:
        """What it counts."""
        return self.plan.nouns if self.is_exchange else "requests"

    @property
    def plan_label(self) -> str:
        """checkout v3, rate 200 requests/s"""
        return ", ".join(filter(None, [f"{self.plan_name} v{self.plan_number}", self.swept]))

    @property
    def arm_label(self) -> str:
        """HTTPS keep-alive, TLS 1.2 only"""
        words = f"{self.endpoint.scheme.upper()} {self.connection_mode}"
        return ", ".join(filter(None, [words, self.endpoint.tls.profile_name]))

    @property
    def is_exchange(self) -> bool:
        return self.plan_json.get("exchange") is not None

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """From the stored form, which `to_json` writes."""
        return cls(
            plan_json=data["plan"],
            plan_name=data["plan_name"],
            plan_number=data["plan_number"],
            endpoint=Origin.from_json(data["endpoint"]),
            connection_mode=ConnectionMode(data["connection_mode"]),
            target=data["target"],
            environment=tuple((name, value) for name, value in data["environment"]),
            seed=data["seed"],
            allowed_networks=tuple(data["policy"]["allow"]),
            swept=data.get("swept", ""),
            turns=TurnsOrder.from_json(data["turns"]) if "turns" in data else None,
            pace=data.get("pace", {}),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "plan": self.plan_json,
            "plan_name": self.plan_name,
            "plan_number": self.plan_number,
            "endpoint": self.endpoint.to_json(),
            "connection_mode": str(self.connection_mode),
            "target": self.target,
            "environment": [list(fact) for fact in self.environment],
            "seed": self.seed,
            "policy": {"allow": list(self.allowed_networks)},
            **({"swept": self.swept} if self.swept else {}),
            **({"turns": self.turns.to_json()} if self.turns else {}),
            **({"pace": self.pace} if self.pace else {}),
        }


# Bodies, headers and tables of values.
_LARGE_PARTS = ("steps", "variables")
_SMALL_CHARACTERS = 4000
_VERSION = "parts_of"


def without_parts(plan: Mapping[str, Any], spec: Mapping[str, Any], version: int) -> dict[str, Any]:
    """The stored plan of a run, without the large parts that its version's `spec` has as well."""
    parts = {name for name in _LARGE_PARTS if name in plan and plan[name] == spec.get(name)}
    if sum(len(json.dumps(plan[name])) for name in parts) <= _SMALL_CHARACTERS:
        return dict(plan)
    rest = {name: value for name, value in plan.items() if name not in parts}
    return {**rest, _VERSION: version}


def version_of_parts(plan: Mapping[str, Any]) -> int | None:
    """The version that has the parts that are missing here; None for a whole plan."""
    return plan.get(_VERSION)


def with_parts(plan: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """What `without_parts` was given."""
    parts = {name: spec[name] for name in _LARGE_PARTS if name in spec}
    return {name: value for name, value in {**parts, **plan}.items() if name != _VERSION}


def ordered_plan(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan without fields newer than protocol 1 that have no effect.

    Injectors reject unknown fields. So an older injector can still run every plan that does not use
    newer ones. Rules about the target's machine are left out as well: no injector can judge them.
    So are rules that came later: injectors read rules and ignore them.
    """
    order_plan = _without_idle(plan, Plan)
    if rules := order_plan.get("thresholds"):
        order_plan["thresholds"] = [
            rule
            for rule in rules
            if rule.keys() <= {"metric", "limit", "unit"} and rule["metric"] in _FIRST_METRICS
        ]
    return order_plan


def _without_idle(values: Mapping[str, Any], owner: type) -> dict[str, Any]:
    rows, fields = fields_of(owner), {}
    for name, value in values.items():
        row = rows.get(name, PlanField())
        if row.later and (not value or value == row.default):
            continue  # injectors that do not know the field do without it
        is_part = row.part is not None and isinstance(value, Mapping)
        fields[name] = _without_idle(value, row.part) if is_part else value
    return fields
