"""Views of the list of campaigns that a user names, opens and deletes."""

import pytest
from django.urls import reverse

from campaigns.models import SavedView
from tests.factories import make_campaign

pytestmark = pytest.mark.django_db


@pytest.fixture
def listed(as_editor, project):
    make_campaign(project, "nightly")
    url = reverse("campaign-list", args=[project.pk])
    return lambda query="": as_editor.get(f"{url}?{query}").content.decode()


def save(client, project, name="Nightly", query="sort=name&name=night&page=after.1&next=//evil"):
    url = reverse("view-new", args=[project.pk])
    return client.post(url, {"name": name, "query": query}, follow=True)


def test_it_keeps_what_narrows_and_sorts_the_list_and_nothing_else(as_editor, project, listed):
    answer = save(as_editor, project)
    assert answer.redirect_chain == [
        (f"{reverse('campaign-list', args=[project.pk])}?name=night&sort=name", 302)
    ]
    assert SavedView.objects.get().query == "name=night&sort=name"


def test_it_is_a_link_beside_the_others_and_marked_where_it_is_open(as_editor, project, listed):
    assert "Save this view" not in listed()
    assert "Save this view" in listed("name=night")
    save(as_editor, project)
    link = '<a href="?name=night&amp;sort=name"'
    assert f"{link}>Nightly</a>" in listed()
    page = listed("sort=name&name=night")
    assert f'{link} aria-current="true">Nightly</a>' in page
    assert page.count('aria-current="true">All') == 0
    assert "Delete this view" in page


def test_it_is_deleted_and_its_campaigns_stay(as_editor, project, listed):
    save(as_editor, project)
    url = reverse("view-delete", args=[SavedView.objects.get().pk])
    assert "View Nightly deleted" in as_editor.post(url, follow=True).content.decode()
    assert not SavedView.objects.exists()
    assert project.campaigns.count() == 1


def test_what_is_wrong_with_it_is_said_on_the_list_as_it_was(as_editor, project, listed):
    answer = save(as_editor, project, name="")
    assert "name of 1 to 40 characters" in answer.content.decode()
    assert answer.redirect_chain[0][0].endswith("?name=night&sort=name")


def test_nobody_else_sees_it(as_editor, client, project, listed, alice):
    save(as_editor, project)
    client.force_login(alice)
    page = client.get(reverse("campaign-list", args=[project.pk])).content.decode()
    assert "Nightly" not in page
