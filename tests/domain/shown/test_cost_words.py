"""What a campaign will cost, where only the target decides a part of it."""

import pytest

from campaigns.domain.plan.estimates import estimate_campaign
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.shown.cost_words import duration_words, requests_words
from tests.values import plan_spec

BY_TIME = {"model": "closed", "connections": 2, "duration_s": 10}
BY_COUNT = {"model": "closed", "connections": 2, "requests": 500}


@pytest.mark.parametrize(
    ("loads", "lasts", "requests"),
    [
        ([BY_TIME], "12 s", "depends on the target"),
        ([BY_COUNT], "depends on the target", "500"),
        ([BY_TIME, BY_COUNT], "more than 14 s", "more than 500"),
    ],
)
def test_what_only_the_target_decides_is_never_a_number(loads, lasts, requests):
    plans = [Plan.from_json(plan_spec(**load)) for load in loads]
    tests = [(plan, ConnectionMode.NEW, 1) for plan in plans]
    estimate = estimate_campaign(tests, repeats=1, pause_s=0)
    assert (duration_words(estimate), requests_words(estimate)) == (lasts, requests)
