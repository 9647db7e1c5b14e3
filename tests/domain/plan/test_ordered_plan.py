"""What an injector's order has of a plan."""

import pytest

from campaigns.domain.plan.ordered_plan import ordered_plan
from campaigns.domain.plan.plan import Plan
from tests.values import plan_spec

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


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [("load", "shares", [2, 1]), ("session", "retry_on_failure", True)],
)
def test_one_that_asks_for_something_is_there(part, field, value):
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
