"""Histories over REST: of one test, and of all tests of a project."""

import pytest

from tests.histories import make_history
from tests.views.test_history import CALM, SLOWER, recent

pytestmark = pytest.mark.django_db


@pytest.fixture
def get(client, vera):
    client.force_login(vera)
    return lambda path, **query: client.get(f"/api/v1/{path}", query)


def test_a_test_has_its_points_and_changes(get, project):
    (test,) = make_history(project, SLOWER)
    found = get(f"tests/{test.pk}/history/").json()
    assert found["standing"] == "slower"
    assert [round(point["value_us"], 3) for point in found["points"]] == [v * 1000 for v in SLOWER]
    (change,) = found["changes"]
    campaigns = [point["campaign"] for point in found["points"]]
    assert (change["after"], change["since"]) == (campaigns[7], campaigns[8])
    assert change["low"] < change["ratio"] < change["high"]
    assert change["p_value"] < 0.001
    assert change["causes"] == []
    assert found["expected"]["low_us"] < found["newest"]["value_us"]


def test_days_tag_and_metric_narrow_it(get, project):
    (test,) = make_history(project, CALM)
    path = f"tests/{test.pk}/history/"
    found = get(path, since="2026-11-03", until="2026-11-04", metric="mean").json()
    assert [round(point["value_us"]) for point in found["points"]] == [15480, 15660]
    assert get(path, tag="nightly").json()["points"] == []


@pytest.mark.parametrize(
    "query", [{"since": "soon"}, {"until": "mark-7"}, {"metric": "p7"}, {"first": "7"}]
)
def test_a_parameter_that_makes_no_sense_is_refused_by_its_name(get, project, query):
    (test,) = make_history(project, CALM[:1])
    response = get(f"tests/{test.pk}/history/", **query)
    assert response.status_code == 400
    assert next(iter(query)) in response.content.decode()


def test_a_project_has_all_its_tests_in_short(get, project):
    make_history(project, CALM, begin=recent(20))
    (slow,) = make_history(project, SLOWER, begin=recent(20))
    tests = get(f"projects/{project.pk}/history/").json()["tests"]
    assert {each["standing"] for each in tests} == {"slower", "unchanged"}
    (one,) = get(
        f"projects/{project.pk}/history/", plan=slow.plan_version.plan_id, arm="http new"
    ).json()["tests"]
    assert one["test"] == slow.pk
    assert one["change"]["since"] == one["newest"]["campaign"] - 5
