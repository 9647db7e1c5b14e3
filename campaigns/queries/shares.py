"""Reads of share links for the project's members, and who still sees what a stream shows."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qsl

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from campaigns.domain.errors import InvalidFields
from campaigns.models import Project, ShareLink
from campaigns.models.items import ProjectQuerySet
from campaigns.permissions import Action, Actor, may
from campaigns.queries.columns import ComparisonSide, Reference, columns_of, references_of


@dataclass(frozen=True, slots=True)
class Viewer:
    """Somebody signed in, as they were when their stream was opened; `password` is its hash."""

    session: str
    user: int
    password: str

    @classmethod
    def of(cls, request: HttpRequest) -> Self:
        return cls(request.session.session_key, request.user.pk, request.user.password)


def who_still_see(rows: ProjectQuerySet, viewers: set[Viewer]) -> set[Viewer]:
    """Those who are still signed in, with an active account that sees one of the rows, by two
    statements. A sign-out deletes the session, and an account with a new password no longer fits
    its sessions."""
    keys = {each.session for each in viewers}
    open_sessions = Session.objects.filter(pk__in=keys, expire_date__gt=timezone.now())
    signed_in = set(open_sessions.values_list("pk", flat=True))
    accounts = User.objects.filter(pk__in=rows.viewers(), is_active=True)
    passwords = dict(
        accounts.filter(pk__in={each.user for each in viewers}).values_list("pk", "password")
    )
    return {
        each
        for each in viewers
        if each.session in signed_in and passwords.get(each.user) == each.password
    }


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
