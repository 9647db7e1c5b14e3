"""Several injectors send together exactly what one would: each its share, and step k as its own."""

from collections import Counter
from fractions import Fraction
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.plan.arrivals import (
    LoadSlice,
    connections_of,
    places_of,
    ramp_offsets_ns,
    requests_of,
    schedule,
    share_fault,
    split,
)
from campaigns.domain.plan.load import Load, Model, shares_of_text
from campaigns.domain.plan.load_rules import largest_share, load_for
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.step import OrderKind, StepOrder
from tests.domain.plan.reading import faults
from tests.values import plan_spec

WEIGHTS = st.lists(st.integers(1, 100), min_size=2, max_size=12).map(tuple)
FEW_WEIGHTS = st.lists(st.integers(1, 9), min_size=2, max_size=5).map(tuple)


def shards_of(weights: tuple[int, ...]) -> list[LoadSlice]:
    return [LoadSlice(index, len(weights), weights) for index in range(len(weights))]


def test_half_of_the_arrivals_are_the_first_one_s_evenly_spread():
    assert places_of((2, 1, 1)) == ((0, 2), (1,), (3,))
    assert places_of((5, 1, 1)) == ((0, 1, 2, 4, 5), (3,), (6,))


@pytest.mark.parametrize("weights", [(1, 1, 1), (7, 7, 7)])
@given(first=st.integers(-50, 50), length=st.integers(0, 90))
def test_equal_weights_take_turns_as_no_weights_do(weights, first, length):
    for index in range(3):
        plain, alike = LoadSlice(index, 3), LoadSlice(index, 3, weights)
        assert list(alike.own(first, first + length)) == list(plain.own(first, first + length))
        assert list(islice(alike.all(), 9)) == list(islice(plain.all(), 9))


@given(WEIGHTS, st.integers(-300, 300), st.integers(0, 400))
def test_every_number_belongs_to_exactly_one_shard(weights, first, length):
    parts = [list(shard.own(first, first + length)) for shard in shards_of(weights)]
    assert sorted(number for part in parts for number in part) == list(range(first, first + length))
    for shard, part in zip(shards_of(weights), parts, strict=True):
        assert part == sorted(part)
        assert len(shard.own(first, first + length)) == len(part)


@given(WEIGHTS, st.integers(0, 100_000))
def test_after_any_count_of_numbers_each_shard_has_its_share_within_one(weights, count):
    for shard in shards_of(weights):
        assert abs(len(shard.own(0, count)) - count * shard.share) < 1


@given(WEIGHTS, st.integers(0, 2000))
def test_its_own_numbers_are_the_same_one_by_one(weights, number):
    for shard in shards_of(weights):
        nth = shard.nth(number)
        assert list(shard.own(nth, nth + 1)) == [nth]
        assert len(shard.own(0, nth)) == number


@given(
    weights=FEW_WEIGHTS,
    kind=st.sampled_from(["deterministic", "exponential", "uniform"]),
    requests=st.integers(1, 120),
    warm_up_s=st.integers(0, 3),
    seed=st.integers(0, 5),
)
def test_the_shards_together_are_the_intended_schedule(weights, kind, requests, warm_up_s, seed):
    gaps = {"uniform_min_s": 0.01, "uniform_max_s": 0.09} if kind == "uniform" else {}
    rate = {} if kind == "uniform" else {"rate_per_s": 17.5}
    load = Load(Model.OPEN, requests=requests, distribution=kind, **gaps, **rate)
    whole = list(schedule(load, warm_up_s, LoadSlice(), seed))
    plans = [schedule(load, warm_up_s, shard, seed) for shard in shards_of(weights)]
    parts = [list(plan) for plan in plans]
    assert sorted(pair for part in parts for pair in part) == whole
    assert [len(plan) for plan in plans] == [len(part) for part in parts]


@given(WEIGHTS, st.integers(0, 10**6))
def test_a_whole_number_is_split_by_largest_remainder(weights, total):
    parts = [split(total, shard) for shard in shards_of(weights)]
    quotas = [total * shard.share for shard in shards_of(weights)]
    assert sum(parts) == total
    up = [quota - int(quota) for part, quota in zip(parts, quotas, strict=True) if part > quota]
    down = [quota - int(quota) for part, quota in zip(parts, quotas, strict=True) if part <= quota]
    assert all(abs(part - quota) < 1 for part, quota in zip(parts, quotas, strict=True))
    assert min(up, default=Fraction(1)) >= max(down, default=Fraction(0))


@given(FEW_WEIGHTS, st.integers(1, 60), st.integers(1, 5000))
def test_a_closed_load_is_shared_to_the_last_connection_and_request(weights, connections, requests):
    load = Load(Model.CLOSED, connections=connections, requests=requests, ramp_up_s=1)
    shards = shards_of(weights)
    assert sum(connections_of(load, shard) for shard in shards) == connections
    assert sum(requests_of(load, shard) for shard in shards) == requests
    assert all(connections_of(load, each) for each in shards if requests_of(load, each))
    ramps = [ramp_offsets_ns(load, shard) for shard in shards]
    assert sorted(offset for ramp in ramps for offset in ramp) == ramp_offsets_ns(load, LoadSlice())


def test_shares_are_written_as_numbers_in_a_row():
    for text, shares in [
        ("2,1,1", [2, 1, 1]),
        (" 50 : 25 : 25 ", [50, 25, 25]),
        ("", []),
        ("2, x", [2, "x"]),
    ]:
        assert shares_of_text(text) == shares


EACH = {"per_injector": True}
OPEN = {"model": "open", "rate_per_s": 5, "requests": 100}


def load(**fields):
    return Plan.from_json(plan_spec(**fields)).load


def test_each_of_several_injectors_has_the_load_of_the_plan_and_a_window_its_marks():
    whole = load_for(load(model="closed", connections=2, requests=5000, **EACH), 3)
    assert (whole.connections, whole.requests, whole.per_injector) == (6, 15_000, False)
    whole = load_for(load(model="window", low=250, high=500, requests=50_000, **EACH), 4)
    assert (whole.low, whole.high, whole.requests) == (250, 500, 200_000)


def test_several_that_send_one_after_another_are_as_many_connections():
    one = load(model="sequential", requests=5000, **EACH)
    assert load_for(one, 1) == Load("sequential", requests=5000)
    assert load_for(one, 12) == Load("closed", connections=12, requests=60_000)


def test_a_load_of_all_injectors_together_stays_as_it_is():
    whole = load(model="closed", connections=12, requests=600)
    assert load_for(whole, 12) is whole


def test_the_busiest_injector_has_the_largest_share():
    assert largest_share(load(**OPEN, shares=[2, 1, 1]), 3) == 0.5
    assert largest_share(load(**OPEN), 4) == 0.25


def test_the_rest_of_the_plan_stays():
    plan = Plan.from_json(plan_spec(model="sequential", requests=10, **EACH))
    assert plan.for_injectors(2).steps == plan.steps
    assert Plan.from_json(plan.to_json()) == plan
    assert Plan.from_json(plan.for_injectors(2).to_json()) == plan.for_injectors(2)


def test_some_loads_cannot_be_shared():
    for fields, injectors in [
        ({"model": "sequential", "requests": 10}, 2),
        ({"model": "closed", "connections": 2, "requests": 10}, 3),
        ({"model": "over", "requests": 2, "over_s": 1}, 3),
        (OPEN | {"shares": [2, 1]}, 3),
        (OPEN | {"shares": [2, 1]}, 1),
        ({"model": "closed", "connections": 3, "requests": 99, "shares": [9, 1, 1]}, 3),
        ({"model": "over", "requests": 4, "over_s": 1, "shares": [100, 1]}, 2),
        ({"model": "closed", "connections": 1000, "requests": 9, **EACH}, 64),
        ({"model": "closed", "connections": 1, "duration_s": 2, "start_offset_s": 1, **EACH}, 3),
    ]:
        assert share_fault(load(**fields), injectors)


def test_a_load_of_each_injector_can_always_be_shared():
    for injectors in [1, 2, 12]:
        assert share_fault(load(model="sequential", requests=1, **EACH), injectors) is None


STEPS = [{"method": "GET", "path": f"/{name}"} for name in "abc"]


def steps(order: StepOrder, numbers, seed: int = 7) -> list[int]:
    return [order.step_at(number, 3, seed) for number in numbers]


def test_steps_take_turns_also_in_the_warm_up_before_zero():
    assert steps(StepOrder(), range(-2, 4)) == [1, 2, 0, 1, 2, 0]


def test_blocks_send_one_step_many_times_before_the_next():
    order = StepOrder(OrderKind.BLOCKS, block_repeat=2)
    assert steps(order, range(8)) == [0, 0, 1, 1, 2, 2, 0, 0]


def test_random_steps_are_even_and_follow_from_the_seed():
    order = StepOrder(OrderKind.RANDOM)
    draws = steps(order, range(30_000))
    assert draws == steps(order, range(30_000))
    assert draws != steps(order, range(30_000), seed=8)
    assert all(abs(count - 10_000) < 400 for count in Counter(draws).values())


def test_weights_decide_how_often_and_a_weight_of_nothing_never():
    counts = Counter(steps(StepOrder(OrderKind.WEIGHTED, weights=(3.0, 0.0, 1.0)), range(40_000)))
    assert abs(counts[0] - 30_000) < 500
    assert counts[1] == 0


def test_each_of_two_injectors_draws_its_half_of_the_one_stream():
    order = StepOrder(OrderKind.RANDOM)
    halves = [steps(order, range(index, 100, 2)) for index in (0, 1)]
    both = [step for pair in zip(*halves, strict=True) for step in pair]
    assert both == steps(order, range(100))


def test_a_wrong_order_is_refused_at_its_field():
    for order, field in [
        ({"kind": "shuffled"}, "order.kind"),
        ({"kind": "weighted", "weights": [1, 2]}, "order.weights"),
        ({"kind": "weighted", "weights": [0, 0, 0]}, "order.weights"),
        ({"kind": "weighted", "weights": [1, -1, 1]}, "order.weights.1"),
        ({"kind": "weighted", "weights": "1 2 3"}, "order.weights"),
        ({"kind": "weighted", "weights": [1, 1, True]}, "order.weights.2"),
        ({"kind": "random", "weights": [1, 1, 1]}, "order.weights"),
        ({"kind": "random", "block_repeat": 5}, "order.block_repeat"),
        ({"kind": "blocks", "block_repeat": 0}, "order.block_repeat"),
        ({"every": 2}, "order.every"),
    ]:
        assert field in faults(steps=STEPS, order=order)
