"""Presets are plans like others: valid, and what they say they are."""

import pytest

from campaigns.domain.plan import Model, Plan, planned_requests
from campaigns.domain.presets import PRESETS


@pytest.mark.parametrize("key", PRESETS)
def test_every_preset_is_a_valid_plan_in_its_stored_form(key):
    spec = PRESETS[key].spec
    assert Plan.from_json(spec).to_json() == spec


@pytest.mark.parametrize(("key", "over_s"), [("over-100", 100), ("over-10", 10)])
def test_the_two_original_studies_are_there(key, over_s):
    plan = Plan.from_json(PRESETS[key].spec)
    assert plan.load.model == Model.OVER
    assert (plan.load.requests, plan.load.over_s) == (100, over_s)
    assert plan.steps[0].method == "POST"
    assert "Envelope" in plan.steps[0].body
    assert plan.connection_mode == "new"


def test_the_ab_preset_is_1000_requests_on_50_connections():
    load = Plan.from_json(PRESETS["ab"].spec).load
    assert (planned_requests(load), load.connections) == (1000, 50)
