"""A sweep of any number that the registry of plan fields knows."""

import pytest

from campaigns.domain.errors import Refused
from campaigns.domain.plan.fields import all_fields
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.sweep import (
    MAX_POINTS,
    fields_used_by,
    point_words,
    sweep_fields,
    swept_plan,
    values_of_text,
)
from tests.values import plan_spec

pytestmark = pytest.mark.pure


def plan(**load) -> Plan:
    return Plan.from_json(plan_spec(**load))


def test_every_number_of_the_registry_can_be_swept():
    numbers = [path for path, row in all_fields(Plan).items() if row.is_number]
    assert [".".join(each.path) for each in sweep_fields().values()] == numbers
    assert {"rate_per_s", "connections", "over_s", "exchange.size_bytes"} <= set(sweep_fields())
    assert {"session.calls_per_connection", "session.think_time.mean_s"} <= set(sweep_fields())


def test_the_plan_is_the_same_but_for_the_one_number():
    base = plan(model="open", rate_per_s=10, duration_s=10)
    swept = swept_plan(base, "rate_per_s", 250.0)
    assert swept.load.rate_per_s == 250
    assert base.to_json() | {"load": base.load.to_json() | {"rate_per_s": 250.0}} == swept.to_json()


def test_whole_numbers_stay_whole():
    swept = swept_plan(plan(model="closed", connections=2, duration_s=5), "connections", 8.0)
    assert repr(swept.load.connections) == "8"


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("rate_per_s", 10, "rate 10 requests/s"),
        ("connections", 0, "connections 0"),
        ("connections", 1.5, "whole"),
        ("exchange.size_bytes", 64, "no message size"),
        ("colour", 1, "no number 'colour'"),
    ],
)
def test_a_value_that_the_plan_cannot_have_is_refused_with_its_reason(field, value, says):
    with pytest.raises(Refused, match=says):
        swept_plan(plan(model="closed", connections=2, duration_s=5), field, value)


def test_a_form_offers_only_numbers_that_one_of_its_plans_uses():
    offered = {each.key for each in fields_used_by([plan(model="over", requests=10, over_s=1)])}
    assert {"requests", "over_s", "session.calls_per_connection"} <= offered
    assert not {"rate_per_s", "connections", "exchange.messages"} & offered


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("100, 200, 400", (100, 200, 400)),
        ("1 2 4", (1, 2, 4)),
        ("100 to 800 step 100", tuple(range(100, 801, 100))),
        ("1 to 4", (1, 2, 3, 4)),
        ("0.1 to 0.3 step 0.1", (0.1, 0.2, 0.3)),
    ],
)
def test_values_are_typed_as_a_list_or_as_a_range(text, values):
    assert values_of_text(text) == values


@pytest.mark.parametrize(
    "text", ["", "a lot", "5", "1, 1", "1 to 100", "4 to 1", "1 to 9 step 0", "-1, 2", "1e3, 4"]
)
def test_what_is_no_sweep_is_refused_with_what_to_type(text):
    with pytest.raises(ValueError, match=f"list|range|2 to {MAX_POINTS} values|once"):
        values_of_text(text)


def test_a_point_is_said_in_words():
    assert point_words("injectors", 1) == "1 injector process"
    assert point_words("rate_per_s", 1000) == "rate 1,000 requests/s"
    assert point_words("session.think_time.mean_s", 0.5) == "think time, mean 0.5 s"
