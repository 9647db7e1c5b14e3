"""Pages of projects and members, as their readers see them."""

import re

import pytest
from django.urls import reverse

from campaigns.models import Project
from campaigns.permissions import Role
from tests.factories import make_campaign, make_project

pytestmark = pytest.mark.django_db


def members(project) -> str:
    return reverse("project-members", args=[project.pk])


def search_in(client, address: str) -> str:
    """Where the top bar's search leads to; "" without one."""
    page = client.get(address).content.decode()
    found = re.search(r'<form class="top-search" action="([^"]*)"', page)
    return found[1] if found else ""


def test_the_top_bar_searches_the_project_or_the_only_one(client, alice):
    client.force_login(alice)
    glossary, shop = reverse("glossary"), make_project("Shop", owner=alice)
    campaigns = reverse("campaign-list", args=[shop.pk])
    assert search_in(client, glossary) == search_in(client, members(shop)) == campaigns
    make_project("Second", owner=alice)
    assert (search_in(client, glossary), search_in(client, members(shop))) == ("", campaigns)
    for name in ("Nightly", "Smoke"):
        make_campaign(shop, name)
    field = re.search(
        r'<input type="search" name="(\w+)"', client.get(members(shop)).content.decode()
    )
    found = client.get(campaigns, {field[1]: "night"})
    assert [each.name for each in found.context["page"].rows] == ["Nightly"]
    assert not search_in(client, campaigns)


def test_a_project_is_made_and_owned(client, charlie):
    client.force_login(charlie)
    client.post(reverse("project-new"), {"name": "Shop"})
    assert Project.objects.get().memberships.get(user=charlie).role == Role.OWNER


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


def test_an_address_shortened_to_the_project_leads_to_its_campaigns(client, project, charlie):
    member = project.memberships.get(role="owner").user
    client.force_login(member)
    answer = client.get(f"/projects/{project.pk}/")
    assert answer["Location"] == reverse("campaign-list", args=[project.pk])
    client.force_login(charlie)
    assert client.get(f"/projects/{project.pk}/").status_code == 404
