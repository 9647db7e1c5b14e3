"""The table of roles and scopes, cell by cell."""

import pytest
from django.utils import timezone

from campaigns.core.permissions import Action, Actor, Role, Scope, may, may_anywhere, require
from campaigns.domain.errors import Forbidden, Refused
from campaigns.models import ApiToken, Project
from tests.factories import make_membership, make_project, make_user

ROLES = {
    Role.VIEWER: "view",
    Role.OPERATOR: "view run stop",
    Role.EDITOR: "view run stop edit share",
    Role.OWNER: "view run stop edit share manage administer",
}
SCOPES = {
    Scope.READ: "view",
    Scope.RUN: "view run stop",
    Scope.WRITE: "view run stop edit administer",
}

pytestmark = pytest.mark.django_db


def test_a_role_may_do_what_its_row_says():
    for action in list(Action):
        for role in list(Role):
            user = make_user()
            project = make_project()
            make_membership(project, user, role)
            assert may(Actor(user=user), action, project) == (action in ROLES[role].split())


def test_a_token_narrows_what_its_owner_may_do():
    for action in list(Action):
        for scope in list(Scope):
            user = make_user()
            project = make_project(owner=user)
            actor = Actor(user=user, token=ApiToken(user=user, scope=scope))
            assert may(actor, action, project) == (action in SCOPES[scope].split())


def test_a_token_gives_its_owner_nothing_that_the_owner_may_not_do():
    user = make_user()
    project = make_project()
    make_membership(project, user, Role.VIEWER)
    actor = Actor(user=user, token=ApiToken(user=user, scope=Scope.WRITE))
    assert not may(actor, Action.EDIT, project)


def test_a_token_never_administers_the_installation():
    user = make_user(is_superuser=True)
    token = ApiToken(user=user, scope=Scope.WRITE)
    answers = [Actor(user=user, token=each).is_administrator for each in (None, token)]
    assert answers == [True, False]


def test_a_stranger_a_visitor_and_a_deactivated_member_see_nothing(project, alice, charlie):
    assert not Project.objects.visible_to(Actor(user=charlie)).exists()
    assert not Project.objects.visible_to(Actor()).exists()
    alice.is_active = False
    assert not Project.objects.visible_to(Actor(user=alice)).exists()
    assert not may(Actor(user=alice), Action.VIEW, project)


def test_a_refusal_says_who_may(project, vera):
    with pytest.raises(Forbidden, match="Only an editor or owner may change this"):
        require(Actor(user=vera), Action.EDIT, project)


def test_a_refusal_names_the_scope_when_the_token_is_what_narrows(project, alice):
    actor = Actor(user=alice, token=ApiToken(user=alice, scope=Scope.READ))
    with pytest.raises(Forbidden, match="scope read"):
        require(actor, Action.EDIT, project)


def test_an_archived_project_is_looked_at_shared_stopped_and_restored_only(project, alice):
    for action in list(Action):
        project.archived_at = project.created_at
        is_left = action not in {Action.EDIT, Action.RUN}
        assert may(Actor(user=alice), action, project) == is_left


def test_who_might_otherwise_is_told_that_it_is_archived_and_nobody_else(project, alice, vera):
    project.archived_at = project.created_at
    with pytest.raises(Refused, match=f"{project.name} is archived: .* until an owner restores"):
        require(Actor(user=alice), Action.RUN, project)
    with pytest.raises(Forbidden, match="Only an operator, editor or owner may start this"):
        require(Actor(user=vera), Action.RUN, project)


def test_what_somebody_may_do_anywhere_is_what_they_may_in_some_living_project():
    user = make_user()
    make_membership(make_project(), user, Role.VIEWER)
    assert not may_anywhere(Actor(user=user), Action.RUN)
    project = make_project()
    make_membership(project, user, Role.OPERATOR)
    assert may_anywhere(Actor(user=user), Action.RUN)
    read = ApiToken(user=user, scope=Scope.READ)
    assert not may_anywhere(Actor(user=user, token=read), Action.RUN)
    project.archived_at = timezone.now()
    project.save()
    assert not may_anywhere(Actor(user=user), Action.RUN)
    assert not may_anywhere(Actor(), Action.RUN)
