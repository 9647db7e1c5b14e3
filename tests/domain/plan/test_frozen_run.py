"""What a run keeps of a plan, and what an injector's order has of it."""

import pytest

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.frozen_run import FrozenRun, ordered_plan
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.target import Origin
from campaigns.domain.plan.tls_options import TlsOptions
from tests.domain.plan.reading import STEP, faults, read
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
    run = FrozenRun.from_json(STORED)
    assert (run.plan_label, run.arm_label) == ("checkout v3", "HTTPS keep-alive")
    assert run.endpoint == Origin("https", "::1", 8443, False, TlsOptions(max_version="1.2"))
    assert str(run.endpoint) == "https://[::1]:8443"
    assert (run.endpoint.is_tls, run.endpoint.is_websocket) == (True, False)


def test_its_plan_is_read_once_and_only_where_it_is_asked_for():
    run = FrozenRun.from_json(STORED)
    assert run.plan is run.plan
    assert (run.plan.load.requests, run.is_exchange) == (3, False)
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
    order = ordered_plan(PLAN)
    assert "shares" not in order["load"]
    assert "retry_on_failure" not in order["session"]
    assert "generators" not in order["variables"]
    assert Plan.from_json(order) == Plan.from_json(PLAN)


def test_one_that_asks_for_something_is_there():
    for part, field, value in [("load", "shares", [2, 1]), ("session", "retry_on_failure", True)]:
        plan = PLAN | {part: PLAN[part] | {field: value}}
        assert ordered_plan(plan)[part][field] == value
    flows = [{"name": name, "share": 1, "steps": 1} for name in ("browse", "buy")]
    for field, spec in [
        ("streams", {"http_version": "2", "streams": 8}),
        ("redirects", {"redirects": "all"}),
        ("flows", {"flows": flows, "steps": [STEP, STEP]}),
    ]:
        assert ordered_plan(read(**spec).to_json())[field] == spec[field]


def test_whatever_protocol_1_began_with_is_always_there():
    order = ordered_plan(PLAN)
    assert order["load"]["stages"] == []
    assert order["session"]["cookies"] is False
    assert order.keys() == BEGAN_WITH


def test_plans_that_were_stored_before_a_field_came_are_ordered_as_they_are():
    old = PLAN | {"load": {"model": "closed", "connections": 4, "requests": 9}}
    assert ordered_plan(old)["load"] == old["load"]


WINDOW = {"model": "window", "low": 1, "high": 2, "requests": 5}
ARRIVING = {"model": "open", "rate_per_s": 1, "requests": 2}
CONNECTIONS = ARRIVING | {"arrival_unit": "connection"}
SESSIONS = ARRIVING | {"arrival_unit": "session"}


def test_what_a_version_cannot_do_is_said_at_its_field():
    for field, spec in [
        ("streams", {"http_version": "1.1", "streams": 2}),
        ("streams", {"http_version": "1.0", "streams": 2}),
        ("streams", {"load": {"model": "sequential", "requests": 1}, "streams": 2}),
        ("streams", {"streams": 0}),
        ("http_version", {"session": {"pipeline_depth": 2}}),
        ("streams", {"session": {"calls_per_session": 3}, "streams": 2}),
        ("streams", {"load": WINDOW, "streams": 2}),
        ("streams", {"load": CONNECTIONS, "streams": 2}),
        ("streams", {"load": WINDOW, "session": {"calls_per_connection": 5}, "streams": 2}),
        ("streams", {"load": SESSIONS, "session": {"calls_per_session": 5}, "streams": 2}),
    ]:
        assert field in faults(**{"http_version": "2"} | spec)


def test_every_load_model_takes_http_2():
    for spec in [
        {"session": {"calls_per_session": 3}},
        {"session": {"think_time": {"kind": "constant", "mean_s": 1}}, "streams": 8},
        {"load": WINDOW},
        {"load": WINDOW, "session": {"calls_per_connection": 5, "burst_length": 5}, "streams": 4},
        {"load": CONNECTIONS},
        {
            "load": CONNECTIONS,
            "session": {"calls_per_connection": 4, "burst_length": 2},
            "streams": 2,
        },
        {"load": SESSIONS, "session": {"calls_per_session": 4, "burst_length": 4}, "streams": 4},
    ]:
        assert read(http_version="2", **spec).http_version == "2"
