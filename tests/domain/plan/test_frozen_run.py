"""What a run keeps of a plan, and what an injector's order has of it."""

import pytest

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.frozen_run import FrozenRun, ordered_plan
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.target import Origin
from campaigns.domain.plan.tls_options import TlsOptions
from tests.values import plan_spec

STORED = {
    "plan": {"steps": [{"path": "/"}], "load": {"model": "sequential", "requests": 3}},
    "plan_name": "checkout",
    "plan_number": 3,
    "endpoint": {
        "scheme": "https",
        "host": "::1",
        "port": 8443,
        "verify_tls": False,
        "tls": {"max_version": "1.2"},
    },
    "connection_mode": "keep-alive",
    "target": "shop",
    "environment": [["CPU", "4 cores"]],
    "seed": 7,
    "policy": {"allow": ["127.0.0.0/8"]},
}


def test_it_is_read_back_as_it_was_stored():
    assert FrozenRun.from_json(STORED).to_json() == STORED


def test_it_says_what_was_sent_where():
    frozen = FrozenRun.from_json(STORED)
    assert (frozen.plan_label, frozen.arm_label) == ("checkout v3", "HTTPS keep-alive")
    assert frozen.endpoint == Origin("https", "::1", 8443, False, TlsOptions(max_version="1.2"))
    assert str(frozen.endpoint) == "https://[::1]:8443"
    assert (frozen.endpoint.is_tls, frozen.endpoint.is_websocket) == (True, False)


def test_its_plan_is_read_once_and_only_where_it_is_asked_for():
    frozen = FrozenRun.from_json(STORED)
    assert frozen.plan is frozen.plan
    assert (frozen.plan.load.requests, frozen.is_exchange) == (3, False)
    unreadable = FrozenRun.from_json(STORED | {"plan": {"load": {}}})
    assert unreadable.plan_label == "checkout v3"
    with pytest.raises(InvalidPlan):
        assert unreadable.plan


PLAN = Plan.from_json(plan_spec(model="closed", connections=4, requests=9)).to_json()

# Which another injector than ours may count on; a new field is a later one.
BEGAN_WITH = {
    *("auth", "connection_mode", "exchange", "expected_status", "http_version", "load", "order"),
    *("resolve", "session", "steps", "thresholds", "timeouts", "variables", "warm_up_s"),
}


def test_later_fields_that_ask_for_nothing_are_left_out():
    ordered = ordered_plan(PLAN)
    assert "shares" not in ordered["load"]
    assert "retry_on_failure" not in ordered["session"]
    assert Plan.from_json(ordered) == Plan.from_json(PLAN)


def test_one_that_asks_for_something_is_there():
    for part, field, value in [("load", "shares", [2, 1]), ("session", "retry_on_failure", True)]:
        plan = PLAN | {part: PLAN[part] | {field: value}}
        assert ordered_plan(plan)[part][field] == value


def test_whatever_protocol_1_began_with_is_always_there():
    ordered = ordered_plan(PLAN)
    assert ordered["load"]["stages"] == []
    assert ordered["session"]["cookies"] is False
    assert ordered.keys() == BEGAN_WITH


def test_plans_that_were_stored_before_a_field_came_are_ordered_as_they_are():
    stored = PLAN | {"load": {"model": "closed", "connections": 4, "requests": 9}}
    assert ordered_plan(stored)["load"] == stored["load"]
