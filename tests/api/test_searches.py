"""Searches over REST: started, read with their trials, as CSV."""

import csv
from dataclasses import asdict
from io import StringIO

import pytest
from django.urls import reverse

from campaigns.domain.judged.capacity import RULE_VERSION
from campaigns.domain.lifecycle import Trust
from campaigns.models import Campaign, PlanVersion
from tests.factories import make_endpoint, make_plan, make_target
from tests.queries.test_machines import tell
from tests.searches import end_trial, judged, limit_of, search_through, searching
from tests.services.engine import host

pytestmark = pytest.mark.django_db


@pytest.fixture
def body(project):
    host(slots=8)
    endpoint = make_endpoint(make_target(project))
    cell = {"plan": make_plan(project).plan_id, "endpoint": endpoint.pk}
    rates = {"start_per_s": 50, "limit_per_s": 2000}
    return {"project": project.pk, "name": "how much", "cell": cell, **rates}


def post(api, body: dict):
    return api.post("/api/v1/searches/", body, format="json")


def test_a_search_is_started_with_its_objective(api, body):
    answer = post(api, body | {"objective": ["p95 < 300 ms", "errors < 1 %"]})
    assert answer.status_code == 201
    found = answer.json()
    assert found["objective"] == ["p95 < 300 ms", "errors < 1 %"]
    assert (found["sentence"], found["ending"]) == ("So far nothing is known.", None)
    assert Campaign.objects.get(pk=found["campaign"]).runs.count() == 1


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"start_per_s": 500, "limit_per_s": 100}, "start_per_s"),
        ({"longest_s": 1}, "longest_s"),
        ({"objective": ["p95 <"]}, "objective"),
    ],
)
def test_what_could_not_start_has_no_estimate_and_the_same_sentence(api, body, wrong, field):
    asked = {**body, "objective": ["p95 < 300 ms"], **wrong}
    refused = post(api, asked)
    estimated = api.post("/api/v1/searches/estimate/", asked, format="json")
    assert (refused.status_code, estimated.status_code) == (400, 400)
    assert field in refused.json()["error"]["fields"]
    assert estimated.json() == refused.json()


def test_the_estimate_is_the_one_beside_the_form_and_starts_nothing(api, client, bob, body):
    asked = body | {"trial_s": 10, "longest_s": 300}
    found = api.post("/api/v1/searches/estimate/", asked, format="json").json()
    version, arm = body["cell"]["plan"], f"{body['cell']['endpoint']}.new"
    typed = {"plan": PlanVersion.objects.get(plan=version).pk, "arm": arm, "limit_per_s": 2000}
    client.force_login(bob)
    address = reverse("search-estimate", args=[body["project"]])
    shown = client.post(address, typed | {"trial_s": 10, "longest_min": 5}).context
    cost = asdict(shown["cost"])
    assert {name: found[name] for name in cost} == cost
    assert [each["text"] for each in found["checks"]] == [each.text for each in shown["checks"]]
    assert found["missing_s"] > 0
    assert not Campaign.objects.exists()


def test_the_answer_has_its_interval_and_every_trial(api, project):
    search = search_through(searching(project), limit_of(1850))
    answer = api.get(f"/api/v1/campaigns/{search.pk}/search/").json()
    assert answer["ending"] == "found"
    assert answer["capacity"]["low"] < 1850 < answer["capacity"]["high"]
    assert len(answer["trials"]) == search.campaign.runs.count()
    first = answer["trials"][0]
    assert (first["trial"], first["search"], first["rate_per_s"]) == (1, 0, 100)
    assert (answer["rule"], answer["limited_by"]["word"]) == (RULE_VERSION, "target side")


def test_a_trial_that_does_not_count_says_why_in_the_csv(api, project):
    campaign = searching(project)
    end_trial(campaign, 500, judged(Trust.DOUBTFUL, "inj-2 ran 14.8 ms late."))
    end_trial(campaign, 758)
    head, doubtful, failed = (
        api.get(f"/api/v1/campaigns/{campaign.pk}/search.csv").content.decode().splitlines()
    )
    assert head.startswith("trial,search,run,rate_per_s,result,reason")
    assert "untrusted,inj-2 ran 14.8 ms late." in doubtful
    assert "failed,p95 758" in failed


def test_a_trial_of_few_requests_names_its_weak_percentiles_in_json_and_csv(api, project):
    campaign = searching(project, start=30)
    end_trial(campaign, 20)
    address = f"/api/v1/campaigns/{campaign.pk}/search"
    assert [each["weak"] for each in api.get(f"{address}/").json()["trials"]] == [["p99_us"]]
    (row,) = csv.DictReader(StringIO(api.get(f"{address}.csv").content.decode()))
    assert (row["requests"], row["p99_us"], row["weak"]) == ("600", "30000.0", "p99_us")


def test_each_trial_says_how_busy_everyone_was_in_json_and_csv(api, project):
    campaign = searching(project)
    run = end_trial(campaign, 900)
    tell(run, range(20), user_s=1.5, system_s=0.3, idle_s=0.2)
    found = api.get(f"/api/v1/campaigns/{campaign.pk}/search/").json()
    (trial,) = found["trials"]
    assert trial["target_cpu"] == pytest.approx(0.9)
    assert (trial["injector_cpu"], trial["network"]) == (0.46, None)
    assert found["limited_by"]["word"] == "target CPU"
    text = api.get(f"/api/v1/campaigns/{campaign.pk}/search.csv").content.decode()
    head, row = (line.split(",") for line in text.splitlines())
    values = dict(zip(head, row, strict=True))
    assert float(values["target_cpu"]) == pytest.approx(0.9)
    assert (values["injector_cpu"], values["network"]) == ("0.46", "")


def test_a_campaign_that_is_no_search_has_none(api, campaign):
    assert api.get(f"/api/v1/campaigns/{campaign.pk}/search/").status_code == 404
