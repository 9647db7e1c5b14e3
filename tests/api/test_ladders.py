"""Ladders over REST: started, and read as the rungs of the campaign's tables."""

import pytest

from campaigns.domain.plan.rungs import USUAL_RUNGS
from tests.factories import make_endpoint, make_plan, make_project, make_target
from tests.services.engine import host

pytestmark = pytest.mark.django_db


@pytest.fixture
def body(project):
    host(slots=8)
    target = make_target(project)
    make_endpoint(target, "http")
    endpoint = make_endpoint(target, "https")
    plan = make_plan(project).plan_id
    return {"project": project.pk, "name": "layers", "plan": plan, "endpoint": endpoint.pk}


def post(api, body: dict):
    return api.post("/api/v1/ladders/", body, format="json")


def test_a_ladder_is_started_with_the_usual_rungs(api, body):
    answer = post(api, body)
    assert answer.status_code == 201, answer.json()
    found = answer.json()
    assert (found["state"], len(found["tests"])) == ("running", len(USUAL_RUNGS))
    assert found["n_runs"] == 5 * len(USUAL_RUNGS)
    tables = api.get(f"/api/v1/campaigns/{found['id']}/tables/").json()["ladder"]
    assert [row["label"] for row in tables[0]["rows"]][:3] == [
        "HTTP/1.1",
        "HTTPS/1.1, TLS 1.2",
        "TLS 1.3",
    ]


def test_another_project_s_plan_is_not_found(api, body):
    stranger = make_plan(make_project()).plan_id
    assert post(api, body | {"plan": stranger}).status_code == 400
