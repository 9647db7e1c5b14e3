"""The plan as an injector gets it in its order."""

from collections.abc import Mapping
from typing import Any

from campaigns.domain.plan.fields import PlanField, fields_of
from campaigns.domain.plan.plan import Plan


def ordered_plan(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan without fields newer than protocol 1 that have no effect.

    Injectors reject unknown fields. So an older injector can still run every plan that does not use
    newer ones.
    """
    return _without_idle(plan, Plan)


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
