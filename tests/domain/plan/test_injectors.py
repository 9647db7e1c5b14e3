"""A load that is each injector's grows with their number; any other is shared."""

import pytest

from campaigns.domain.plan.injectors import largest_share, load_for, plan_for, share_fault
from campaigns.domain.plan.load import Load
from campaigns.domain.plan.plan import Plan
from tests.values import plan_spec

EACH = {"per_injector": True}
OPEN = {"model": "open", "rate_per_s": 5, "requests": 100}


def load(**fields):
    return Plan.from_json(plan_spec(**fields)).load


def test_each_of_three_clients_sends_its_own_requests():
    whole = load_for(load(model="closed", connections=2, requests=5000, **EACH), 3)
    assert (whole.connections, whole.requests, whole.per_injector) == (6, 15_000, False)


def test_several_that_send_one_after_another_are_as_many_connections():
    one = load(model="sequential", requests=5000, **EACH)
    assert load_for(one, 1) == Load("sequential", requests=5000)
    assert load_for(one, 12) == Load("closed", connections=12, requests=60_000)


def test_the_marks_of_a_window_are_of_each_injector_anyway():
    whole = load_for(load(model="window", low=250, high=500, requests=50_000, **EACH), 4)
    assert (whole.low, whole.high, whole.requests) == (250, 500, 200_000)


def test_a_load_of_all_injectors_together_stays_as_it_is():
    shared = load(model="closed", connections=12, requests=600)
    assert load_for(shared, 12) is shared


def test_the_busiest_injector_has_the_largest_share():
    assert largest_share(load(**OPEN, shares=[2, 1, 1]), 3) == 0.5
    assert largest_share(load(**OPEN), 4) == 0.25


def test_the_rest_of_the_plan_stays():
    plan = Plan.from_json(plan_spec(model="sequential", requests=10, **EACH))
    assert plan_for(plan, 2).steps == plan.steps
    assert Plan.from_json(plan.to_json()) == plan
    assert Plan.from_json(plan_for(plan, 2).to_json()) == plan_for(plan, 2)


@pytest.mark.parametrize(
    ("fields", "injectors"),
    [
        ({"model": "sequential", "requests": 10}, 2),
        ({"model": "closed", "connections": 2, "requests": 10}, 3),
        ({"model": "over", "requests": 2, "over_s": 1}, 3),
        (OPEN | {"shares": [2, 1]}, 3),
        (OPEN | {"shares": [2, 1]}, 1),
        ({"model": "closed", "connections": 3, "requests": 99, "shares": [9, 1, 1]}, 3),
        ({"model": "over", "requests": 4, "over_s": 1, "shares": [100, 1]}, 2),
        ({"model": "closed", "connections": 1000, "requests": 9, **EACH}, 64),
        ({"model": "closed", "connections": 1, "duration_s": 2, "start_offset_s": 1, **EACH}, 3),
    ],
)
def test_some_loads_cannot_be_shared(fields, injectors):
    assert share_fault(load(**fields), injectors)


@pytest.mark.parametrize("injectors", [1, 2, 12])
def test_a_load_of_each_injector_can_always_be_shared(injectors):
    assert share_fault(load(model="sequential", requests=1, **EACH), injectors) is None
