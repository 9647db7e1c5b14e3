"""The cells of a new campaign as a request names them: plan and endpoint."""

from typing import Any

from rest_framework import serializers

from campaigns.api.fields import CONNECTION_MODES, IdField, StrictSerializer
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.models import Endpoint, PlanVersion, Project
from campaigns.permissions import Actor
from campaigns.services.campaigns import CampaignCell


class CellInput(StrictSerializer):
    plan = IdField()
    version = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="Default: the latest version."
    )
    endpoint = IdField()
    connection_mode = serializers.ChoiceField(
        choices=CONNECTION_MODES, required=False, help_text="Default: the plan's own."
    )


def cells_of(actor: Actor, project: Project, wanted: list[dict[str, Any]]) -> list[CampaignCell]:
    """The project's named rows; ValidationError for those that the actor cannot see."""
    errors: dict[str, dict[str, str]] = {}
    cells = []
    for index, each in enumerate(wanted):
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
