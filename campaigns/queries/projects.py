"""Reads of projects and members."""

from django.db.models import Count, OuterRef, Q, Subquery

from campaigns.models import Campaign, Membership, Project
from campaigns.permissions import Actor, Role

# What each role may do, in one line; tests compare it with permissions.py.
ROLES: dict[str, str] = {
    Role.OWNER: "everything, including members",
    Role.EDITOR: "creates targets, plans and campaigns, starts and stops them, shares results",
    Role.OPERATOR: "starts and stops existing campaigns",
    Role.VIEWER: "read-only access",
}


def projects_of(actor: Actor):
    """The actor's projects with counts, the actor's role and the date of the latest campaign."""
    role = Membership.objects.filter(project=OuterRef("pk"), user=actor.user).values("role")[:1]
    latest = Campaign.objects.filter(project=OuterRef("pk")).order_by("-pk").values("created_at")
    return (
        Project.objects.filter(pk__in=Project.objects.visible_to(actor).values("pk"))
        .annotate(
            n_targets=Count("targets", filter=Q(targets__archived_at=None), distinct=True),
            n_campaigns=Count("campaigns", distinct=True),
            n_members=Count("memberships", distinct=True),
            role=Subquery(role),
            latest_campaign_at=Subquery(latest[:1]),
        )
        .order_by("name", "pk")
    )


def members_of(project: Project):
    return project.memberships.select_related("user")
