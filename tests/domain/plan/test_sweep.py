"""A sweep of any number that the registry of plan fields knows."""

import pytest

from campaigns.domain.errors import Refused
from campaigns.domain.plan.fields import all_fields
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.sweep import (
    MAX_POINTS,
    at_point,
    checked_values,
    fields_used_by,
    known_fields,
    sweep_fields,
    swept_plan,
    text_of_values,
    value_text,
    values_of_text,
)
from tests.values import plan_spec

pytestmark = pytest.mark.pure


def plan(**load) -> Plan:
    return Plan.from_json(plan_spec(**load))


def test_every_number_of_the_registry_can_be_swept_and_has_words():
    numbers = [path for path, row in all_fields(Plan).items() if row.is_number]
    assert [".".join(each.path) for each in sweep_fields().values()] == numbers
    assert all(at_point(field, 2) for field in known_fields())
    assert {"rate_per_s", "connections", "over_s", "exchange.size_bytes"} <= set(sweep_fields())
    assert {"session.calls_per_connection", "session.think_time.mean_s"} <= set(sweep_fields())


def test_the_plan_is_the_same_but_for_the_one_number():
    base = plan(model="open", rate_per_s=10, duration_s=10)
    point = swept_plan(base, "rate_per_s", 250.0)
    assert point.load.rate_per_s == 250
    assert base.to_json() | {"load": base.load.to_json() | {"rate_per_s": 250.0}} == point.to_json()


def test_whole_numbers_stay_whole():
    point = swept_plan(plan(model="closed", connections=2, duration_s=5), "connections", 8.0)
    assert repr(point.load.connections) == "8"


def test_a_value_that_the_plan_cannot_have_is_refused_with_its_reason():
    for field, value, says in [
        ("rate_per_s", 10, "at a rate of 10 requests/s"),
        ("connections", 0, "with 0 connections"),
        ("connections", 1.5, "whole"),
        ("exchange.size_bytes", 64, "no message size"),
        ("colour", 1, "no number 'colour'"),
    ]:
        with pytest.raises(Refused, match=says):
            swept_plan(plan(model="closed", connections=2, duration_s=5), field, value)


def test_a_form_offers_only_numbers_that_one_of_its_plans_uses():
    keys = {each.key for each in fields_used_by([plan(model="over", requests=10, over_s=1)])}
    assert {"requests", "over_s", "session.calls_per_connection"} <= keys
    assert not {"rate_per_s", "connections", "exchange.messages"} & keys


def test_values_are_typed_as_a_list_or_as_a_range():
    for text, values in [
        ("100, 200, 400", (100, 200, 400)),
        ("1 2 4", (1, 2, 4)),
        ("100 to 800 step 100", tuple(range(100, 801, 100))),
        ("1 to 4", (1, 2, 3, 4)),
        ("0.1 to 0.3 step 0.1", (0.1, 0.2, 0.3)),
    ]:
        assert values_of_text(text) == values


def test_values_that_are_offered_again_are_those_that_were_typed():
    for text in [
        "100, 2000, 1000000",
        "12345.67, 12345.68",
        "0.00001, 0.00002",
        "123456789.5, 2",
        "0.1, 1000",
    ]:
        assert text_of_values(values_of_text(text)) == text


def test_values_that_differ_do_not_read_alike():
    assert [value_text(value) for value in (12345.67, 12345.68)] == ["12,345.67", "12,345.68"]
    assert [value_text(value) for value in (0.00001, 1234567.5)] == ["0.00001", "1,234,567.5"]


def test_what_is_no_sweep_is_refused_with_what_to_type():
    for text in [
        "",
        "a lot",
        "5",
        "1, 1",
        "1 to 100",
        "4 to 1",
        "1 to 9 step 0",
        "-1, 2",
        "1e3, 4",
    ]:
        with pytest.raises(ValueError, match=f"list|range|2 to {MAX_POINTS} values|once"):
            values_of_text(text)


def test_a_value_that_nobody_can_type_is_refused_by_who_takes_numbers():
    for value in [1e308, 1e9, 1e-300, 0.1 + 0.2, -1.0, float("inf")]:
        with pytest.raises(
            ValueError, match="from 0 to below 1,000,000,000 with at most 6 decimals"
        ):
            checked_values([5, value])


def test_values_that_can_be_typed_are_taken_as_they_are():
    values = (0, 0.000001, 5, 200.5, 999_999_999, 999_999_999.999999)
    assert checked_values(values) == values
