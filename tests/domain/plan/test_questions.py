"""The questions: which arms each has, and that its plan is one that can be run."""

import pytest

from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.presets import PRESETS
from campaigns.domain.plan.questions import QUESTIONS, is_flat_out, recommended, seeks_limit

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
        ("layers", ["http", "https"], [("https", "new")]),
        ("layers", ["https"], []),
    ],
)  # fmt: skip
def test_its_arms_are_on_what_answers(key, schemes, arms):
    assert QUESTIONS[key].arms(schemes) == arms


@pytest.mark.parametrize(
    ("schemes", "key"), [([], ""), (["http"], "works"), (["http", "https"], "https")]
)
def test_one_question_is_recommended(schemes, key):
    assert recommended(schemes) == key


def test_only_the_question_about_the_limit_is_a_search_and_no_load_of_theirs_is_flat_out():
    assert [key for key, each in QUESTIONS.items() if each.is_search] == ["limit"]
    plans = [Plan.from_json(each.spec(STEP, {})) for each in QUESTIONS.values()]
    assert not any(seeks_limit(plan) for plan in plans)


def test_two_presets_look_for_the_limit_and_one_of_them_is_flat_out():
    plans = {key: Plan.from_json(each.spec) for key, each in PRESETS.items()}
    assert [key for key, plan in plans.items() if seeks_limit(plan)] == ["stress", "capacity"]
    assert [key for key, plan in plans.items() if is_flat_out(plan)] == ["capacity"]


@pytest.mark.parametrize(
    "changed",
    [{"connections": 1}, {"duration_s": None, "requests": 1000}],
)
def test_one_connection_or_a_number_of_requests_is_no_search_for_the_limit(changed):
    capacity = PRESETS["capacity"].spec
    assert seeks_limit(Plan.from_json(capacity))
    spec = capacity | {"load": capacity["load"] | changed}
    assert not seeks_limit(Plan.from_json(spec))
