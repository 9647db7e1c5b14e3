"""Triage over REST: entries of a project, and what people say about one."""

import pytest

from campaigns.models import TriageEntry
from tests.services.test_triage import SLOWER, noted

pytestmark = pytest.mark.django_db


@pytest.fixture
def get(client, bob):
    client.force_login(bob)
    return lambda path, **query: client.get(f"/api/v1/{path}", query)


@pytest.fixture
def judge(client, bob):
    client.force_login(bob)

    def judge(entry, **given):
        path = f"/api/v1/triage/{entry.pk}/"
        return client.post(path, given, content_type="application/json")

    return judge


@pytest.fixture
def entry(project):
    noted(project, SLOWER)
    return TriageEntry.objects.get()


def test_a_projects_entries_have_their_changes(get, project, entry):
    (listed,) = get(f"projects/{project.pk}/triage/").json()
    assert (listed["id"], listed["state"]) == (entry.pk, "open")
    (change,) = listed["changes"]
    assert change["low"] < change["ratio"] < change["high"]
    assert change["since"] == entry.changes.get().since_id
    assert listed["notes"] == []


def test_a_judgement_is_answered_with_the_entry(judge, entry):
    response = judge(entry, state="expected", seen="open", why="A wanted change.")
    assert response.status_code == 200
    found = response.json()
    assert found["state"] == "expected"
    assert [(note["by"], note["why"]) for note in found["notes"]] == [("bob", "A wanted change.")]


def test_a_state_that_is_no_longer_so_is_refused(judge, entry):
    judge(entry, state="acknowledged", seen="open")
    assert judge(entry, state="environment", seen="open").status_code == 409


def test_entries_are_narrowed_by_state(get, judge, project, entry):
    judge(entry, state="acknowledged", seen="open")
    path = f"projects/{project.pk}/triage/"
    assert get(path, state="open").json() == []
    assert len(get(path, state=["open", "acknowledged"]).json()) == 1
    assert get(path, state="gone").status_code == 400
