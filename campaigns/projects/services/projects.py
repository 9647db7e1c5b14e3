"""Create projects and manage their members and roles."""

from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction

from campaigns.core import audit
from campaigns.core.permissions import Action, Actor, Role, Scope, may_create_projects, require
from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.errors import Forbidden, Refused
from campaigns.domain.typed_text import clean_name
from campaigns.models import Membership, Project


@transaction.atomic
def create_project(*, by: Actor, name: str) -> Project:
    if not by.is_member or (by.token is not None and by.token.scope != Scope.WRITE):
        raise Forbidden("Sign in to create a project, or use a token with the scope write.")
    if not may_create_projects(by):
        raise Forbidden(
            "Only administrators create projects in this installation. Ask one of them, and to be "
            "made the project's owner."
        )
    project = Project.objects.create(name=clean_name(name))
    Membership.objects.create(project=project, user=by.user, role=Role.OWNER)
    return project


def add_member(*, by: Actor, project: Project, username: str, role: str) -> Membership:
    require(by, Action.MANAGE, project)
    user = get_user_model().objects.filter(username=username, is_active=True).first()
    if user is None:
        raise Refused(
            f"There is no account named {username}. Check the spelling, including capital letters, "
            "or ask an administrator to create the account."
        )
    try:
        with transaction.atomic():
            audit.note(by, AuditEvent.MEMBER_ADDED, f"{username} as {role}", project=project)
            return Membership.objects.create(project=project, user=user, role=Role(role))
    except IntegrityError:
        raise Refused(f"{username} is already a member. Change the role in the list.") from None


@transaction.atomic
def change_role(*, by: Actor, membership: Membership, role: str) -> None:
    require(by, Action.MANAGE, membership.project)
    if Role(role) != Role.OWNER:
        _keep_an_owner(membership)
    before = _held(membership).role
    if before == role:
        return
    Membership.objects.filter(pk=membership.pk).update(role=Role(role))
    text = f"{membership.user.get_username()}: {before} to {role}"
    audit.note(by, AuditEvent.ROLE_CHANGED, text, project=membership.project)


@transaction.atomic
def remove_member(*, by: Actor, membership: Membership) -> None:
    require(by, Action.MANAGE, membership.project)
    _keep_an_owner(membership)
    _held(membership)
    who = membership.user.get_username()
    audit.note(by, AuditEvent.MEMBER_REMOVED, who, project=membership.project)
    membership.delete()


def _held(membership: Membership) -> Membership:
    """As it is now, and until the transaction ends: the log must tell what was done. After the lock
    of the owners, so that two owners who change each other's roles wait in one order."""
    row = Membership.objects.select_for_update(of=("self",)).filter(pk=membership.pk).first()
    if row is None:
        raise Refused(f"{membership.user} is no longer a member.")
    return row


def _keep_an_owner(membership: Membership) -> None:
    """Refuse to remove the last owner; the lock serialises owners who leave at the same time."""
    owners = membership.project.memberships.select_for_update().filter(role=Role.OWNER)
    if {owner.pk for owner in owners} == {membership.pk}:
        raise Refused(
            f"{membership.user} is the only owner. Make someone else an owner first; "
            "a project needs at least one."
        )
