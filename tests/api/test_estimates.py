"""What a campaign would cost, asked before it exists."""

import pytest

from campaigns.models import Campaign
from tests.factories import make_endpoint, make_plan, make_target
from tests.values import plan_spec

LOAD = {"model": "open", "rate_per_s": 20, "duration_s": 60}


@pytest.fixture
def asked(project):
    endpoint = make_endpoint(make_target(project))
    plan = make_plan(project, spec=plan_spec() | {"load": LOAD}).plan
    cell = {"plan": plan.pk, "endpoint": endpoint.pk}
    return {"project": project.pk, "cells": [cell], "repeats": 3, "pause_s": 0}


def estimate(api, asked):
    return api.post("/api/v1/campaigns/estimate/", asked, format="json")


def test_it_says_how_long_and_how_many(api, asked):
    found = estimate(api, asked).json()
    assert (found["n_tests"], found["n_runs"], found["requests"]) == (1, 3, 3600)
    assert found["duration_s"] >= 180
    assert found["highest_of_a_run"]["label"] == "p99"
    assert not Campaign.objects.exists(), "an estimate creates nothing"


def test_a_sweep_of_the_rate_costs_what_its_values_add_up_to(api, asked):
    sweep = {"field": "rate_per_s", "values": [10, 30]}
    found = estimate(api, asked | {"sweep": sweep}).json()
    assert (found["n_tests"], found["requests"]) == (2, 3 * 60 * 40)


def test_a_reference_has_runs_and_counts_among_no_tests(api, asked, settings):
    settings.REFERENCE_TARGET = {"scheme": "http", "host": "127.0.0.1", "port": 8081}
    answer = estimate(api, asked | {"reference": True}).json()
    assert (answer["n_tests"], answer["n_runs"]) == (1, 6)
    settings.REFERENCE_TARGET = None
    assert estimate(api, asked | {"reference": True}).status_code == 409
