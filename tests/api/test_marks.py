"""Marks over REST: a job sends one, twice without harm; they bound histories."""

from functools import partial

import pytest

from tests.histories import make_history
from tests.views.test_history import SLOWER

pytestmark = pytest.mark.django_db


@pytest.fixture
def post(post_to, project):
    return partial(post_to, f"projects/{project.pk}/marks/")


def test_a_mark_is_new_once(post):
    body = {"text": "version 1.4.2 deployed", "link": "https://ci.example/12"}
    first, second = post(**body), post(**body)
    assert (first.status_code, second.status_code) == (201, 200)
    assert first.json() == second.json()


def test_marks_are_listed_newest_first_and_deleted(client, post, project):
    old = post(text="1.4.2", at="2026-11-01T00:00:00Z").json()["id"]
    new = post(text="1.4.3", at="2026-11-05T00:00:00Z").json()["id"]
    path = f"/api/v1/projects/{project.pk}/marks/"
    assert [each["id"] for each in client.get(path).json()["results"]] == [new, old]
    since = client.get(path, {"since": "2026-11-02T00:00:00Z"}).json()["results"]
    assert [each["id"] for each in since] == [new]
    assert client.delete(f"/api/v1/marks/{old}/").status_code == 204
    assert client.get(f"/api/v1/marks/{old}/").status_code == 404


@pytest.mark.parametrize("offset", ["+23:59", "-23:59"])
@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31", "2026-11-21"])
def test_no_instant_that_can_be_written_breaks_the_list_or_a_new_mark(
    client, post, project, day, offset
):
    instant = f"{day}T12:00:00{offset}"
    path = f"/api/v1/projects/{project.pk}/marks/"
    assert post(text="1.4.2", at=instant).status_code in (201, 400)
    for name in ("since", "until"):
        answer = client.get(path, {name: instant})
        assert answer.status_code in (200, 400)
        if answer.status_code == 400:
            assert list(answer.json()["error"]["fields"]) == [name]


def test_a_mark_begins_a_history_and_is_told_in_it(client, post, project):
    (test,) = make_history(project, SLOWER)
    mark = post(text="1.4.2", at="2026-11-08T12:00:00Z").json()["id"]
    found = client.get(f"/api/v1/tests/{test.pk}/history/").json()
    assert [each["text"] for each in found["marks"]] == ["1.4.2"]
    since = client.get(f"/api/v1/tests/{test.pk}/history/", {"since": f"mark-{mark}"}).json()
    assert len(since["points"]) == 6
