"""What tools printed on the target's machine, over REST."""

from functools import partial

import pytest

from tests.domain.printed.samples import PERF_VIRTUAL

pytestmark = pytest.mark.django_db


@pytest.fixture
def post(post_to, run):
    return partial(post_to, f"runs/{run.pk}/outputs/")


def test_an_output_is_added_read_and_deleted(client, post, run):
    added = post(text=PERF_VIRTUAL)
    assert added.status_code == 201
    path = f"/api/v1/outputs/{added.json()['id']}/"
    assert client.get(path).json() == added.json()
    assert added.json()["text"] == PERF_VIRTUAL
    (listed,) = client.get(f"/api/v1/runs/{run.pk}/outputs/").json()["results"]
    assert "text" not in listed
    cycles = next(each for each in listed["values"] if each["name"] == "cycles")
    assert (cycles["value"], cycles["why"]) == (None, "not supported on this machine")
    assert client.delete(path).status_code == 204
    assert client.get(path).status_code == 404


def test_a_text_that_is_not_understood_is_answered_with_its_line(post):
    answer = post(text="hello")
    assert answer.status_code == 400
    assert "Line 1 was not understood" in answer.json()["error"]["fields"]["text"]


def test_the_tables_of_the_run_have_them(client, post, run):
    pk = post(text=PERF_VIRTUAL).json()["id"]
    tables = client.get(f"/api/v1/runs/{run.pk}/tables/").json()["tables"]
    rows = next(each for each in tables if each["key"] == f"output-{pk}")["rows"]
    assert next(row for row in rows if row["label"] == "context-switches")["values"] == {
        "value": 9204
    }
