"""A plan is read whole or refused with a sentence for each field."""

import contextlib
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.fields import all_fields, fields_of
from campaigns.domain.plan.load import Load, Model, count_arrivals, late_start_fault, stored_load
from campaigns.domain.plan.load_rules import USES
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.step import MAX_HEADERS, header_fault
from tests.domain.plan.reading import CLOSED, STEP, faults, read


def test_a_method_is_any_token_and_may_have_a_body():
    for method, sent in [
        ("get", "GET"),
        ("PURGE", "PURGE"),
        ("PROPFIND", "PROPFIND"),
        ("x-flush!", "x-flush!"),
    ]:
        (step,) = read(steps=[{"method": method, "path": "/", "body": "what"}]).steps
        assert (step.method, step.body) == (sent, "what")


def test_a_request_line_and_a_host_that_could_be_read_in_two_ways_are_refused():
    for step, field in [
        ({"method": "GET /"}, "method"),
        ({"method": ""}, "method"),
        ({"method": "Ä"}, "method"),
        ({"method": "connect"}, "method"),
        ({"method": "X" * 41}, "method"),
        ({"headers": [["Host", "a.example"], ["host", "b.example"]]}, "headers"),
        ({"headers": [["Host", "a example"]]}, "headers"),
        ({"headers": [["Host", ""]]}, "headers"),
    ]:
        assert list(faults(steps=[{"method": "GET", "path": "/", **step}])) == [f"steps.0.{field}"]


OPEN = {"model": "open", "rate_per_s": 5, "requests": 10}
WINDOW = {"model": "window", "low": 2, "high": 4, "requests": 9}
UNIFORM = {"model": "open", "requests": 9, "distribution": "uniform"}
UNIFORM |= {"uniform_min_s": 1, "uniform_max_s": 3}


def test_its_stored_form_reads_back_as_the_same_plan():
    for load in [
        CLOSED,
        {"model": "closed", "connections": 1, "duration_s": 2.5},
        {"model": "open", "rate_per_s": 37.5, "duration_s": 10},
        {"model": "open", "rate_per_s": 5, "requests": 10, "max_in_flight": 3},
        {"model": "over", "requests": 100, "over_s": 10},
        {"model": "sequential", "requests": 3},
        {"model": "closed", "connections": 9, "duration_s": 5, "ramp_up_s": 3.5},
        {"model": "open", "rate_per_s": 5, "requests": 9, "distribution": "exponential"},
        {"model": "over", "requests": 9, "over_s": 3, "when_saturated": "drop"},
        {"model": "window", "low": 2, "high": 4, "requests": 9, "hold": "keep_until_all"},
        {"model": "over", "requests": 9, "over_s": 3, "arrival_unit": "connection"},
        {"model": "closed", "connections": 3, "requests": 9, "start_offset_s": 1},
        {"model": "open", "rate_per_s": 5, "requests": 10, "shares": [2, 1, 1]},
        {"model": "window", "low": 2, "high": 4, "duration_s": 9, "hold": "keep_s", "hold_s": 1},
        {"model": "open", "requests": 9, "distribution": "uniform"}
        | {"uniform_min_s": 0, "uniform_max_s": 0.5},
    ]:
        plan = read(load=load, warm_up_s=3, timeouts={"total_s": 9}, expected_status="200, 3xx")
        assert Plan.from_json(plan.to_json()) == plan
        assert plan.expected_status == ("200", "3xx")


def test_what_is_wrong_is_at_its_field():
    for wrong, field in [
        ({"load": {"model": "closed", "requests": 1}}, "load.connections"),
        ({"load": {"model": "over", "over_s": 1}}, "load.requests"),
        ({"load": {"model": "open", "rate_per_s": 1}}, "load.requests"),
        ({"load": CLOSED | {"duration_s": 1}}, "load.duration_s"),
        ({"load": CLOSED | {"rate_per_s": 1}}, "load.rate_per_s"),
        ({"load": CLOSED | {"connections": 0}}, "load.connections"),
        ({"load": CLOSED | {"connections": 1.5}}, "load.connections"),
        ({"load": CLOSED | {"connections": True}}, "load.connections"),
        ({"load": CLOSED | {"connections": float("nan")}}, "load.connections"),
        ({"load": CLOSED | {"speed": 1}}, "load.speed"),
        ({"load": CLOSED | {"ramp_up_s": -1}}, "load.ramp_up_s"),
        ({"load": OPEN | {"ramp_up_s": 1}}, "load.ramp_up_s"),
        (
            {"load": {"model": "closed", "connections": 2, "duration_s": 5, "ramp_up_s": 5}},
            "load.ramp_up_s",
        ),
        ({"load": CLOSED | {"distribution": "exponential"}}, "load.distribution"),
        ({"load": CLOSED | {"when_saturated": "drop"}}, "load.when_saturated"),
        ({"load": OPEN | {"when_saturated": "wait"}}, "load.when_saturated"),
        ({"load": OPEN | {"distribution": "normal"}}, "load.distribution"),
        ({"load": OPEN | {"uniform_min_s": 1}}, "load.uniform_min_s"),
        ({"load": UNIFORM | {"rate_per_s": 5}}, "load.rate_per_s"),
        ({"load": UNIFORM | {"uniform_min_s": 4}}, "load.uniform_max_s"),
        ({"load": UNIFORM | {"uniform_max_s": None}}, "load.uniform_max_s"),
        ({"load": UNIFORM | {"uniform_min_s": 0, "uniform_max_s": 1e-9}}, "load.uniform_max_s"),
        ({"load": UNIFORM | {"requests": None, "duration_s": 5}}, "load.duration_s"),
        ({"load": OPEN | {"start_offset_s": 1}}, "load.start_offset_s"),
        ({"load": OPEN | {"shares": [1]}}, "load.shares"),
        ({"load": OPEN | {"shares": [2, 0]}}, "load.shares"),
        ({"load": OPEN | {"shares": [1.5, 1]}}, "load.shares"),
        ({"load": OPEN | {"shares": "2, 1"}}, "load.shares"),
        ({"load": CLOSED | {"shares": [2, 1], "per_injector": True}}, "load.shares"),
        ({"load": {"model": "sequential", "requests": 9, "shares": [2, 1]}}, "load.shares"),
        ({"load": OPEN | {"arrival_unit": "user"}}, "load.arrival_unit"),
        ({"load": CLOSED | {"arrival_unit": "connection"}}, "load.arrival_unit"),
        ({"load": WINDOW | {"low": None}}, "load.low"),
        ({"load": WINDOW | {"low": 0}}, "load.low"),
        ({"load": WINDOW | {"low": 5}}, "load.low"),
        ({"load": WINDOW | {"connections": 5}}, "load.connections"),
        ({"load": WINDOW | {"hold": "forever"}}, "load.hold"),
        ({"load": WINDOW | {"hold": "keep_s"}}, "load.hold_s"),
        ({"load": WINDOW | {"hold_s": 3}}, "load.hold_s"),
        (
            {"load": WINDOW | {"hold": "keep_until_all", "requests": None, "duration_s": 3}},
            "load.requests",
        ),
        ({"load": CLOSED | {"high": 5}}, "load.high"),
        ({"load": {"model": "storm"}}, "load.model"),
        ({"steps": [STEP | {"path": "no/slash"}]}, "steps.0.path"),
        ({"steps": [STEP | {"path": "/a b"}]}, "steps.0.path"),
        ({"steps": [STEP | {"path": "/\r\nX: y"}]}, "steps.0.path"),
        ({"steps": [STEP | {"body": 7}]}, "steps.0.body"),
        ({"steps": [STEP | {"headers": [["Trailer", "x"]]}]}, "steps.0.headers"),
        ({"steps": [STEP | {"headers": [["X", "a\r\nb"]]}]}, "steps.0.headers"),
        ({"steps": []}, "steps"),
        ({"timeouts": {"connect_s": 50, "total_s": 9}}, "timeouts.connect_s"),
        ({"expected_status": ["9xx"]}, "expected_status"),
        ({"warm_up_s": -1}, "warm_up_s"),
        ({"colour": "red"}, "colour"),
    ]:
        assert field in faults(**wrong)


def test_a_duration_that_is_refused_does_not_count_as_missing_too():
    for duration_s in [0, -1, float("nan"), "soon"]:
        errors = faults(load={"model": "closed", "connections": 1, "duration_s": duration_s})
        assert list(errors) == ["load.duration_s"]


def test_times_and_rates_are_read_with_units_and_kept_as_numbers():
    load = {"model": "open", "rate_per_s": "30/min", "duration_s": "2h"}
    spec = read(load=load, warm_up_s="2min").to_json()
    assert (spec["load"]["rate_per_s"], spec["load"]["duration_s"]) == (0.5, 7200)
    assert spec["warm_up_s"] == 120
    stages = [{"duration_s": "1min", "from_per_s": "60/min"}]
    (stage,) = read(load={"model": "open", "stages": stages}).load.stages
    assert (stage.duration_s, stage.from_per_s) == (60, 1)


def test_a_text_without_a_unit_that_fits_is_no_number():
    for duration_s in ["2x", "5", "1/s", ""]:
        load = {"model": "open", "rate_per_s": 1, "duration_s": duration_s}
        assert any(path.startswith("load") for path in faults(load=load))


def test_a_number_that_nothing_can_compute_with_is_refused_like_any_other():
    for number in [float("inf"), float("-inf"), 10**400, -(10**400)]:
        errors = faults(load=CLOSED | {"connections": number}, timeouts={"total_s": number})
        assert errors.keys() == {"load.connections", "timeouts.total_s"}


def test_it_says_everything_at_once():
    errors = faults(load={"model": "open"}, warm_up_s=-1, steps=[STEP | {"path": ""}])
    assert {"load.rate_per_s", "load.requests", "warm_up_s"} <= set(errors)


@given(st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["steps", "load", "model", "headers", "path", "x"]), inner),
    max_leaves=12,
))  # fmt: skip
@pytest.mark.long
def test_no_json_crashes_it(data):
    with contextlib.suppress(InvalidPlan):
        assert Plan.from_json(data)


def test_a_plan_that_was_stored_before_a_field_existed_can_be_read():
    old = read().to_json()
    for name in ("ramp_up_s", "distribution", "uniform_min_s", "when_saturated"):
        del old["load"][name]
    assert Plan.from_json(old) == read()


def test_an_injector_that_would_begin_after_the_end_is_a_fault():
    load = Load(Model.CLOSED, connections=9, duration_s=3, start_offset_s=1)
    assert late_start_fault(load, 3) is None
    assert late_start_fault(load, 4)
    assert late_start_fault(stored_load(CLOSED), 4) is None


@given(st.integers(1, 5000), st.integers(1, 500))
def test_arrivals_lie_before_the_end(rate, duration_s):
    assert count_arrivals(rate, duration_s) == rate * duration_s


def test_which_headers_can_be_sent():
    for name, value, is_good in [
        ("X-Name", "value", True),
        ("X-Name", "caf\xe9\t", True),
        ("X Name", "value", False),
        ("", "value", False),
        ("Content-Length", "3", False),
        ("X-Name", "a\nb", False),
        ("X-Name", "a\x00b", False),
        ("X-Name", "€", False),
    ]:
        assert (header_fault(name, value) is None) == is_good


def test_the_headers_of_a_step_are_counted_before_they_are_read():
    step = {"path": "/", "headers": [["X-Name", "value"]] * MAX_HEADERS}
    assert len(read(steps=[step]).steps[0].headers) == MAX_HEADERS
    step["headers"].append(["X-Name", "value"])
    assert list(faults(steps=[step])) == ["steps.0.headers"]


def test_statuses_are_expected_by_class():
    for status, is_ok in [(200, True), (304, True), (404, False)]:
        assert read().status_is_expected(status) == is_ok


def test_a_step_is_called_by_its_method_and_its_path_without_the_query():
    for label in ["", "GET /x?api_key=s3cret"]:
        plan = read(steps=[STEP | {"path": "/x?api_key=s3cret", "label": label}])
        assert plan.labels == ("GET /x",)


def test_steps_of_one_name_are_told_apart_by_a_number():
    steps = [STEP | {"path": f"/search?q={q}"} for q in "abc"]
    assert read(steps=steps).labels == ("GET /search", "GET /search (2)", "GET /search (3)")


def test_a_label_has_nothing_that_no_page_shows_as_a_name_has_not():
    labels = ("lo\u200bok", "look\u202e", " look\n in", "\ufeff")
    plan = read(steps=[STEP | {"path": "/x", "label": label} for label in labels])
    assert plan.labels == ("look", "look (2)", "look in", "GET /x")


FIELDS = all_fields(Plan)
SCALARS = {path: field for path, field in FIELDS.items() if field.kind is not None}
PARTS = [Plan, *(field.part for field in FIELDS.values() if field.part)]


def test_every_field_of_a_plan_has_a_row():
    for part in PARTS:
        assert list(fields_of(part)) == [each.name for each in fields(part)]


def test_the_default_and_the_example_are_within_the_bounds():
    for path in [path for path, field in SCALARS.items() if field.is_number]:
        field = SCALARS[path]
        for value in (field.default, field.example):
            if value not in (None, ""):
                assert field.low <= value <= field.high
                assert value > 0 or not field.positive


def test_every_choice_has_a_label():
    for path in [path for path, field in SCALARS.items() if field.is_choice]:
        assert set(SCALARS[path].choices) == set(SCALARS[path].kind)


def test_every_field_of_a_load_belongs_to_a_model():
    assert set().union(*USES.values()) | {"model"} == set(fields_of(Load))
    assert all(USES[model] for model in Model)


def test_no_two_fields_have_the_same_option():
    options = [field.option.partition(" ")[0] for field in FIELDS.values() if field.option]
    assert len(options) == len(set(options))
