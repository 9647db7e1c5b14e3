"""What a program waits for: the end of a campaign or its hold, and the verdict."""

import time

import pytest
from django.utils import timezone

from campaigns.core.permissions import Actor
from campaigns.domain.lifecycle import Outcome
from campaigns.history.services import make_baseline
from campaigns.models import Campaign
from campaigns.probes.services.probes import finish_probe, settle_campaign
from tests.cast import client_of
from tests.factories import (
    just_now,
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
)
from tests.measured import https_campaign, measure, run_in_blocks
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
CAMPAIGNS = "/api/v1/campaigns/"
HTTP, HTTPS = [18_900, 19_000, 18_800], [29_100, 29_000, 29_300]


def end(campaign: Campaign, **fields) -> Campaign:
    Campaign.objects.filter(pk=campaign.pk).update(**just_now(), **fields)
    return campaign


def wait(api, campaign: Campaign, **query):
    return api.get(f"{CAMPAIGNS}{campaign.pk}/wait/", {"timeout": 0, **query})


def verdict(api, campaign: Campaign) -> dict:
    return wait(api, campaign).json()["verdict"]


def test_the_worst_comparison_gives_the_word_with_its_interval(api, project):
    campaign, tests = https_campaign(project)
    run_in_blocks(tests, [HTTP, HTTPS])
    answer = verdict(api, end(campaign))
    assert (answer["measured"], answer["word"], answer["metric"]) == (True, "slower", "mean")
    assert 1.4 < answer["low"] < answer["ratio"] < answer["high"] < 1.6
    (each,) = answer["comparisons"]
    assert (each["baseline"], each["names"]) == ("", ["HTTP", "HTTPS"])
    assert [each["baseline_test"], each["candidate_test"]] == [test.pk for test in tests]
    assert {"mean", "p50", "p95"} <= {one["metric"] for one in each["metrics"]}
    assert each["said"].endswith("slower")
    assert answer["bound"] == each["bound"] != ""
    assert answer["errors"] == {"failed": 0, "requests": 12_000, "share": 0.0}
    assert answer == api.get(f"{CAMPAIGNS}{campaign.pk}/").json()["verdict"]


def test_targets_are_compared_with_the_first_of_them(api, project):
    version, campaign = make_plan(project), make_campaign(project)
    tests = [
        make_test(campaign, version, endpoint=make_endpoint(make_target(project))) for _ in range(3)
    ]
    run_in_blocks(tests, [HTTP, HTTPS, HTTP])
    slower, same = verdict(api, end(campaign))["comparisons"]
    assert (slower["word"], slower["candidate_test"]) == ("slower", tests[1].pk)
    assert (same["word"], same["baseline_test"]) == ("no practical difference", tests[0].pk)


def measured_test(project, level_us: int, like=None):
    same = {"version": like.plan_version, "endpoint": like.endpoint} if like else {}
    test = make_test(make_campaign(project), **same)
    for repeat in (1, 2, 3):
        measure(make_run(test, repeat=repeat), level_us + 50 * repeat)
    end(test.campaign)
    return test


def test_a_baseline_is_compared_by_every_metric_as_soon_as_the_campaign_has_ended(
    api, project, alice
):
    old = measured_test(project, 10_000)
    make_baseline(by=Actor(user=alice), project=project, name="main", tests=[old])
    new = measured_test(project, 12_000, like=old)
    answer = verdict(api, new.campaign)
    assert (answer["word"], answer["metric"]) == ("slower", "p95")
    assert "slower than baseline “main” (" in answer["sentence"]
    (each,) = answer["comparisons"]
    assert (each["baseline"], each["baseline_test"]) == ("main", old.pk)
    assert all(1.1 < one["low"] < 1.3 for one in each["metrics"])
    assert verdict(api, old.campaign)["comparisons"] == [], "a baseline has none"


def test_broken_rules_are_named_with_their_worst_figure(api, project):
    rules = [{"metric": "p95", "limit": 10}, {"metric": "errors", "limit": 1}]
    spec = plan_spec(model="over", requests=2000, over_s=10) | {"thresholds": rules}
    test = make_test(make_campaign(project), make_plan(project, spec=spec))
    for repeat in (1, 2):
        measure(make_run(test, repeat=repeat), 20_000)
    (rule,) = verdict(api, end(test.campaign))["broken_rules"]
    assert rule["rule"].endswith(": p95 < 10 ms")
    assert (rule["kept"], rule["limit"]) == ("0 of 2 runs", "10 ms")
    assert rule["worst"].startswith("2")


def test_a_campaign_that_stopped_by_itself_measured_nothing(api, project):
    test = make_test(make_campaign(project))
    measure(make_run(test), 10_000, outcome=Outcome.PARTIAL)
    answer = verdict(api, end(test.campaign, stop_reason="Stopped after run 1: refused."))
    assert (answer["measured"], answer["why"]) == (False, "Stopped after run 1: refused.")


def test_a_hold_ends_the_wait_with_its_reason(api, project):
    test = make_test(make_campaign(project))
    api.post(f"{CAMPAIGNS}{test.campaign_id}/start/")
    (probe,) = api.get(f"/api/v1/probes/?campaign={test.campaign_id}").json()["results"]
    finish_probe(probe_id=probe["id"], result={"type": "probe", "status": 404, "error": None})
    settle_campaign(campaign_id=test.campaign_id)
    began = time.monotonic()
    answer = wait(api, test.campaign, timeout=60).json()
    assert time.monotonic() - began < 30
    assert (answer["state"], answer["verdict"]["measured"]) == ("running", False)
    assert "404 Not Found, but the plan expects" in answer["verdict"]["why"]


def test_after_the_timeout_there_is_no_verdict(api, project):
    answer = wait(api, make_campaign(project, started_at=timezone.now())).json()
    assert (answer["state"], answer["verdict"]) == ("running", None)
    for query in ({"timeout": 101}, {"timeout": "soon"}, {"time": 1}):
        assert api.get(f"{CAMPAIGNS}{answer['id']}/wait/", query).status_code == 400


def test_who_may_not_see_it_does_not_wait(charlie, project):
    assert wait(client_of(charlie), make_campaign(project), timeout=60).status_code == 404


def test_it_says_what_it_measures(api, project, bob):
    test = make_test(make_campaign(project))
    cells = [{"plan": test.plan_version.plan_id, "endpoint": test.endpoint_id}]
    source = {"commit": "4f2a9c1" * 5 + "4f2a9", "branch": "main"}
    source["link"] = "https://ci.example/12"
    body = {"project": project.pk, "name": "nightly", "cells": cells, "tags": ["ci"], **source}
    body["note"] = "why\nnot"
    campaign = api.post(CAMPAIGNS, body, format="json").json()
    assert campaign.items() >= {**source, "tags": ["ci"], "verdict": None}.items()
    again = api.post(f"{CAMPAIGNS}{campaign['id']}/repeat/", {"commit": "8be03d7"}, format="json")
    assert (again.json()["commit"], again.json()["branch"]) == ("8be03d7", "")
    rows = api.get(CAMPAIGNS, {"search": "4f2a9c14"}).json()["results"]
    assert [each["id"] for each in rows] == [campaign["id"]]
    assert "verdict" not in rows[0]
    page = client_of(bob).get(f"/campaigns/{campaign['id']}/").content.decode()
    assert 'href="https://ci.example/12"' in page
    assert "why<br>\nnot" in page
    for wrong in ({"link": "javascript:alert(1)"}, {"link": "ftp://x/"}, {"commit": "a" * 65}):
        refusal = api.post(CAMPAIGNS, {**body, **wrong}, format="json")
        assert (refusal.status_code, *refusal.json()["error"]["fields"]) == (400, *wrong)
    assert Campaign.objects.filter(name="nightly").count() == 2, "what is refused leaves no draft"
