"""Share links: a token that gives read access to a campaign, run or comparison without an account.
Only a keyed hash of the token is stored. A link is dead once expired or revoked, and for as long as
its creator may not share in the project; that of a comparison also once a side was deleted."""

import secrets
from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.errors import Refused
from campaigns.domain.units import counted
from campaigns.models import Campaign, Project, Run, ShareLink
from campaigns.permissions import Action, Actor, may, require
from campaigns.queries.shares import shared_columns
from campaigns.services import audit
from campaigns.services.vault import keyed_hash

MAX_DAYS = 365
_PURPOSE = "share-link"


@transaction.atomic
def create_share(
    *,
    by: Actor,
    project: Project,
    campaign: Campaign | None = None,
    run: Run | None = None,
    comparison: str = "",
    days: int,
    note: str = "",
    shows_machines: bool = False,
) -> tuple[ShareLink, str]:
    """The link's row and its token, which is never shown again. `comparison`: its columns as in
    the address, a=campaign-7&b=campaign-12, all of which the actor may share."""
    require(by, Action.SHARE, project)
    _check(project, campaign, run, comparison, days, note)
    if comparison and shared_columns(by, comparison) is None:
        raise Refused("You may not share all sides of this comparison, or one was deleted.")
    token = secrets.token_urlsafe(32)
    share = ShareLink.objects.create(
        project=project,
        campaign=campaign,
        run=run,
        comparison=comparison,
        token_hash=keyed_hash(token, _PURPOSE),
        note=note.strip(),
        shows_machines=shows_machines,
        created_by=by.user,
        expires_at=timezone.now() + timedelta(days=days),
    )
    audit.note(by, AuditEvent.SHARED, f"{share}, {counted(days, 'days')}", project=project)
    return share, token


@transaction.atomic
def revoke_share(*, by: Actor, share: ShareLink) -> None:
    """Takes effect at the next request. Once revoked, a link stays revoked."""
    require(by, Action.SHARE, share.project)
    live = ShareLink.objects.filter(pk=share.pk, revoked_at=None)
    if live.update(revoked_at=timezone.now()):
        audit.note(by, AuditEvent.SHARE_REVOKED, str(share), project=share.project)


def open_share(*, token: str, counts_view: bool = True) -> ShareLink | None:
    """The live link with this token, or None. A stream that only checks whether the link is still
    valid passes counts_view=False."""
    share = (
        ShareLink.objects.select_related("project", "campaign", "run__campaign", "created_by")
        .filter(token_hash=keyed_hash(token, _PURPOSE), revoked_at=None)
        .filter(expires_at__gt=timezone.now())
        .first()
    )
    if share is None:
        return None
    creator = Actor(user=share.created_by)
    if not may(creator, Action.SHARE, share.project):
        return None
    if share.comparison and shared_columns(creator, share.comparison) is None:
        return None
    if counts_view:
        ShareLink.objects.filter(pk=share.pk).update(
            n_views=F("n_views") + 1, last_used_at=timezone.now()
        )
    return share


def _check(
    project: Project,
    campaign: Campaign | None,
    run: Run | None,
    comparison: str,
    days: int,
    note: str,
) -> None:
    if [campaign is not None, run is not None, bool(comparison)].count(True) != 1:
        raise Refused("A link shows either a campaign, a run or a comparison.")
    shown = campaign or (run and run.campaign)
    if shown and shown.project_id != project.pk:
        raise Refused("This belongs to another project. Share it from there.")
    if not 1 <= days <= MAX_DAYS:
        raise Refused(f"A link can be valid for 1 to {MAX_DAYS} days.")
    if len(note) > 100:
        raise Refused("A note can have at most 100 characters.")
