"""Sessions and credentials of a plan: read whole or refused in words."""

import pytest

from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import ThinkKind, ThinkTime
from tests.domain.plan.reading import STEP, faults, read

WINDOW = {"model": "window", "low": 1, "high": 2, "requests": 10}
OPEN = {"model": "open", "rate_per_s": 5, "requests": 10}
SESSIONS = OPEN | {"arrival_unit": "session"}
CONNECTIONS = OPEN | {"arrival_unit": "connection"}


def test_it_survives_being_stored():
    thinks = {"kind": "exponential", "mean_s": 2}
    several = {"calls_per_session": 5, "burst_length": 5, "connections_per_session": 4}
    each = {"calls_per_connection": 6, "burst_length": 3, "think_time": thinks}
    row = {"variables": {"csv": "id\n1"}, "steps": [{"method": "GET", "path": "/${id}"}]}
    for spec in [
        {"session": {"calls_per_connection": 5, "burst_length": 5, "first_call_alone": False}},
        {"session": {"think_time": {"kind": "constant", "mean_s": 0.5}, "cookies": True}},
        {"session": {"think_time": {"kind": "uniform", "min_s": 1, "max_s": 3}}},
        {"session": {"pipeline_depth": 4, "burst_length": 8}},
        {"auth": {"kind": "basic", "user": "ann"}},
        {"auth": {"kind": "bearer"}},
        {"load": SESSIONS, "session": {**several, "pipeline_depth": 2}},
        {"load": SESSIONS, "session": {"calls_per_session": 5, "think_time": thinks}},
        {"load": SESSIONS, "session": {"calls_per_session": 9, "calls_per_connection": 2}},
        {"load": SESSIONS, "session": {"calls_per_session": 5, "retry_on_failure": True}},
        {"load": CONNECTIONS, "session": {**each, "pipeline_depth": 2}},
        {"load": WINDOW, "session": {**each, "cookies": True}},
        {"load": WINDOW, **row},
    ]:
        plan = read(**spec)
        assert Plan.from_json(plan.to_json()) == plan


def think(**fields):
    return {"session": {"think_time": fields}}


def test_what_cannot_be_is_refused_at_its_field():
    for spec, field in [
        ({"session": {"connections_per_session": 4}}, "session.connections_per_session"),
        ({"session": {"calls_per_connection": -1}}, "session.calls_per_connection"),
        ({"session": {"calls_per_connection": 2, "burst_length": 3}}, "session.burst_length"),
        ({"session": {"cookies": "yes"}}, "session.cookies"),
        (think(kind="constant"), "session.think_time.mean_s"),
        (think(kind="uniform", min_s=3, max_s=1), "session.think_time.max_s"),
        (think(kind="constant", mean_s=1, max_s=1), "session.think_time.min_s"),
        (think(kind="none", mean_s=1), "session.think_time.mean_s"),
        (think(kind="sometimes"), "session.think_time.kind"),
        (think(kind="constant", mean_s=1) | {"load": OPEN}, "session.think_time.kind"),
        ({"session": {"calls_per_session": 2}, "load": OPEN}, "session.calls_per_session"),
        ({"session": {"cookies": True}, "load": WINDOW}, "session.cookies"),
        (
            {"session": {"connections_per_session": 4}, "load": CONNECTIONS},
            "session.connections_per_session",
        ),
        (
            {"session": {"connections_per_session": 65}, "load": SESSIONS},
            "session.connections_per_session",
        ),
        (
            {"session": {"connections_per_session": 2, "calls_per_session": 3}, "load": SESSIONS},
            "session.connections_per_session",
        ),
        ({"load": SESSIONS}, "session.calls_per_session"),
        (
            {"load": SESSIONS, "session": {"calls_per_session": 3, "burst_length": 4}},
            "session.burst_length",
        ),
        (
            {"load": SESSIONS, "session": {"calls_per_session": 3, "pipeline_depth": 4}},
            "session.pipeline_depth",
        ),
        (
            {"load": SESSIONS | {"requests": 1_000_000}, "session": {"calls_per_session": 1000}},
            "session.calls_per_session",
        ),
        ({"load": CONNECTIONS, "session": {"calls_per_session": 3}}, "session.calls_per_session"),
        ({"load": CONNECTIONS, "session": {"burst_length": 3}}, "session.burst_length"),
        (think(kind="constant", mean_s=1) | {"load": WINDOW}, "session.think_time.kind"),
        (
            {"load": WINDOW, "session": {"calls_per_connection": 3, "pipeline_depth": 2}},
            "session.pipeline_depth",
        ),
        (
            {"load": WINDOW, "steps": [STEP | {"extract": [{"name": "id", "pattern": "(.)"}]}]},
            "session.calls_per_connection",
        ),
        (
            {"session": {"calls_per_session": 4, "retry_on_failure": True}},
            "session.retry_on_failure",
        ),
        ({"load": CONNECTIONS, "session": {"retry_on_failure": True}}, "session.retry_on_failure"),
        (
            {
                "load": SESSIONS,
                "session": {
                    "calls_per_session": 4,
                    "burst_length": 4,
                    "pipeline_depth": 2,
                    "retry_on_failure": True,
                },
            },
            "session.retry_on_failure",
        ),
        (
            {
                "load": SESSIONS,
                "session": {"calls_per_session": 4, "retry_on_failure": True},
                "steps": [STEP, STEP | {"method": "POST"}],
            },
            "session.retry_on_failure",
        ),
        ({"session": {"pipeline_depth": 65}}, "session.pipeline_depth"),
        ({"session": {"pipeline_depth": 2}, "load": OPEN}, "session.pipeline_depth"),
        (
            {"session": {"pipeline_depth": 2}, "steps": [STEP | {"method": "POST"}]},
            "session.pipeline_depth",
        ),
        ({"session": {"pipeline_depth": 2, "cookies": True}}, "session.pipeline_depth"),
        (
            {"session": {"pipeline_depth": 2, "think_time": {"kind": "constant", "mean_s": 1}}},
            "session.pipeline_depth",
        ),
        ({"auth": {"kind": "basic"}}, "auth.user"),
        ({"auth": {"kind": "basic", "user": "a:b"}}, "auth.user"),
        ({"auth": {"kind": "bearer", "user": "ann"}}, "auth.user"),
        ({"auth": {"kind": "bearer", "secret": "s"}}, "auth.secret"),
        (
            {"auth": {"kind": "bearer"}, "steps": [STEP | {"headers": [["authorization", "x"]]}]},
            "auth.kind",
        ),
    ]:
        assert field in faults(**spec)


def test_what_arrives_brings_so_many_calls():
    assert read(load=OPEN).calls_per_arrival == 1
    assert read(load=CONNECTIONS).calls_per_arrival == 1
    assert read(load=WINDOW, session={"calls_per_connection": 3}).calls_per_arrival == 3
    assert read(session={"calls_per_session": 3}).calls_per_arrival == 1
    plan = read(load=SESSIONS, session={"calls_per_session": 7})
    assert (plan.calls_per_arrival, plan.planned_requests, plan.keeps_sessions) == (7, 70, True)


def test_think_times_are_drawn_as_they_are_named():
    assert ThinkTime(ThinkKind.CONSTANT, mean_s=2).drawn_s(0.9) == 2
    assert ThinkTime(ThinkKind.UNIFORM, min_s=1, max_s=3).drawn_s(0.5) == 2
    exponential = ThinkTime(ThinkKind.EXPONENTIAL, mean_s=2)
    draws = [exponential.drawn_s((k + 0.5) / 10_000) for k in range(10_000)]
    assert sum(draws) / len(draws) == pytest.approx(2, rel=0.01)


def test_a_plan_with_an_exchange_has_no_use_for_them():
    exchange = {"steps": [], "exchange": {"path": "/"}, "session": {"cookies": True}}
    assert "session" in faults(**exchange)
