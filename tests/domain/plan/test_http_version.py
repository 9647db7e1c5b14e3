"""What a plan can do with each version of HTTP."""

import pytest

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.frozen_run import ordered_plan
from campaigns.domain.plan.plan import Plan
from tests.values import plan_spec

pytestmark = pytest.mark.pure

WINDOW = {"model": "window", "low": 1, "high": 2, "requests": 5}
ARRIVING = {"model": "open", "rate_per_s": 1, "requests": 2}
CONNECTIONS = ARRIVING | {"arrival_unit": "connection"}
SESSIONS = ARRIVING | {"arrival_unit": "session"}
CLOSED = {"model": "closed", "connections": 4, "requests": 100}


def plan_of(**spec):
    return Plan.from_json(plan_spec() | {"load": CLOSED} | spec)


def faults_of(**spec):
    with pytest.raises(InvalidPlan) as invalid:
        plan_of(**spec)
    return invalid.value.errors


def test_an_older_injector_still_gets_plans_without_streams():
    assert "streams" not in ordered_plan(plan_of().to_json())
    assert ordered_plan(plan_of(http_version="2", streams=8).to_json())["streams"] == 8


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
        assert field in faults_of(**{"http_version": "2"} | spec)


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
        assert plan_of(http_version="2", **spec).http_version == "2"
