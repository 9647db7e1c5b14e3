"""A user's saved views over REST: the same as on the page, typed and one's own."""

from functools import partial

import pytest
from django.http import QueryDict

from campaigns.forms.filters import CampaignFilterForm
from campaigns.models import SavedView
from tests.factories import make_campaign, make_target

pytestmark = pytest.mark.django_db


@pytest.fixture
def post(post_to, project):
    return partial(post_to, f"projects/{project.pk}/views/")


def test_a_view_saved_over_rest_is_the_one_that_the_page_saves(client, post, project, bob):
    make_campaign(project, "nightly", created_by=bob)
    target = make_target(project, "shop")
    filters = {
        "name": "night",
        "state": "done",
        "target": target.pk,
        "since": "7",
        "by": bob.username,
        "measurement": "doubtful",
        "target_state": "failing",
        "precision": "coarse",
        "view": "look",
        "tag": "release",
        "sort": "-started",
    }
    saved = post(name="Nightly", filters=dict(reversed(filters.items())))
    assert saved.status_code == 201, saved.json()
    assert saved.json()["filters"] == filters
    view = SavedView.objects.get(user=bob)
    assert view.query == CampaignFilterForm(QueryDict(view.query), project=project).query
    page = client.get(saved.json()["url"]).context
    assert page["current_view"] == view


def test_views_are_listed_and_deleted_by_who_saved_them(client, post, project, vera):
    number = post(name="Mine", filters={"view": "mine"}).json()["id"]
    path = f"/api/v1/projects/{project.pk}/views/"
    assert [each["name"] for each in client.get(path).json()["results"]] == ["Mine"]
    client.force_login(vera)
    assert client.get(path).json()["count"] == 0
    assert client.delete(f"/api/v1/views/{number}/").status_code == 404
    assert SavedView.objects.count() == 1


def test_one_s_own_view_is_deleted(client, post):
    number = post(name="Mine", filters={"view": "mine"}).json()["id"]
    assert client.delete(f"/api/v1/views/{number}/").status_code == 204
    assert not SavedView.objects.exists()


@pytest.mark.parametrize(
    ("filters", "field"),
    [
        ({"state": "asleep"}, "filters.state"),
        ({"status": "done"}, "filters.status"),
        ({"target": 987654321}, "filters.target"),
        ({"by": "nobody"}, "filters.by"),
        ({"sort": "colour"}, "filters.sort"),
    ],
)
def test_a_filter_that_the_list_has_not_is_an_error_at_its_field(post, filters, field):
    answer = post(name="Mine", filters=filters)
    assert (answer.status_code, list(answer.json()["error"]["fields"])) == (400, [field])


def test_the_whole_list_is_no_view(post):
    answer = post(name="Mine", filters={})
    assert answer.status_code == 409
    assert "Filter or sort it first" in answer.json()["error"]["message"]
