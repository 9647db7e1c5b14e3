"""Baselines over REST: made of a campaign or of tests, listed, released."""

from functools import partial

import pytest

from tests.histories import make_history
from tests.views.test_history import CALM

pytestmark = pytest.mark.django_db


@pytest.fixture
def post(post_to, project):
    return partial(post_to, f"projects/{project.pk}/baselines/")


def test_a_campaign_is_made_the_baseline_listed_and_released(client, post, project):
    (test,) = make_history(project, CALM)
    (made,) = post(name="calm", campaign=test.campaign_id).json()
    assert (made["name"], made["test"], len(made["runs"])) == ("calm", test.pk, 3)
    path = f"/api/v1/projects/{project.pk}/baselines/"
    assert [each["id"] for each in client.get(path).json()["results"]] == [made["id"]]
    assert client.delete(f"/api/v1/baselines/{made['id']}/").status_code == 204
    assert client.get(path, {"current": "true"}).json()["results"] == []
    assert client.get(path, {"current": "false"}).json()["results"][0]["replaced_by"] == "bob"


def test_a_newer_one_than_was_seen_is_not_replaced(post, project):
    (test,) = make_history(project, CALM)
    (made,) = post(name="calm", tests=[test.pk]).json()
    assert post(name="mine", tests=[test.pk], seen=made["id"] - 1).status_code == 409
    assert post(name="mine", tests=[test.pk], seen=made["id"]).status_code == 201


def test_deleting_its_campaign_is_refused(client, post, project):
    (test,) = make_history(project, CALM)
    post(name="calm", campaign=test.campaign_id)
    assert client.delete(f"/api/v1/campaigns/{test.campaign_id}/").status_code == 409
