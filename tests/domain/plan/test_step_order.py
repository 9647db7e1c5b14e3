"""Which step request k sends."""

from collections import Counter

import pytest

from campaigns.domain.errors import InvalidPlan
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.step_order import OrderKind, StepOrder

STEPS = [{"method": "GET", "path": f"/{name}"} for name in "abc"]
LOAD = {"model": "sequential", "requests": 9}


def read(**order):
    return Plan.from_json({"steps": STEPS, "load": LOAD, "order": order}).order


def fault(**order):
    with pytest.raises(InvalidPlan) as refusal:
        read(**order)
    return refusal.value.errors


def steps(order: StepOrder, numbers, seed: int = 7) -> list[int]:
    return [order.step_at(number, 3, seed) for number in numbers]


def test_steps_take_turns_also_in_the_warm_up_before_zero():
    assert steps(StepOrder(), range(-2, 4)) == [1, 2, 0, 1, 2, 0]


def test_blocks_send_one_step_many_times_before_the_next():
    order = StepOrder(OrderKind.BLOCKS, block_repeat=2)
    assert steps(order, range(8)) == [0, 0, 1, 1, 2, 2, 0, 0]


def test_random_steps_are_even_and_follow_from_the_seed():
    order = StepOrder(OrderKind.RANDOM)
    drawn = steps(order, range(30_000))
    assert drawn == steps(order, range(30_000))
    assert drawn != steps(order, range(30_000), seed=8)
    assert all(abs(count - 10_000) < 400 for count in Counter(drawn).values())


def test_weights_decide_how_often_and_a_weight_of_nothing_never():
    drawn = Counter(steps(StepOrder(OrderKind.WEIGHTED, weights=(3.0, 0.0, 1.0)), range(40_000)))
    assert abs(drawn[0] - 30_000) < 500
    assert drawn[1] == 0


def test_each_of_two_injectors_draws_its_half_of_the_one_stream():
    order = StepOrder(OrderKind.RANDOM)
    halves = [steps(order, range(index, 100, 2)) for index in (0, 1)]
    both = [step for pair in zip(*halves, strict=True) for step in pair]
    assert both == steps(order, range(100))


@pytest.mark.parametrize(
    ("order", "field"),
    [
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
    ],
)
def test_a_wrong_order_is_refused_at_its_field(order, field):
    assert field in fault(**order)
