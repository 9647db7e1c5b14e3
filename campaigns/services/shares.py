"""Share links: a token that gives read access to one campaign or run without an account.

Only a keyed hash of the token is stored. A link is dead once expired or revoked, and for as long
as its creator may not share in the project.
"""

import secrets
from datetime import timedelta

from django.db.models import F
from django.utils import timezone

from campaigns.domain.errors import Refused
from campaigns.models import Campaign, Project, Run, ShareLink
from campaigns.permissions import Action, Actor, may, require
from campaigns.services.keyed_hash import keyed_hash

MAX_DAYS = 365
_PURPOSE = "share-link"


def create_share(
    *,
    by: Actor,
    project: Project,
    campaign: Campaign | None = None,
    run: Run | None = None,
    days: int,
    note: str = "",
    shows_machines: bool = False,
) -> tuple[ShareLink, str]:
    """The link's row and its token, which is never shown again."""
    require(by, Action.SHARE, project)
    _check(project, campaign, run, days, note)
    token = secrets.token_urlsafe(32)
    share = ShareLink.objects.create(
        project=project,
        campaign=campaign,
        run=run,
        token_hash=keyed_hash(token, _PURPOSE),
        note=note.strip(),
        shows_machines=shows_machines,
        created_by=by.user,
        expires_at=timezone.now() + timedelta(days=days),
    )
    return share, token


def revoke_share(*, by: Actor, share: ShareLink) -> None:
    """Takes effect at the next request. Once revoked, a link stays revoked."""
    require(by, Action.SHARE, share.project)
    ShareLink.objects.filter(pk=share.pk, revoked_at=None).update(revoked_at=timezone.now())


def open_share(*, token: str, counts_view: bool = True) -> ShareLink | None:
    """The live link with this token, or None.

    A stream that only checks whether the link is still valid passes counts_view=False.
    """
    share = (
        ShareLink.objects.select_related("project", "campaign", "run__campaign", "created_by")
        .filter(token_hash=keyed_hash(token, _PURPOSE), revoked_at=None)
        .filter(expires_at__gt=timezone.now())
        .first()
    )
    if share is None or not may(Actor(user=share.created_by), Action.SHARE, share.project):
        return None
    if counts_view:
        ShareLink.objects.filter(pk=share.pk).update(
            n_views=F("n_views") + 1, last_used_at=timezone.now()
        )
    return share


def _check(
    project: Project, campaign: Campaign | None, run: Run | None, days: int, note: str
) -> None:
    if (campaign is None) == (run is None):
        raise Refused("A link shows either a campaign or a run.")
    shown_in = campaign.project_id if campaign else run.campaign.project_id
    if shown_in != project.pk:
        raise Refused("This belongs to another project. Share it from there.")
    if not 1 <= days <= MAX_DAYS:
        raise Refused(f"A link can be valid for 1 to {MAX_DAYS} days.")
    if len(note) > 100:
        raise Refused("A note can have at most 100 characters.")
