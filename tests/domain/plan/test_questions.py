"""The three questions: which arms each has, and that its plan is one that can be run."""

import pytest

from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.questions import QUESTIONS, recommended

STEP = {"method": "GET", "path": "/prices", "headers": [], "body": ""}


@pytest.mark.parametrize("key", QUESTIONS)
def test_its_plan_sends_the_request_that_was_tried(key):
    spec = QUESTIONS[key].spec(STEP, {"kind": "basic", "user": "ann"})
    plan = Plan.from_json(spec)
    assert (plan.steps[0].path, plan.auth.user) == ("/prices", "ann")


@pytest.mark.parametrize(
    ("key", "schemes", "arms"),
    [
        ("works", ["http", "https"], [("http", "keep-alive"), ("https", "keep-alive")]),
        ("works", ["https"], [("https", "keep-alive")]),
        ("https", ["https"], []),
        ("https", [], []),
        ("https", ["https", "http"],
         [("http", "new"), ("http", "keep-alive"),
          ("https", "new"), ("https", "resumed"), ("https", "keep-alive")]),
        ("limit", ["http", "https"], [("https", "keep-alive")]),
        ("limit", ["http"], [("http", "keep-alive")]),
        ("limit", [], []),
    ],
)  # fmt: skip
def test_its_arms_are_on_what_answers(key, schemes, arms):
    assert QUESTIONS[key].arms(schemes) == arms


@pytest.mark.parametrize(
    ("schemes", "key"), [([], ""), (["http"], "works"), (["http", "https"], "https")]
)
def test_one_question_is_recommended(schemes, key):
    assert recommended(schemes) == key
