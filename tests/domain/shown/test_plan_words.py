"""The order of a plan's steps, in words."""

import pytest

from campaigns.domain.plan.plan import Plan
from campaigns.domain.shown.plan_words import order_words
from tests.values import plan_spec

pytestmark = pytest.mark.pure
STEPS = [{"path": "/"}, {"path": "/search"}]


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ({}, "in turns"),
        ({"kind": "blocks", "block_repeat": 3}, "in blocks of 3 requests"),
        ({"kind": "random"}, "at random, by the recorded seed"),
        (
            {"kind": "weighted", "weights": [9, 0.5]},
            "at random by weights 9 : 0.5, by the recorded seed",
        ),
    ],
)
def test_each_order_is_said(order, words):
    assert order_words(Plan.from_json({**plan_spec(), "steps": STEPS, "order": order})) == words


def test_a_single_step_has_no_order():
    assert order_words(Plan.from_json(plan_spec())) == ""
