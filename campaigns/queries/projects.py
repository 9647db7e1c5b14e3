"""Reads of projects and members, and of the samples that `manage.py sample` makes. The installation
in a few lines."""

from dataclasses import dataclass

from django.conf import settings
from django.db.models import OuterRef, QuerySet, Subquery

from campaigns.domain.units import counted
from campaigns.models import Campaign, Membership, Project, Target
from campaigns.permissions import Actor, Role
from campaigns.queries.injector_hosts import hosts
from campaigns.queries.items import count_of

# What each role may do, in one line; tests compare it with permissions.py.
ROLES: dict[str, str] = {
    Role.OWNER: "everything, including members",
    Role.EDITOR: "creates targets, plans and campaigns, starts and stops them, shares results",
    Role.OPERATOR: "starts and stops existing campaigns",
    Role.VIEWER: "read-only access",
}


def list_projects(actor: Actor) -> QuerySet[Project]:
    return with_counts(Project.objects.visible_to(actor), actor)


def with_counts(projects: QuerySet[Project], actor: Actor) -> QuerySet[Project]:
    """Each with counts, the actor's role in it and the date of its latest campaign."""
    mine = OuterRef("pk")
    role = Membership.objects.filter(project=mine, user=actor.user.pk).values("role")[:1]
    latest = (
        Campaign.objects.outside_trash().filter(project=mine).order_by("-pk").values("created_at")
    )
    return projects.annotate(
        n_targets=count_of(Target.objects.filter(project=mine, archived_at=None, is_kept=True)),
        n_campaigns=count_of(Campaign.objects.filter(project=mine, archived_at=None)),
        n_members=count_of(Membership.objects.filter(project=mine)),
        role=Subquery(role),
        latest_campaign_at=Subquery(latest[:1]),
    )


def members_of(project: Project):
    return project.memberships.select_related("user")


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


# One sample is stored, and one measured here: `make run` does so at its first start.
SAMPLE_PROJECT, SAMPLE_CAMPAIGN = "Sample", "HTTP against HTTPS"
STORED_SAMPLE = "Stored sample: what does HTTPS cost?"


def samples(actor: Actor) -> QuerySet[Campaign]:
    """Those measured here, the newest first."""
    mine = Campaign.objects.visible_to(actor).order_by("-pk")
    return mine.filter(project__name=SAMPLE_PROJECT, name=SAMPLE_CAMPAIGN)


def stored_sample(actor: Actor) -> Campaign | None:
    mine = Campaign.objects.visible_to(actor).filter(archived_at=None, name=STORED_SAMPLE)
    return mine.filter(project__name=SAMPLE_PROJECT).order_by("pk").first()


def is_first_visit(project: Project) -> bool:
    """Whether nobody has made a campaign in it but the samples."""
    made = project.campaigns.exclude(name__in=(SAMPLE_CAMPAIGN, STORED_SAMPLE))
    return not made.exists()
