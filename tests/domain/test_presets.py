"""Presets are plans like others: valid, and what they say they are."""

import pytest

from campaigns.domain.plan import Model, Plan, planned_requests
from campaigns.domain.presets import GENERAL, PRESETS


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


@pytest.mark.parametrize(
    ("key", "kind", "requests", "connections"),
    [
        ("httperf-1000", "sequential", 1000, None),
        ("l1", "sequential", 1000, None),
        ("l2", "sequential", 5000, None),
        ("l3", "sequential", 1000, None),
        ("r99-1", "closed", 15_000, 3),
        *[(f"r99-2-{k}", "closed", 5000 * k, k) for k in (1, 2, 3, 4, 5, 6, 9, 12)],
    ],
)
def test_the_measurements_of_the_studies_are_there(key, kind, requests, connections):
    load = Plan.from_json(PRESETS[key].spec).load
    assert (load.model, load.requests, load.connections) == (kind, requests, connections)


def test_l2_takes_its_files_in_blocks_and_l3_at_random():
    blocks, at_random = (Plan.from_json(PRESETS[key].spec) for key in ("l2", "l3"))
    assert (blocks.order.kind, blocks.order.block_repeat) == ("blocks", 1000)
    assert at_random.order.kind == "random"
    assert [step.path for step in blocks.steps][::4] == ["/index1.html", "/index5.html"]


def test_r99_begins_its_clients_a_second_apart():
    load = Plan.from_json(PRESETS["r99-1"].spec).load
    assert (load.start_offset_s, load.ramp_up_s) == (1, 0)


def test_wsperf_opens_and_closes_between_its_marks():
    plan = Plan.from_json(PRESETS["wsperf"].spec)
    assert (plan.load.low, plan.load.high, plan.load.requests) == (250, 500, 200_000)
    assert (plan.exchange.messages, plan.exchange.close_code) == (0, 1001)


def test_httperf_waits_one_second_at_most():
    assert Plan.from_json(PRESETS["httperf"].spec).timeouts.total_s == 1


def test_there_is_one_for_every_day_too():
    keys = [preset.key for preset in PRESETS.values() if preset.group == GENERAL]
    assert keys == ["smoke", "load", "stress", "spike", "soak", "capacity"]
