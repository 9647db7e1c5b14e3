"""Personal tokens for the REST API: create, revoke, authenticate. A token has the form
`bs_pat_<lookup>_<secret>`. The lookup finds the row; only a keyed hash of the whole is stored. The
secret has 256 random bits, so a fast hash is enough. Share links: a token that gives read access to
a campaign, run or comparison without an account. Only a keyed hash of the token is stored. A link
is dead once expired or revoked, and for as long as its creator may not share in the project; that
of a comparison also once a side was deleted.

An API request is authenticated by personal token or browser session. The token is read only from
the Authorization header: browsers send cookies with any request. Writes in a session need Django's
CSRF token."""

import hmac
import re
import secrets
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.authentication import SessionAuthentication as SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.throttling import SimpleRateThrottle

from campaigns.compare.queries.columns import open_links, shared_columns
from campaigns.core import audit
from campaigns.core.permissions import Action, Actor, Scope, require
from campaigns.core.transfer import client_address
from campaigns.domain.errors import Forbidden, Refused
from campaigns.domain.typed_text import clean_name
from campaigns.domain.units import counted
from campaigns.models import ApiToken, Campaign, Project, Run, ShareLink, Test
from campaigns.operations.models import AuditEvent
from campaigns.projects.services import keyed_hash

MAX_DAYS = 365  # of a token, and of a share link
_PURPOSE = "api-token"
_FORM = re.compile(r"bs_pat_([0-9a-f]{16})_[A-Za-z0-9_-]{43}")
# One write per minute is enough to see whether a token is in use.
_USE_IS_NOTED_EVERY = timedelta(minutes=1)


@transaction.atomic
def create_token(*, by: Actor, name: str, scope: str, days: int) -> tuple[ApiToken, str]:
    """The token's row and its text, which is never shown again."""
    _require_person(by)
    name = clean_name(name)
    if not 1 <= len(name) <= 100:
        raise Refused(
            "Give the token a name of 1 to 100 characters, such as the program that uses it."
        )
    if scope not in list(Scope):
        raise Refused(f"Choose one of the scopes {', '.join(Scope)}.")
    if not 1 <= days <= MAX_DAYS:
        raise Refused(f"A token can be valid for 1 to {MAX_DAYS} days.")
    lookup = secrets.token_hex(8)
    text = f"bs_pat_{lookup}_{secrets.token_urlsafe(32)}"
    token = ApiToken.objects.create(
        user=by.user,
        name=name,
        scope=scope,
        lookup=lookup,
        token_hash=keyed_hash(text, _PURPOSE),
        expires_at=timezone.now() + timedelta(days=days),
    )
    audit.note(by, AuditEvent.TOKEN_CREATED, f"{name}, scope {scope}, {counted(days, 'days')}")
    return token, text


@transaction.atomic
def revoke_token(*, by: Actor, token: ApiToken) -> None:
    """Takes effect at the next request. Once revoked, a token stays revoked."""
    _require_person(by)
    if token.user_id != by.user.pk:
        raise Forbidden("Only the owner of a token can revoke it.")
    if ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.note(by, AuditEvent.TOKEN_REVOKED, token.name)


def live_tokens(user):
    """The user's tokens that still open the API."""
    return user.api_tokens.filter(revoked_at=None, expires_at__gt=timezone.now())


@transaction.atomic
def revoke_all_tokens(*, by: Actor) -> int:
    """Revoke all live tokens of the user; how many these were."""
    _require_person(by)
    n_revoked = live_tokens(by.user).update(revoked_at=timezone.now())
    if n_revoked:
        audit.note(by, AuditEvent.TOKEN_REVOKED, f"all {n_revoked}")
    return n_revoked


def authenticate_token(*, text: str) -> ApiToken | None:
    """The live token with this text; None if unknown, expired, revoked, or its owner inactive."""
    form = _FORM.fullmatch(text)
    if form is None:
        return None
    token = ApiToken.objects.select_related("user").filter(lookup=form[1]).first()
    if token is None or not hmac.compare_digest(token.token_hash, keyed_hash(text, _PURPOSE)):
        return None
    now = timezone.now()
    if token.revoked_at is not None or token.expires_at <= now or not token.user.is_active:
        return None
    stale = now - _USE_IS_NOTED_EVERY
    if token.last_used_at is None or token.last_used_at < stale:
        is_due = Q(last_used_at=None) | Q(last_used_at__lt=stale)
        ApiToken.objects.filter(is_due, pk=token.pk).update(last_used_at=now)
    return token


def _require_person(by: Actor) -> None:
    """A stolen token must not be able to create another token."""
    if not by.is_member or by.token is not None:
        raise Forbidden("Sign in to create or revoke tokens; a token cannot do that.")


_SHARE_PURPOSE = "share-link"


@transaction.atomic
def create_share(
    *,
    by: Actor,
    project: Project,
    campaign: Campaign | None = None,
    run: Run | None = None,
    test: Test | None = None,
    comparison: str = "",
    days: int,
    note: str = "",
    shows_machines: bool = False,
) -> tuple[ShareLink, str]:
    """The link's row and its token, which is never shown again. `comparison`: its columns as in
    the address, a=campaign-7&b=campaign-12, all of which the actor may share. `test`: whose badge
    it shows."""
    require(by, Action.SHARE, project)
    if [bool(each) for each in (campaign, run, test, comparison)].count(True) != 1:
        raise Refused("A link shows either a campaign, a run, a comparison or a badge.")
    campaign_shared = campaign or (run and run.campaign) or (test and test.campaign)
    if campaign_shared and campaign_shared.project_id != project.pk:
        raise Refused("This belongs to another project. Share it from there.")
    if not 1 <= days <= MAX_DAYS:
        raise Refused(f"A link can be valid for 1 to {MAX_DAYS} days.")
    if len(note) > 100:
        raise Refused("A note can have at most 100 characters.")
    if comparison and shared_columns(by, comparison) is None:
        raise Refused("You may not share all sides of this comparison, or one was deleted.")
    token = secrets.token_urlsafe(32)
    share = ShareLink.objects.create(
        project=project,
        campaign=campaign,
        run=run,
        test=test,
        comparison=comparison,
        token_hash=keyed_hash(token, _SHARE_PURPOSE),
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
    """The live link with this token, or None."""
    links = ShareLink.objects.filter(token_hash=keyed_hash(token, _SHARE_PURPOSE))
    share = next(open_links(links), None)
    if share and counts_view:
        ShareLink.objects.filter(pk=share.pk).update(
            n_views=F("n_views") + 1, last_used_at=timezone.now()
        )
    return share


_WRONG_FORM = "The header must be `Authorization: Bearer bs_pat_…`."
_NOT_LIVE = "This token is unknown, expired or revoked. Create a new one under Account, Tokens."


class FailedTokens(SimpleRateThrottle):
    """Counts wrong tokens per address and web process; valid tokens are never throttled."""

    scope = "failed-tokens"
    rate = "30/min"

    def get_cache_key(self, request, view) -> str:
        ident = client_address(request.META, settings.TRUSTED_PROXIES)
        return self.cache_format % {"scope": self.scope, "ident": ident}


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer bs_pat_…`; the token's row becomes `request.auth`."""

    keyword = "Bearer"

    def authenticate(self, request):
        words = get_authorization_header(request).decode("latin-1").split()
        if not words:
            return None
        if len(words) != 2 or words[0].lower() != self.keyword.lower():
            raise AuthenticationFailed(_WRONG_FORM)
        token = authenticate_token(text=words[1])
        if token is None:
            throttle = FailedTokens()
            if not throttle.allow_request(request, None):
                raise Throttled(throttle.wait())
            raise AuthenticationFailed(_NOT_LIVE)
        return token.user, token

    def authenticate_header(self, request) -> str:
        return f'{self.keyword} realm="benchsite"'
