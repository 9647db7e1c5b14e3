"""What owners do with invitations, and administrators with users. An invitation's link has a secret
of which only a keyed hash is stored. It is dead once used, revoked or expired, and for as long as
whoever made it may not add members."""

import logging
import secrets
from datetime import timedelta

from allauth.account.app_settings import PASSWORD_RESET_TOKEN_GENERATOR
from allauth.account.internal.userkit import filter_users_by_email, filter_users_by_username
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from axes.utils import reset as unlock
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.db import IntegrityError, transaction
from django.template.loader import render_to_string
from django.utils import timezone

from campaigns.accounts.models import Invitation
from campaigns.core import audit
from campaigns.core.permissions import Action, Actor, Role, may, require, require_administrator
from campaigns.domain.errors import Forbidden, InvalidFields, Refused
from campaigns.domain.typed_text import clean_name
from campaigns.items.services import hold
from campaigns.models import Membership, Project
from campaigns.operations.models import AuditEvent
from campaigns.projects.services import keyed_hash

logger = logging.getLogger(__name__)

INVITATION_DAYS = 7
MOST_OPEN = 100  # invitations of a project
_PURPOSE = "invitation"
_DEAD = "This invitation was used or revoked, or it has expired. Ask for another one."


# --- invitations ---------------------------------------------------------------------------------
@transaction.atomic
def invite(*, by: Actor, project: Project, role: str, email: str = "") -> tuple[Invitation, str]:
    """The invitation and the secret of its link, which is never shown again."""
    require(by, Action.MANAGE, project)
    hold(project)  # so that two at once do not exceed the limit together
    if open_invitations(project).count() >= MOST_OPEN:
        raise Refused(f"{MOST_OPEN} invitations are open. Revoke one that nobody needs.")
    secret = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        project=project,
        role=Role(role),
        email=email,
        token_hash=keyed_hash(secret, _PURPOSE),
        created_by=by.user,
        expires_at=timezone.now() + timedelta(days=INVITATION_DAYS),
    )
    audit.note(by, AuditEvent.INVITED, str(invitation), project=project)
    return invitation, secret


def send_invitation(invitation: Invitation, address: str) -> bool:
    """Whether the mail server took the message with the link's address."""
    context = {"invitation": invitation, "address": address, "days": INVITATION_DAYS}
    text = render_to_string("accounts/email/invitation_message.txt", context)
    subject = f"Join {invitation.project.name} on benchsite"
    try:
        EmailMessage(subject, text, to=[invitation.email]).send()
    except OSError as error:
        logger.error("Invitation %s was not sent: %s", invitation.pk, error)
        return False
    return True


def open_invitations(project: Project):
    """Those whose link nobody has used, revoked or let expire."""
    rows = project.invitations.filter(accepted_at=None, revoked_at=None)
    return rows.filter(expires_at__gt=timezone.now()).select_related("created_by")


@transaction.atomic
def revoke_invitation(*, by: Actor, invitation: Invitation) -> None:
    require(by, Action.MANAGE, invitation.project)
    rows = Invitation.objects.filter(pk=invitation.pk, accepted_at=None, revoked_at=None)
    if rows.update(revoked_at=timezone.now()):
        what = str(invitation)
        audit.note(by, AuditEvent.INVITATION_REVOKED, what, project=invitation.project)


def find_invitation(secret: str) -> Invitation | None:
    """The one that this link still opens."""
    match = Invitation.objects.select_related("project", "created_by").filter(
        token_hash=keyed_hash(secret, _PURPOSE),
        accepted_at=None,
        revoked_at=None,
        expires_at__gt=timezone.now(),
        project__archived_at=None,
    )
    invitation = match.first()
    if invitation and may(Actor(user=invitation.created_by), Action.MANAGE, invitation.project):
        return invitation
    return None


@transaction.atomic
def accept_invitation(*, by: Actor, secret: str) -> Project:
    """Make whoever is signed in a member. Raises Refused."""
    invitation = find_invitation(secret)
    if invitation is None:
        raise Refused(_DEAD)
    if not by.is_member or by.token is not None:
        raise Forbidden("Sign in to accept an invitation.")
    project, role = invitation.project, Role(invitation.role)
    rows = Invitation.objects.filter(pk=invitation.pk, accepted_at=None, revoked_at=None)
    if not rows.update(accepted_at=timezone.now(), accepted_by=by.user):
        raise Refused(_DEAD)
    _, is_new = Membership.objects.get_or_create(
        project=project, user=by.user, defaults={"role": role}
    )
    if not is_new:
        raise Refused(f"You are a member of {project.name} already.")
    what = f"{role}, invited by {invitation.created_by.get_username()}"
    audit.note(by, AuditEvent.INVITATION_ACCEPTED, what, project=project)
    return project


@transaction.atomic
def join(*, secret: str, username: str, password: str, name: str = "", email: str = "") -> User:
    """A new account that has accepted the invitation. Raises InvalidFields, Refused."""
    invitation = find_invitation(secret)
    if invitation is None:
        raise Refused(_DEAD)
    try:
        validate_password(password, User(username=username))
    except ValidationError as error:
        raise InvalidFields({"password": " ".join(error.messages)}) from None
    user = _new_account(username, name, email)
    user.set_password(password)
    user.save(update_fields=["password"])
    by = Actor(user=user)
    audit.note(by, AuditEvent.ACCOUNT_CREATED, f"{username}, by invitation")
    accept_invitation(by=by, secret=secret)
    return user


def _new_account(username: str, name: str, email: str) -> User:
    """Without a password yet. Raises InvalidFields where another account has name or address."""
    fault = InvalidFields({"username": f"{username} is taken. Choose another user name."})
    if filter_users_by_username(username).exists():
        raise fault
    if email and filter_users_by_email(email):
        raise InvalidFields({"email": "Another account has this address."})
    try:
        with transaction.atomic():
            user = User(username=username, first_name=clean_name(name)[:150], email=email.lower())
            user.set_unusable_password()
            user.save()
            return user
    except IntegrityError:
        raise fault from None


# --- users, for administrators -------------------------------------------------------------------
@transaction.atomic
def create_account(
    *, by: Actor, username: str, name: str = "", email: str = "", is_administrator: bool = False
) -> User:
    """An account that has no password until its link is opened. Raises InvalidFields."""
    require_administrator(by)
    user = _new_account(username, name, email)
    if email:
        # The administrator answers for it, as the provider does.
        EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    audit.note(by, AuditEvent.ACCOUNT_CREATED, username)
    if is_administrator:
        set_administrator(by=by, user=user, is_administrator=True)
    return user


@transaction.atomic
def make_reset_link(*, by: Actor, user: User) -> tuple[str, str]:
    """(UID, key) of the page where a password is set, once. Wrong passwords no longer lock the
    name out."""
    require_administrator(by)
    if not user.is_active:
        raise Refused(f"{user} is disabled. Enable the account first.")
    unlock(username=user.get_username())
    audit.note(by, AuditEvent.RESET_LINK_MADE, user.get_username())
    return user_pk_to_url_str(user), PASSWORD_RESET_TOKEN_GENERATOR().make_token(user)


@transaction.atomic
def set_active(*, by: Actor, user: User, is_active: bool) -> None:
    """Disabling ends the account's sessions; its tokens, shares and schedules do nothing until it
    is enabled again."""
    require_administrator(by)
    if not is_active:
        _keep_an_administrator(user)
    if not User.objects.filter(pk=user.pk, is_active=not is_active).update(is_active=is_active):
        return
    if not is_active:
        delete_sessions(user)
    deed = AuditEvent.ACCOUNT_ENABLED if is_active else AuditEvent.ACCOUNT_DISABLED
    audit.note(by, deed, user.get_username())


@transaction.atomic
def set_administrator(*, by: Actor, user: User, is_administrator: bool) -> None:
    require_administrator(by)
    if not is_administrator:
        _keep_an_administrator(user)
    others = User.objects.filter(pk=user.pk, is_superuser=not is_administrator)
    if others.update(is_superuser=is_administrator, is_staff=is_administrator):
        word = "yes" if is_administrator else "no"
        audit.note(by, AuditEvent.ADMINISTRATOR_SET, f"{user.get_username()}: {word}")


def _keep_an_administrator(user: User) -> None:
    """Refuse to take away the last one; the lock serialises two who do it to each other."""
    able = User.objects.select_for_update().filter(is_superuser=True, is_active=True)
    if {each.pk for each in able.order_by("pk")} == {user.pk}:
        raise Refused(f"{user} is the only administrator. Make someone else one first.")


@transaction.atomic
def remove_factors(*, by: Actor, user: User) -> None:
    """Authenticator app, passkeys and recovery codes, for whoever has lost them: the password
    alone signs in again."""
    require_administrator(by)
    if Authenticator.objects.filter(user=user).delete()[0]:
        delete_sessions(user)
        what = f"second factors of {user.get_username()}"
        audit.note(by, AuditEvent.SIGN_IN_REMOVED, what)


def delete_sessions(user: User, but: str | None = None) -> int:
    """How many these were, beside the session with the key `but`. A row of Django's does not say
    whose it is, so all are read."""
    live = Session.objects.filter(expire_date__gt=timezone.now()).exclude(session_key=but)
    keys = [
        each.session_key
        for each in live.iterator(500)
        if each.get_decoded().get(SESSION_KEY) == str(user.pk)
    ]
    Session.objects.filter(session_key__in=keys).delete()
    return len(keys)


# --- one's own account ---------------------------------------------------------------------------
def end_other_sessions(*, by: Actor, session_key: str | None) -> int:
    n_ended = delete_sessions(by.user, but=session_key)
    audit.note(by, AuditEvent.SESSIONS_ENDED, f"{n_ended}")
    return n_ended


def is_taken(email: str, user: User) -> bool:
    """By another account."""
    return any(each.pk != user.pk for each in filter_users_by_email(email))


@transaction.atomic
def set_email(*, by: Actor, email: str) -> None:
    """Without a confirmation, for a site that sends none; "" removes it. Raises InvalidFields."""
    if email and is_taken(email, by.user):
        raise InvalidFields({"email": "Another account has this address."})
    EmailAddress.objects.filter(user=by.user).delete()
    User.objects.filter(pk=by.user.pk).update(email=email)
    audit.note(by, AuditEvent.EMAIL_CHANGED, email or "removed")
