"""Reads of plans and the changes between their versions."""

from collections.abc import Iterable

from django.db.models import OuterRef, QuerySet, Subquery

from campaigns.domain.presentation.plan_words import changes_between
from campaigns.models import PlanVersion, SavedPlan
from campaigns.permissions import Actor


def list_plans(actor: Actor) -> QuerySet[SavedPlan]:
    return with_latest(SavedPlan.objects.visible_to(actor))


def with_latest(plans: QuerySet[SavedPlan]) -> QuerySet[SavedPlan]:
    """Each with its latest version's id and when that was made."""
    latest = PlanVersion.objects.filter(plan=OuterRef("pk")).order_by("-number")
    return plans.annotate(
        newest_id=Subquery(latest.values("pk")[:1]),
        changed_at=Subquery(latest.values("created_at")[:1]),
    )


def with_newest(plans: Iterable[SavedPlan]) -> list[SavedPlan]:
    """The plans of `list_plans`, each with its latest version as `newest`; those that were deleted
    meanwhile are left out."""
    plans = list(plans)
    versions = PlanVersion.objects.in_bulk([plan.newest_id for plan in plans])
    plans = [plan for plan in plans if plan.newest_id in versions]
    for plan in plans:
        plan.newest = versions[plan.newest_id]
    return plans


def versions_of(plan: SavedPlan) -> list[PlanVersion]:
    """Newest first, each with its `changes`: [(field, before, after), …]. Raises DoesNotExist for a
    plan that was deleted meanwhile."""
    versions = list(plan.versions.select_related("created_by").order_by("number"))
    if not versions:
        raise PlanVersion.DoesNotExist
    for before, after in zip([None, *versions], versions, strict=False):
        after.changes = _changes(before, after) if before else []
    return versions[::-1]


def _changes(before: PlanVersion, after: PlanVersion) -> list[tuple[str, str, str]]:
    """Compared in their full form, so that an omitted default is no change."""
    return changes_between(before.value().to_json(), after.value().to_json())
