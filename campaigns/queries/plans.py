"""Reads of plans and the changes between their versions."""

from django.db.models import Max, OuterRef, Subquery

from campaigns.domain.shown.plan_changes import changes_between
from campaigns.models import PlanVersion, Project, SavedPlan
from campaigns.permissions import Actor


def plans_of(project: Project, actor: Actor) -> list[SavedPlan]:
    """The project's plans by name, each with its latest version as `newest`."""
    latest = PlanVersion.objects.filter(plan=OuterRef("pk")).order_by("-number")
    plans = list(
        SavedPlan.objects.visible_to(actor)
        .filter(project=project, archived_at=None)
        .annotate(
            newest_id=Subquery(latest.values("pk")[:1]), changed_at=Max("versions__created_at")
        )
        .order_by("name", "pk")
    )
    versions = PlanVersion.objects.in_bulk([plan.newest_id for plan in plans])
    for plan in plans:
        plan.newest = versions[plan.newest_id]
    return plans


def versions_of(plan: SavedPlan) -> list[PlanVersion]:
    """Newest first, each with its `changes`: [(field, before, after), …]."""
    versions = list(plan.versions.select_related("created_by").order_by("number"))
    for before, after in zip([None, *versions], versions, strict=False):
        after.changes = _changes(before, after) if before else []
    return versions[::-1]


def _changes(before: PlanVersion, after: PlanVersion) -> list[tuple[str, str, str]]:
    """Compared in their full form, so that an omitted default is no change."""
    return changes_between(before.value().to_json(), after.value().to_json())
