"""The cast of the tests: alice owns, bob edits, vera looks, charlie must see nothing.

In alice's project there is a campaign with a run, where a test asks for them.
"""

import secrets
from datetime import timedelta
from unittest import mock

import jinja2
import pytest
from django.conf import settings
from django.contrib import auth
from django.contrib.sessions.models import Session
from django.test import Client
from django.test.signals import template_rendered
from django.utils import timezone
from rest_framework.test import APIClient

from campaigns.accounts.tokens import create_token
from campaigns.core.permissions import Actor, Role, Scope
from campaigns.models import Membership, Project
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_project,
    make_run,
    make_target,
    make_test,
    make_user,
)


@pytest.fixture(scope="session", autouse=True)
def _pages_tell_their_context(django_test_environment):
    """For `response.context`, as Django's own language does."""
    render = jinja2.Template.render

    def tell_and_render(template, context):
        template_rendered.send(template, template=template, context=context)
        return render(template, context)

    with mock.patch.object(jinja2.Template, "render", tell_and_render):
        yield


def enter(client: Client, user) -> None:
    """Give the client a session of this user."""
    says = {
        auth.SESSION_KEY: str(user.pk),
        auth.BACKEND_SESSION_KEY: "django.contrib.auth.backends.ModelBackend",
        auth.HASH_SESSION_KEY: user.get_session_auth_hash(),
    }
    session = Session(
        session_key=secrets.token_hex(16),
        session_data=Session.objects.encode(says),
        expire_date=timezone.now() + timedelta(days=1),
    )
    session.save(force_insert=True)
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key


@pytest.fixture(scope="session", autouse=True)
def _to_enter_is_no_ceremony(django_test_environment):
    """Django's own signs in as the form does: with ten statements, a note in the audit log among
    them. That took a tenth of the time of all pages; who is about it uses the form."""
    with mock.patch.object(Client, "force_login", enter):
        yield


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
    return project_of(alice, bob, vera)


def project_of(owner, editor, viewer) -> Project:
    project = make_project("Payments")
    roles = ((owner, Role.OWNER), (editor, Role.EDITOR), (viewer, Role.VIEWER))
    Membership.objects.bulk_create(
        Membership(project=project, user=user, role=role) for user, role in roles
    )
    return project


@pytest.fixture(scope="module")
def project_of_the_file(rows_of_the_file):
    """For rows that are made once for all tests of a file (tests/kept_cast.py)."""
    return project_of(*map(make_user, ("alice", "bob", "vera")))


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


@pytest.fixture
def as_editor(client, project, bob):
    """Bob's browser: he may edit the project."""
    client.force_login(bob)
    return client


@pytest.fixture
def viewer(client, project, vera):
    """Vera's browser: she may look."""
    client.force_login(vera)
    return client


@pytest.fixture
def adam(client):
    """The browser of an administrator."""
    client.force_login(make_user("adam", is_superuser=True))
    return client


@pytest.fixture
def target(project):
    """A target with HTTP and HTTPS."""
    target = make_target(project, "checkout-api")
    make_endpoint(target, "http")
    make_endpoint(target, "https")
    return target


@pytest.fixture
def version(project):
    """The only version of a plan."""
    return make_plan(project, "Prices")


def client_of(user) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


def token_client(user, scope=Scope.WRITE) -> APIClient:
    _, text = create_token(by=Actor(user=user), name=f"{scope} job", scope=scope, days=1)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    return client


@pytest.fixture
def api(alice):
    """Alice's program, which may write."""
    return token_client(alice)


@pytest.fixture
def post_to(client, bob):
    """Bob's browser sends JSON to an address of the API."""
    client.force_login(bob)

    def post(path, **body):
        return client.post(f"/api/v1/{path}", body, content_type="application/json")

    return post
