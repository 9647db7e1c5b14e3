"""Campaigns over REST: estimated, made, tried, started, and as ladders."""

import pytest

from campaigns.domain.plan.rungs import USUAL_RUNGS
from campaigns.models import Campaign
from campaigns.probes.services.probes import finish_probe, settle_campaign
from tests.cast import client_of
from tests.engine.scenes import host, others_use
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_project,
    make_run,
    make_target,
    make_test,
)
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


CAMPAIGNS = "/api/v1/campaigns/"


@pytest.fixture
def plan(project):
    return make_plan(project).plan


@pytest.fixture
def endpoint(project):
    return make_endpoint(make_target(project))


@pytest.fixture
def body(project, plan, endpoint):
    return {
        "project": project.pk,
        "name": "overhead",
        "cells": [{"plan": plan.pk, "endpoint": endpoint.pk}],
        "repeats": 2,
    }


def test_a_block_is_added_once_for_the_number_that_was_read(api, body, project):
    pk = api.post(CAMPAIGNS, body, format="json").json()["id"]
    api.post(f"{CAMPAIGNS}{pk}/start/")
    address = f"{CAMPAIGNS}{pk}/blocks/"
    answer = api.post(address, {"after": 2, "blocks": 3}, format="json").json()
    assert (answer["repeats"], answer["n_runs"], answer["state"]) == (5, 5, "running")
    again = api.post(address, {"after": 2, "blocks": 3}, format="json")
    assert again.status_code == 409


def test_it_makes_a_draft_with_a_test_per_cell(api, body, plan, endpoint):
    answer = api.post(CAMPAIGNS, body, format="json")
    assert answer.status_code == 201
    campaign = answer.json()
    assert campaign["state"] == "draft"
    assert campaign["n_runs"] == 0
    assert campaign["created_by"] == "alice"
    (test,) = campaign["tests"]
    assert (test["plan"], test["plan_number"]) == (plan.pk, 1)
    assert (test["endpoint"], test["origin"]) == (endpoint.pk, endpoint.origin)
    assert test["connection_mode"] == "new"


def test_a_cell_takes_the_latest_version_or_the_one_it_names(api, body, plan):
    plan.versions.create(number=2, spec=plan_spec(model="sequential", requests=5))
    assert api.post(CAMPAIGNS, body, format="json").json()["tests"][0]["plan_number"] == 2
    body["cells"][0]["version"] = 1
    assert api.post(CAMPAIGNS, body, format="json").json()["tests"][0]["plan_number"] == 1


def test_it_starts_once_and_stops(api, body):
    address = f"{CAMPAIGNS}{api.post(CAMPAIGNS, body, format='json').json()['id']}/"
    campaign = api.post(f"{address}start/").json()
    assert campaign["state"] == "running"
    assert campaign["n_runs"] == 2
    again = api.post(f"{address}start/")
    assert again.status_code == 409
    assert again.json()["error"]["code"] == "refused"
    assert api.post(f"{address}stop/").json()["n_done"] == 2


def test_it_starts_when_the_machine_is_quiet(api, body):
    host(slots=4, use=others_use(0.9))
    address = f"{CAMPAIGNS}{api.post(CAMPAIGNS, body, format='json').json()['id']}/"
    campaign = api.post(f"{address}start/", {"when_quiet": True}, format="json").json()
    assert (campaign["opened_at"], campaign["quiet_by"] > campaign["started_at"]) == (None, True)


def test_it_waits_for_its_first_requests_and_says_what_came_back(api, body):
    pk = api.post(CAMPAIGNS, body, format="json").json()["id"]
    api.post(f"{CAMPAIGNS}{pk}/start/")
    (probe,) = api.get(f"/api/v1/probes/?campaign={pk}").json()["results"]
    assert (probe["campaign"], probe["answer"]) == (pk, None)
    finish_probe(probe_id=probe["id"], result={"type": "probe", "status": 404, "error": None})
    settle_campaign(campaign_id=pk)
    campaign = api.get(f"{CAMPAIGNS}{pk}/").json()
    assert campaign["held_at"]
    assert campaign["opened_at"] is None
    answer = api.get(f"/api/v1/probes/{probe['id']}/").json()["answer"]
    assert (answer["status"], answer["is_expected"]) == (404, False)
    again = api.post(f"{CAMPAIGNS}{pk}/try-again/").json()
    assert again["held_at"] is None
    anyway = api.post(f"{CAMPAIGNS}{pk}/start/", {"anyway": True}, format="json").json()
    assert anyway["opened_at"]


def test_a_foreign_plan_or_endpoint_is_not_there(api, body):
    foreign = make_project()
    body["cells"] = [
        {"plan": make_plan(foreign).plan_id, "endpoint": make_endpoint(make_target(foreign)).pk}
    ]
    answer = api.post(CAMPAIGNS, body, format="json")
    assert answer.status_code == 400
    assert set(answer.json()["error"]["fields"]) == {"cells.0.plan", "cells.0.endpoint"}
    assert foreign.name not in answer.content.decode()


def test_it_lists_by_state(api, project):
    draft = make_campaign(project)
    running = make_campaign(project, started_at="2026-11-21T12:00:00Z")
    done = make_campaign(
        project, started_at="2026-11-21T12:00:00Z", finished_at="2026-11-21T12:05:00Z"
    )
    for state, campaign in {"draft": draft, "running": running, "done": done}.items():
        rows = api.get(f"{CAMPAIGNS}?state={state}").json()["results"]
        assert [(row["id"], row["state"]) for row in rows] == [(campaign.pk, state)]
    assert api.get(f"{CAMPAIGNS}?state=stopping").json()["count"] == 0


def test_a_sweep_of_a_number_of_the_plan_has_a_test_for_each_value(api, body, project):
    spec = plan_spec(model="open", rate_per_s=10, duration_s=5)
    cells = [{**body["cells"][0], "plan": make_plan(project, spec=spec).plan_id}]
    sweep = {"field": "rate_per_s", "values": [100, 200.5]}
    request = {**body, "cells": cells, "sweep": sweep, "injectors": 2}
    campaign = api.post(CAMPAIGNS, request, format="json").json()
    values = [(test["swept"], test["swept_value"], test["injectors"]) for test in campaign["tests"]]
    assert values == [("rate_per_s", 100, 2), ("rate_per_s", 200.5, 2)]


def test_a_sweep_that_cannot_be_read_is_refused(api, body):
    for sweep in [
        {"field": "colour", "values": [1, 2]},
        {"field": "rate_per_s", "values": list(range(1, 22))},
        {"field": "rate_per_s", "values": [1e308, 1]},
        [2, 2],
        [True],
        "1, 2",
    ]:
        answer = api.post(CAMPAIGNS, {**body, "sweep": sweep}, format="json")
        assert answer.status_code == 400
        assert "sweep" in answer.json()["error"]["fields"]


def test_it_counts_runs_for_members_of_a_team_of_several(project, bob, api):
    campaign = make_campaign(project)
    test = make_test(campaign)
    make_run(test, repeat=1, state="done", outcome="complete")
    make_run(test, repeat=2)
    for client in (api, client_of(bob)):
        row = client.get(f"{CAMPAIGNS}{campaign.pk}/").json()
        assert (row["n_runs"], row["n_done"]) == (2, 1)


LOAD = {"model": "open", "rate_per_s": 20, "duration_s": 60}


@pytest.fixture
def load_body(project):
    endpoint = make_endpoint(make_target(project))
    plan = make_plan(project, spec=plan_spec() | {"load": LOAD}).plan
    cell = {"plan": plan.pk, "endpoint": endpoint.pk}
    return {"project": project.pk, "cells": [cell], "repeats": 3, "pause_s": 0}


def estimate(api, body):
    return api.post("/api/v1/campaigns/estimate/", body, format="json")


def test_it_says_how_long_and_how_many(api, load_body):
    cost = estimate(api, load_body).json()
    assert (cost["n_tests"], cost["n_runs"], cost["requests"]) == (1, 3, 3600)
    assert cost["duration_s"] >= 180
    assert cost["highest_of_a_run"]["label"] == "p99"
    assert not Campaign.objects.exists(), "an estimate creates nothing"


def test_a_pause_may_have_a_unit(api, load_body):
    plain = estimate(api, load_body | {"pause_s": 60}).json()
    assert (
        estimate(api, load_body | {"pause_s": "1min"}).json()["duration_s"] == plain["duration_s"]
    )
    for wrong in ("1x", "60"):
        refusal = estimate(api, load_body | {"pause_s": wrong}).json()
        assert set(refusal["error"]["fields"]) == {"pause_s"}


def test_the_checks_say_what_disturbs_the_machine(api, load_body):
    host(slots=4, use=others_use(0.9))
    cost = estimate(api, load_body).json()
    (check,) = [each for each in cost["checks"] if "report.py" in each["text"]]
    assert check["shape"] == "warn"


def test_a_sweep_of_the_rate_costs_what_its_values_add_up_to(api, load_body):
    sweep = {"field": "rate_per_s", "values": [10, 30]}
    cost = estimate(api, load_body | {"sweep": sweep}).json()
    assert (cost["n_tests"], cost["requests"]) == (2, 3 * 60 * 40)


def test_a_reference_has_runs_and_counts_among_no_tests(api, load_body, settings):
    settings.REFERENCE_TARGET = {"scheme": "http", "host": "127.0.0.1", "port": 8081}
    answer = estimate(api, load_body | {"reference": True}).json()
    assert (answer["n_tests"], answer["n_runs"]) == (1, 6)
    settings.REFERENCE_TARGET = None
    assert estimate(api, load_body | {"reference": True}).status_code == 409


@pytest.fixture
def ladder(project):
    host(slots=8)
    target = make_target(project)
    make_endpoint(target, "http")
    endpoint = make_endpoint(target, "https")
    plan = make_plan(project).plan_id
    return {"project": project.pk, "name": "layers", "plan": plan, "endpoint": endpoint.pk}


def test_a_ladder_is_started_with_the_usual_rungs(api, ladder):
    answer = api.post("/api/v1/ladders/", ladder, format="json")
    assert answer.status_code == 201, answer.json()
    campaign = answer.json()
    assert (campaign["state"], len(campaign["tests"])) == ("running", len(USUAL_RUNGS))
    assert campaign["n_runs"] == len(USUAL_RUNGS)
    # Pages say average for mean.
    tables = api.get(f"/api/v1/campaigns/{campaign['id']}/tables/?metric=average").json()["ladder"]
    assert [row["label"] for row in tables[0]["rows"]][:3] == [
        "HTTP/1.1",
        "HTTPS/1.1, TLS 1.2",
        "TLS 1.3",
    ]


def ask(api, endpoint, **request):
    body = {"endpoint": endpoint.pk, "request": request}
    return api.post("/api/v1/probes/", body, format="json")


def test_a_request_is_taken_and_answered_later(api, endpoint):
    response = ask(api, endpoint, method="POST", path="/add", body="<a/>")
    assert response.status_code == 201
    probe = response.json()
    assert (probe["answer"], probe["finished_at"]) == (None, None)
    assert probe["request"]["body"] == "<a/>"
    result = {"status": 404, "reason": "Not Found", "response_us": 1034, "parts_us": {"wait": 34}}
    finish_probe(probe_id=probe["id"], result=result)
    answer = api.get(f"/api/v1/probes/{probe['id']}/").json()["answer"]
    assert (answer["status"], answer["sentence"]) == (404, "404 Not Found.")
    assert answer["parts_us"] == {"wait": 34}, "in µs, as measured"


def test_probes_are_listed_by_endpoint(api, endpoint, project):
    ask(api, endpoint, path="/mine")
    ask(api, make_endpoint(make_target(project)), path="/other")
    rows = api.get(f"/api/v1/probes/?endpoint={endpoint.pk}").json()["results"]
    assert [row["request"]["path"] for row in rows] == ["/mine"]


def test_a_websocket_endpoint_takes_a_message(api, project):
    endpoint = make_endpoint(make_target(project), "ws", port=9000)
    response = ask(api, endpoint, path="/chat", message="hello")
    assert response.status_code == 201
    assert response.json()["request"]["message"] == "hello"
