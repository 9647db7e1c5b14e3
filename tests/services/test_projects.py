"""Projects: who makes them, who is in them, and that they keep an owner."""

import pytest

from campaigns.domain.errors import Forbidden, Refused
from campaigns.models import ApiToken, Membership
from campaigns.permissions import Actor, Role, Scope
from campaigns.services.caps import add_member, change_role, create_project, remove_member
from tests.factories import make_user

pytestmark = pytest.mark.django_db


def test_who_makes_a_project_owns_it(as_charlie, charlie):
    project = create_project(by=as_charlie, name="Shop")
    assert project.memberships.get().role == Role.OWNER
    assert project.memberships.get().user == charlie


def test_an_installation_may_leave_projects_to_its_administrators(as_charlie, settings):
    settings.PROJECTS_BY = "administrators"
    with pytest.raises(Forbidden, match="Only administrators create projects"):
        create_project(by=as_charlie, name="Shop")
    adam = Actor(user=make_user("adam", is_superuser=True))
    of_adam = Actor(user=adam.user, token=ApiToken(user=adam.user, scope=Scope.WRITE))
    with pytest.raises(Forbidden, match="Only administrators create projects"):
        create_project(by=of_adam, name="Shop")
    assert create_project(by=adam, name="Shop").memberships.get().user == adam.user


@pytest.mark.parametrize("scope", [Scope.READ, Scope.RUN])
def test_a_token_needs_the_scope_write_to_make_a_project(scope, alice):
    with pytest.raises(Forbidden, match="scope write"):
        create_project(by=Actor(user=alice, token=ApiToken(user=alice, scope=scope)), name="x")


def test_an_owner_adds_a_member_by_name(project, as_alice, charlie):
    add_member(by=as_alice, project=project, username="charlie", role="operator")
    assert project.memberships.get(user=charlie).role == Role.OPERATOR


@pytest.mark.parametrize("name", ["nobody", "Charlie"])
def test_an_unknown_name_is_refused_in_words(name, project, as_alice, charlie):
    with pytest.raises(Refused, match=f"no account named {name}"):
        add_member(by=as_alice, project=project, username=name, role="viewer")


def test_a_deactivated_account_is_unknown(project, as_alice):
    make_user("gone", is_active=False)
    with pytest.raises(Refused, match="no account named gone"):
        add_member(by=as_alice, project=project, username="gone", role="viewer")


def test_nobody_is_a_member_twice(project, as_alice, bob):
    with pytest.raises(Refused, match="already a member"):
        add_member(by=as_alice, project=project, username="bob", role="viewer")


def test_the_last_owner_stays(project, as_alice, alice):
    own = project.memberships.get(user=alice)
    with pytest.raises(Refused, match="only owner"):
        remove_member(by=as_alice, membership=own)
    with pytest.raises(Refused, match="only owner"):
        change_role(by=as_alice, membership=own, role="viewer")
    assert project.memberships.get(user=alice).role == Role.OWNER


def test_one_of_two_owners_may_leave(project, as_alice, alice, bob):
    change_role(by=as_alice, membership=project.memberships.get(user=bob), role="owner")
    remove_member(by=as_alice, membership=project.memberships.get(user=alice))
    assert not Membership.objects.filter(user=alice).exists()
