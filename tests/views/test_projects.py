"""Pages of projects and members."""

import pytest
from django.urls import reverse

from campaigns.permissions import Role
from tests.factories import make_project

pytestmark = pytest.mark.django_db


def members(project) -> str:
    return reverse("project-members", args=[project.pk])


def test_a_name_with_markup_is_shown_as_text(client, alice):
    make_project("<script>alert(1)</script>", owner=alice)
    client.force_login(alice)
    page = client.get("/", follow=True).content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_the_owner_adds_changes_and_removes(client, project, alice, charlie):
    client.force_login(alice)
    client.post(members(project), {"username": "charlie", "role": "viewer"})
    membership = project.memberships.get(user=charlie)
    client.post(reverse("membership-role", args=[membership.pk]), {"role": "operator"})
    membership.refresh_from_db()
    assert membership.role == Role.OPERATOR
    client.post(reverse("membership-remove", args=[membership.pk]))
    assert not project.memberships.filter(user=charlie).exists()


def test_a_role_that_there_is_not_changes_nothing(client, project, alice, vera):
    client.force_login(alice)
    address = reverse("membership-role", args=[project.memberships.get(user=vera).pk])
    client.post(address, {"role": "king"})
    assert project.memberships.get(user=vera).role == Role.VIEWER
