"""The plan as an injector gets it in its order, and as runs share its large parts."""

import json
from collections.abc import Mapping
from typing import Any

from campaigns.domain.plan.fields import PlanField, fields_of
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.threshold import TARGET_METRICS

# Bodies, headers and tables of values.
_PARTS = ("steps", "variables")
_SMALL_CHARACTERS = 4000
_VERSION = "parts_of"


def without_parts(plan: Mapping[str, Any], spec: Mapping[str, Any], version: int) -> dict[str, Any]:
    """The stored plan of a run, without the large parts that its version's `spec` has as well."""
    parts = {name for name in _PARTS if name in plan and plan[name] == spec.get(name)}
    if sum(len(json.dumps(plan[name])) for name in parts) <= _SMALL_CHARACTERS:
        return dict(plan)
    kept = {name: value for name, value in plan.items() if name not in parts}
    return {**kept, _VERSION: version}


def version_of_parts(plan: Mapping[str, Any]) -> int | None:
    """The version that has the parts that are missing here; None for a whole plan."""
    return plan.get(_VERSION)


def with_parts(plan: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """What `without_parts` was given."""
    parts = {name: spec[name] for name in _PARTS if name in spec}
    return {name: value for name, value in {**parts, **plan}.items() if name != _VERSION}


def ordered_plan(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan without fields newer than protocol 1 that have no effect.

    Injectors reject unknown fields. So an older injector can still run every plan that does not use
    newer ones. Rules about the target's machine are left out as well: no injector can judge them.
    """
    ordered = _without_idle(plan, Plan)
    if rules := ordered.get("thresholds"):
        kept = [rule for rule in rules if rule["metric"] not in TARGET_METRICS]
        ordered["thresholds"] = kept
    return ordered


def _is_part(row: PlanField | None, value: Any) -> bool:
    return row is not None and row.part is not None and isinstance(value, Mapping)


def _without_idle(values: Mapping[str, Any], owner: type) -> dict[str, Any]:
    rows = fields_of(owner)
    idle = {name for name in values if name in rows and rows[name].asks_for_nothing(values[name])}
    return {
        name: _without_idle(value, rows[name].part) if _is_part(rows.get(name), value) else value
        for name, value in values.items()
        if name not in idle
    }
