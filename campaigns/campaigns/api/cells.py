"""The cells of a new campaign as a request names them: plan and endpoint. A sweep as a request
writes it."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.core.permissions import Actor
from campaigns.domain.plan.load import MAX_INJECTORS
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.plan.sweep import (
    BEYOND_VALUES,
    INJECTORS,
    MAX_POINTS,
    Sweep,
    checked_values,
    known_fields,
)
from campaigns.models import Endpoint, PlanVersion, Project
from campaigns.rest import fields


class CellInput(fields.StrictSerializer):
    plan = fields.IdField()
    version = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="Default: the latest version."
    )
    endpoint = fields.IdField()
    connection_mode = serializers.ChoiceField(
        choices=fields.CONNECTION_MODES, required=False, help_text="Default: the plan's own."
    )


def cells_of(actor: Actor, project: Project, rows: list[dict[str, Any]]) -> list[CampaignCell]:
    """The project's named rows; ValidationError for those that the actor cannot see."""
    errors: dict[str, dict[str, str]] = {}
    cells = []
    for index, each in enumerate(rows):
        versions = PlanVersion.objects.visible_to(actor).filter(
            plan=each["plan"], plan__project=project
        )
        if "version" in each:
            versions = versions.filter(number=each["version"])
        version = versions.order_by("-number").first()
        visible = Endpoint.objects.visible_to(actor).select_related("target")
        endpoint = visible.filter(pk=each["endpoint"], target__project=project).first()
        if version and endpoint:
            mode = each.get("connection_mode") or version.value().connection_mode
            cells.append(CampaignCell(version, endpoint, ConnectionMode(mode)))
            continue
        errors[str(index)] = {
            **({} if version else {"plan": "This project does not have this plan or version."}),
            **({} if endpoint else {"endpoint": "This project does not have this endpoint."}),
        }
    if errors:
        raise serializers.ValidationError({"cells": errors})
    return cells


_NUMBERS = {
    "type": "array",
    "items": {"type": "number", "minimum": 0, "maximum": BEYOND_VALUES, "exclusiveMaximum": True},
    "maxItems": MAX_POINTS,
    "uniqueItems": True,
}
_COUNTS = {
    "type": "array",
    "items": {"type": "integer", "minimum": 1, "maximum": MAX_INJECTORS},
    "maxItems": MAX_INJECTORS,
    "uniqueItems": True,
}
_SWEEP = {
    "type": "object",
    "properties": {"field": {"type": "string", "enum": known_fields()}, "values": _NUMBERS},
    "required": ["field", "values"],
}


@extend_schema_field({"oneOf": [_SWEEP, _COUNTS]})
class SweepInput(serializers.Field):
    """{"field": "rate_per_s", "values": [100, 200]}, or a list of numbers of injector processes."""

    def to_internal_value(self, data: Any) -> Sweep | None:
        if isinstance(data, list):
            return self._sweep_of(INJECTORS, data)
        if not isinstance(data, dict) or set(data) != {"field", "values"}:
            raise serializers.ValidationError(
                'Write {"field": …, "values": […]}, or a list of numbers of injector processes.'
            )
        if data["field"] not in known_fields():
            names = ", ".join(known_fields())
            raise serializers.ValidationError(f"There is no such field to sweep. Known: {names}.")
        return self._sweep_of(data["field"], data["values"])

    def _sweep_of(self, field: str, values: Any) -> Sweep | None:
        kinds = (int,) if field == INJECTORS else (int, float)
        most = MAX_INJECTORS if field == INJECTORS else MAX_POINTS
        if not isinstance(values, list) or not all(type(each) in kinds for each in values):
            raise serializers.ValidationError(f"Write up to {most} numbers as values.")
        if len(values) > most:
            raise serializers.ValidationError(f"At most {most} values; these are {len(values)}.")
        if field == INJECTORS and not all(1 <= each <= MAX_INJECTORS for each in values):
            raise serializers.ValidationError(f"Use 1 to {MAX_INJECTORS} injector processes.")
        try:
            return Sweep(field, checked_values(values)) if values else None
        except ValueError as fault:
            raise serializers.ValidationError(str(fault)) from None
