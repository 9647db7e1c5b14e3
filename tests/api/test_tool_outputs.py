"""What tools printed on the target's machine, over REST."""

from functools import partial

import pytest

pytestmark = pytest.mark.django_db


@pytest.fixture
def post(post_to, run):
    return partial(post_to, f"runs/{run.pk}/outputs/")


def test_an_output_is_added_read_and_deleted(client, post, run):
    added = post(tool="vmstat", text=" r  b\r\n 1  0\n")
    assert added.status_code == 201
    path = f"/api/v1/outputs/{added.json()['id']}/"
    assert client.get(path).json() == added.json()
    assert (added.json()["tool"], added.json()["text"]) == ("vmstat", " r  b\r\n 1  0\n")
    (listed,) = client.get(f"/api/v1/runs/{run.pk}/outputs/").json()["results"]
    assert listed.keys() == {"id", "run", "tool", "added_by", "added_at"}
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404


def test_what_cannot_be_kept_is_answered_by_field(post):
    answer = post(tool="vmstat", text="x" * 1_000_001)
    assert answer.status_code == 400
    assert answer.json()["error"]["fields"].keys() == {"text"}
