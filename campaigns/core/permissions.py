"""Permissions: who may see what, and who may do what.

An `Actor` is a signed-in user, a user's API token, or a share link's visitor. Querysets define
what an actor may see (`Run.objects.visible_to(actor)`); other rows do not exist for it.
`require(actor, Action…, project)` decides what it may do with a row that it sees.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any, Protocol

from django.conf import settings
from django.db.models import Manager, Q

from campaigns.domain.errors import Forbidden, Refused


class Role(StrEnum):
    OWNER = "owner"
    EDITOR = "editor"
    OPERATOR = "operator"
    VIEWER = "viewer"


class Action(StrEnum):
    VIEW = "view"
    EDIT = "edit"  # targets, plans, campaigns
    RUN = "run"  # start, try one request
    STOP = "stop"
    SHARE = "share"
    MANAGE = "manage"  # members and roles
    ADMINISTER = "administer"  # rename, archive, delete the project; see its use; stop all of it


_ALLOWED: dict[Role, frozenset[Action]] = {
    Role.VIEWER: frozenset({Action.VIEW}),
    Role.OPERATOR: frozenset({Action.VIEW, Action.RUN, Action.STOP}),
    Role.EDITOR: frozenset(set(Action) - {Action.MANAGE, Action.ADMINISTER}),
    Role.OWNER: frozenset(Action),
}
# What nobody may in a project that is archived: its results are read, shared, restored or deleted;
_NOT_WHERE_ARCHIVED = frozenset({Action.EDIT, Action.RUN})
# and in one of the trash, which an owner restores or deletes for ever.
_NOT_IN_TRASH = frozenset(set(Action) - {Action.ADMINISTER})


class Scope(StrEnum):
    """The part of its owner's rights that a token has."""

    READ = "read"
    RUN = "run"
    WRITE = "write"


_SCOPE_ALLOWS: dict[Scope, frozenset[Action]] = {
    Scope.READ: frozenset({Action.VIEW}),
    Scope.RUN: frozenset({Action.VIEW, Action.RUN, Action.STOP}),
    Scope.WRITE: frozenset({Action.VIEW, Action.RUN, Action.STOP, Action.EDIT, Action.ADMINISTER}),
}


class Narrowing(Protocol):
    """The interface required of an API token."""

    scope: str


class WithMembers(Protocol):
    """The interface required of a project."""

    name: str
    archived_at: datetime | None
    deleted_at: datetime | None
    memberships: Manager


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts. `token` narrows the user's rights; `share` comes without a user."""

    user: Any = None
    token: Narrowing | None = None
    share: Any = None

    @property
    def is_member(self) -> bool:
        return self.user is not None and self.user.is_active

    @property
    def is_administrator(self) -> bool:
        """Of the installation; a token never is, whoever owns it."""
        return self.is_member and self.token is None and self.user.is_superuser

    @property
    def sees_machines(self) -> bool:
        """Members do, and a visitor where the share link says so: addresses and host names, and
        what the target's machine did."""
        return self.share is None or self.share.shows_machines


NOBODY = Actor()


def visible(actor: Actor, project_path: str) -> Q:
    """The filter for a member's rows; `project_path` is the lookup from a row to its project."""
    if not actor.is_member:
        return Q(pk__in=[])
    return Q(**{viewers_path(project_path): actor.user})


def project_of(row: Any) -> WithMembers:
    """By the path that its model names, from the row to its project."""
    return attrgetter(row.project_path.replace("__", "."))(row) if row.project_path else row


def viewers_path(project_path: str) -> str:
    """The lookup from a row to the users who see it while their accounts are active."""
    return f"{project_path}__memberships__user" if project_path else "memberships__user"


def role_in(actor: Actor, project: WithMembers) -> Role | None:
    """The actor's role in a project; None for non-members and share link visitors."""
    if not actor.is_member:
        return None
    # No more than the word, and in no order: each page and each write asks.
    of_actor = project.memberships.filter(user=actor.user).order_by()
    role = next(iter(of_actor.values_list("role", flat=True)), None)
    return Role(role) if role else None


def rights(actor: Actor, project: WithMembers) -> frozenset[Action]:
    """All actions allowed to the actor in the project as it is now, in one query."""
    actions = _actions_of(actor, project)
    if project.deleted_at:
        return actions - _NOT_IN_TRASH
    return actions - _NOT_WHERE_ARCHIVED if project.archived_at else actions


def _actions_of(actor: Actor, project: WithMembers) -> frozenset[Action]:
    """By role and token."""
    role = role_in(actor, project)
    if role is None:
        return frozenset()
    if actor.token is None:
        return _ALLOWED[role]
    return _ALLOWED[role] & _SCOPE_ALLOWS[Scope(actor.token.scope)]


def may(actor: Actor, action: Action, project: WithMembers) -> bool:
    return action in rights(actor, project)


def may_anywhere(actor: Actor, action: Action) -> bool:
    if not actor.is_member or (actor.token and action not in _SCOPE_ALLOWS[actor.token.scope]):
        return False
    mine = actor.user.memberships.filter(role__in=roles_with(action), project__archived_at=None)
    return mine.exists()


def roles_with(action: Action) -> list[Role]:
    return [role for role, allowed in _ALLOWED.items() if action in allowed]


_NEEDS = {
    Action.EDIT: "Only an editor or owner may change this.",
    Action.RUN: "Only an operator, editor or owner may start this.",
    Action.STOP: "Only an operator, editor or owner may stop this.",
    Action.SHARE: "Only an editor or owner may share this.",
    Action.MANAGE: "Only an owner may change members.",
    Action.ADMINISTER: (
        "Only an owner may rename, archive or delete a project, see its use, or stop all of it."
    ),
    Action.VIEW: "You are not a member of this project.",
}


_TOO_NARROW = "This token has the scope {}, which does not allow this."


def require(actor: Actor, action: Action, project: WithMembers) -> None:
    """Unless the actor may do this, raise Forbidden, with a sentence that names who may, or Refused
    where the project is archived or deleted."""
    if action not in _actions_of(actor, project):
        is_of_token = actor.token is not None and action in _actions_of(
            Actor(user=actor.user), project
        )
        raise Forbidden(_TOO_NARROW.format(actor.token.scope) if is_of_token else _NEEDS[action])
    if project.deleted_at and action in _NOT_IN_TRASH:
        raise Refused(f"{project.name} has been deleted. An owner can restore it for 30 days.")
    if project.archived_at and action in _NOT_WHERE_ARCHIVED:
        raise Refused(
            f"{project.name} is archived: nothing in it is changed or started until an owner "
            "restores it."
        )


def may_create_projects(actor: Actor) -> bool:
    """Everybody with an account, or only administrators, as the installation is set."""
    return actor.is_administrator or (actor.is_member and settings.PROJECTS_BY == "everybody")


def require_administrator(actor: Actor) -> None:
    """Raise Forbidden unless the actor is an administrator of the installation."""
    if not actor.is_administrator:
        raise Forbidden("Only an administrator of this installation may do this.")
