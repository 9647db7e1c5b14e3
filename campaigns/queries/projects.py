"""Reads of projects and members. Reads for the home page: the installation in a few lines, and a
sample to look at. Reads of plans and the changes between their versions."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings
from django.db.models import OuterRef, QuerySet, Subquery

from campaigns.domain.shown.plan_words import changes_between
from campaigns.domain.units import counted
from campaigns.models import Campaign, Membership, PlanVersion, Project, SavedPlan, Target
from campaigns.permissions import Actor, Role
from campaigns.queries.injector_hosts import hosts
from campaigns.queries.items import ItemFilter, count_of, narrowed

# What each role may do, in one line; tests compare it with permissions.py.
ROLES: dict[str, str] = {
    Role.OWNER: "everything, including members",
    Role.EDITOR: "creates targets, plans and campaigns, starts and stops them, shares results",
    Role.OPERATOR: "starts and stops existing campaigns",
    Role.VIEWER: "read-only access",
}


def list_projects(actor: Actor, by: ItemFilter) -> QuerySet[Project]:
    """The actor's projects that the filters leave."""
    return narrowed(with_counts(Project.objects.visible_to(actor), actor), by)


def with_counts(projects: QuerySet[Project], actor: Actor) -> QuerySet[Project]:
    """Each with counts, the actor's role in it and the date of its latest campaign."""
    mine = OuterRef("pk")
    role = Membership.objects.filter(project=mine, user=actor.user.pk).values("role")[:1]
    latest = Campaign.objects.filter(project=mine).order_by("-pk").values("created_at")
    return projects.annotate(
        n_targets=count_of(Target.objects.filter(project=mine, archived_at=None, is_kept=True)),
        n_campaigns=count_of(Campaign.objects.filter(project=mine, archived_at=None)),
        n_members=count_of(Membership.objects.filter(project=mine)),
        role=Subquery(role),
        latest_campaign_at=Subquery(latest[:1]),
    )


def members_of(project: Project):
    return project.memberships.select_related("user")


SAMPLE_PROJECT, SAMPLE_CAMPAIGN = "Sample", "HTTP against HTTPS"


@dataclass(frozen=True, slots=True)
class Installation:
    """In words: who sends, how much at once, and where to."""

    injectors: str
    slots: str
    networks: str


def installation() -> Installation:
    alive = [host for host in hosts() if host.is_alive]
    slots = sum(host.slots for host in alive)
    return Installation(
        injectors=", ".join(host.name for host in alive) or "none is online",
        slots=f"{counted(slots, 'injector processes')} at a time" if slots else "",
        networks=", ".join(settings.ALLOWED_NETWORKS) or "no network yet",
    )


def samples(actor: Actor) -> QuerySet[Campaign]:
    """What `manage.py sample` made, the newest first; `make run` does so at its first start."""
    mine = Campaign.objects.visible_to(actor).order_by("-pk")
    return mine.filter(project__name=SAMPLE_PROJECT, name=SAMPLE_CAMPAIGN)


def sample_of(actor: Actor) -> Campaign | None:
    """The newest sample that has finished."""
    return samples(actor).filter(finished_at__isnull=False).first()


def list_plans(actor: Actor, project: Project, by: ItemFilter) -> QuerySet[SavedPlan]:
    """The project's plans that the filters leave."""
    return narrowed(with_latest(SavedPlan.objects.visible_to(actor).filter(project=project)), by)


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
        # Compared in their full form, so that an omitted default is no change.
        after.changes = (
            changes_between(before.value().to_json(), after.value().to_json()) if before else []
        )
    return versions[::-1]
