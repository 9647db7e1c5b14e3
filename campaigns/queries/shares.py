"""Reads of share links for the project's members."""

from collections.abc import Collection
from urllib.parse import parse_qsl

from django.db.models import QuerySet
from django.utils import timezone

from campaigns.domain.errors import InvalidFields
from campaigns.models import Project, ShareLink
from campaigns.permissions import Action, Actor, may
from campaigns.queries.columns import ComparisonSide, Reference, columns_of, references_of


def live_links(actor: Actor, project: Project) -> QuerySet[ShareLink]:
    """The project's links that are neither expired nor revoked, newest first."""
    return (
        ShareLink.objects.visible_to(actor)
        .filter(project=project, revoked_at=None, expires_at__gt=timezone.now())
        .select_related("campaign", "run__campaign", "created_by")
    )


def references_in(comparison: str) -> Collection[Reference]:
    """What the columns of a shared comparison name, whoever may see it."""
    return references_of(dict(parse_qsl(comparison))).values()


def shared_columns(creator: Actor, comparison: str) -> list[ComparisonSide] | None:
    """The columns of a shared comparison; None unless its creator sees them all and may share in
    the projects of all, and while no campaign of a column's days has ended."""
    try:
        columns = columns_of(creator, dict(parse_qsl(comparison)))
    except InvalidFields:
        return None
    if not columns or len(columns) < 2:
        return None
    projects = {column.campaign.project for column in columns}
    return columns if all(may(creator, Action.SHARE, each) for each in projects) else None
