"""Reads of share links for the project's members."""

from django.db.models import QuerySet
from django.utils import timezone

from campaigns.models import Project, ShareLink
from campaigns.permissions import Actor


def live_links(actor: Actor, project: Project) -> QuerySet[ShareLink]:
    """The project's links that are neither expired nor revoked, newest first."""
    return (
        ShareLink.objects.visible_to(actor)
        .filter(project=project, revoked_at=None, expires_at__gt=timezone.now())
        .select_related("campaign", "run__campaign", "created_by")
    )
