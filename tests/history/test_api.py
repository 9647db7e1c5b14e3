"""Histories over REST, with their marks and baselines, and what people say of their changes."""

from functools import partial

import pytest

from campaigns.models import TriageEntry
from tests.histories import make_history
from tests.history.test_triage_services import CALM, SLOWER, nights_ago, note_history

pytestmark = pytest.mark.django_db


@pytest.fixture
def get_by_vera(client, vera):
    client.force_login(vera)
    return lambda path, **query: client.get(f"/api/v1/{path}", query)


def test_a_test_has_its_points_and_changes(get_by_vera, project):
    (test,) = make_history(project, SLOWER)
    history = get_by_vera(f"tests/{test.pk}/history/").json()
    assert history["standing"] == "slower"
    assert [round(point["value_us"], 3) for point in history["points"]] == [
        v * 1000 for v in SLOWER
    ]
    (change,) = history["changes"]
    campaigns = [point["campaign"] for point in history["points"]]
    assert (change["after"], change["since"]) == (campaigns[7], campaigns[8])
    assert change["low"] < change["ratio"] < change["high"]
    assert change["p_value"] < 0.001
    assert change["causes"] == []
    assert history["expected"]["low_us"] < history["newest"]["value_us"]


def test_days_tag_and_metric_narrow_it(get_by_vera, project):
    (test,) = make_history(project, CALM)
    path = f"tests/{test.pk}/history/"
    history = get_by_vera(path, since="2026-11-03", until="2026-11-04", metric="mean").json()
    assert [round(point["value_us"]) for point in history["points"]] == [15480, 15660]
    page_words = get_by_vera(path, since="2026-11-03", until="2026-11-04", metric="average")
    assert page_words.json()["points"] == history["points"]
    assert get_by_vera(path, tag="nightly").json()["points"] == []


@pytest.mark.parametrize(
    "query", [{"since": "soon"}, {"until": "mark-7"}, {"metric": "p7"}, {"first": "7"}]
)
def test_a_parameter_that_makes_no_sense_is_refused_by_its_name(get_by_vera, project, query):
    (test,) = make_history(project, CALM[:1])
    response = get_by_vera(f"tests/{test.pk}/history/", **query)
    assert response.status_code == 400
    assert next(iter(query)) in response.content.decode()


def test_a_project_has_all_its_tests_in_short(get_by_vera, project):
    make_history(project, CALM, begin=nights_ago(20))
    (slow,) = make_history(project, SLOWER, begin=nights_ago(20))
    tests = get_by_vera(f"projects/{project.pk}/history/").json()["tests"]
    assert {each["standing"] for each in tests} == {"slower", "unchanged"}
    (one,) = get_by_vera(
        f"projects/{project.pk}/history/", plan=slow.plan_version.plan_id, arm="http new"
    ).json()["tests"]
    assert one["test"] == slow.pk
    assert one["change"]["since"] == one["newest"]["campaign"] - 5


@pytest.fixture
def post_mark(post_to, project):
    return partial(post_to, f"projects/{project.pk}/marks/")


def test_marks_are_listed_newest_first_and_deleted(client, post_mark, project):
    old = post_mark(text="1.4.2", at="2026-11-01T00:00:00Z").json()["id"]
    new = post_mark(text="1.4.3", at="2026-11-05T00:00:00Z").json()["id"]
    path = f"/api/v1/projects/{project.pk}/marks/"
    assert [each["id"] for each in client.get(path).json()["results"]] == [new, old]
    since = client.get(path, {"since": "2026-11-02T00:00:00Z"}).json()["results"]
    assert [each["id"] for each in since] == [new]
    assert client.delete(f"/api/v1/marks/{old}/").status_code == 204
    assert client.get(f"/api/v1/marks/{old}/").status_code == 404


def test_no_instant_that_can_be_written_breaks_the_list_or_a_new_mark(client, post_mark, project):
    for day in ["0001-01-01", "9999-12-31", "2026-11-21"]:
        for offset in ["+23:59", "-23:59"]:
            instant = f"{day}T12:00:00{offset}"
            path = f"/api/v1/projects/{project.pk}/marks/"
            assert post_mark(text="1.4.2", at=instant).status_code in (201, 400)
            for name in ("since", "until"):
                answer = client.get(path, {name: instant})
                assert answer.status_code in (200, 400)
                if answer.status_code == 400:
                    assert list(answer.json()["error"]["fields"]) == [name]


def test_a_mark_begins_a_history_and_is_told_in_it(client, post_mark, project):
    (test,) = make_history(project, SLOWER)
    mark = post_mark(text="1.4.2", at="2026-11-08T12:00:00Z").json()["id"]
    history = client.get(f"/api/v1/tests/{test.pk}/history/").json()
    assert [each["text"] for each in history["marks"]] == ["1.4.2"]
    since = client.get(f"/api/v1/tests/{test.pk}/history/", {"since": f"mark-{mark}"}).json()
    assert len(since["points"]) == 6


@pytest.fixture
def post_baseline(post_to, project):
    return partial(post_to, f"projects/{project.pk}/baselines/")


def test_a_campaign_is_made_the_baseline_listed_and_released(client, post_baseline, project):
    (test,) = make_history(project, CALM)
    (baseline,) = post_baseline(name="calm", campaign=test.campaign_id).json()
    assert (baseline["name"], baseline["test"], len(baseline["runs"])) == ("calm", test.pk, 3)
    path = f"/api/v1/projects/{project.pk}/baselines/"
    assert [each["id"] for each in client.get(path).json()["results"]] == [baseline["id"]]
    assert client.delete(f"/api/v1/baselines/{baseline['id']}/").status_code == 204
    assert client.get(path, {"current": "true"}).json()["results"] == []
    assert client.get(path, {"current": "false"}).json()["results"][0]["replaced_by"] == "bob"


@pytest.fixture
def get(client, bob):
    client.force_login(bob)
    return lambda path, **query: client.get(f"/api/v1/{path}", query)


@pytest.fixture
def edit(client, bob):
    client.force_login(bob)

    def edit(entry, **fields):
        path = f"/api/v1/triage/{entry.pk}/"
        return client.patch(path, fields, content_type="application/json")

    return edit


@pytest.fixture
def entry(project):
    note_history(project, SLOWER)
    return TriageEntry.objects.get()


def test_a_projects_entries_have_their_changes(get, project, entry):
    (row,) = get(f"projects/{project.pk}/triage/").json()
    assert (row["id"], row["acknowledged_at"], row["note"]) == (entry.pk, None, "")
    (change,) = row["changes"]
    assert change["low"] < change["ratio"] < change["high"]
    assert change["since"] == entry.changes.get().since_id


def test_an_edit_is_answered_with_the_entry(edit, entry):
    edit(entry, note="A wanted change.")
    response = edit(entry, acknowledged=True)
    assert response.status_code == 200
    answer = response.json()
    assert (answer["acknowledged_by"], answer["note"]) == ("bob", "A wanted change.")


def test_entries_are_narrowed_by_whether_they_are_acknowledged(get, edit, project, entry):
    edit(entry, acknowledged=True)
    path = f"projects/{project.pk}/triage/"
    assert get(path, acknowledged="false").json() == []
    assert len(get(path, acknowledged="true").json()) == len(get(path).json()) == 1
    assert get(path, acknowledged="gone").status_code == 400
