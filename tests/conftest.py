"""The cast of the tests: alice owns, bob edits, vera looks, charlie must see nothing."""

import hypothesis
import pytest

from campaigns.permissions import Actor, Role
from tests.factories import make_membership, make_project, make_user

# Algebra has no deadline: on a busy machine one example may well take a second.
hypothesis.settings.register_profile("algebra", deadline=None)
hypothesis.settings.load_profile("algebra")


@pytest.fixture(autouse=True)
def _plain_static_names(settings):
    """Hashed names need a collected manifest; tests/test_static.py tests those by themselves."""
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }


@pytest.fixture(autouse=True)
def _quick_passwords(settings):
    """A slow hash protects people's passwords; the cast has none worth it."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


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
