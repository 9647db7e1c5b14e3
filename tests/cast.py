"""The cast of the tests: alice owns, bob edits, vera looks, charlie must see nothing.

In alice's project there is a campaign with a run, where a test asks for them.
"""

import pytest

from campaigns.permissions import Actor, Role
from tests.factories import (
    make_campaign,
    make_membership,
    make_project,
    make_run,
    make_test,
    make_user,
)


@pytest.fixture
def alice(db):
    return make_user("alice")


@pytest.fixture
def bob(db):
    return make_user("bob")


@pytest.fixture
def vera(db):
    return make_user("vera")


@pytest.fixture
def charlie(db):
    return make_user("charlie")


@pytest.fixture
def project(alice, bob, vera):
    project = make_project("Payments", owner=alice)
    make_membership(project, bob, Role.EDITOR)
    make_membership(project, vera, Role.VIEWER)
    return project


@pytest.fixture
def as_alice(alice):
    return Actor(user=alice)


@pytest.fixture
def as_bob(bob):
    return Actor(user=bob)


@pytest.fixture
def as_vera(vera):
    return Actor(user=vera)


@pytest.fixture
def as_charlie(charlie):
    return Actor(user=charlie)


@pytest.fixture
def as_adam(db):
    """An administrator who is a member of no project."""
    return Actor(user=make_user("adam", is_superuser=True))


@pytest.fixture
def campaign(project):
    return make_campaign(project)


@pytest.fixture
def run(campaign):
    """A queued run."""
    return make_run(make_test(campaign))
