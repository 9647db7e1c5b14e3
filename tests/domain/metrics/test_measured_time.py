"""The measured time while a run is under way, and of runs whose injectors did not tell it."""

import pytest

from campaigns.domain.analysis.thresholds import ThresholdJudge
from campaigns.domain.metrics.injector_end import COMPLETE, InjectorEnd
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.snapshot import is_tail
from campaigns.domain.plan.plan import Plan
from tests.values import make_second, plan_spec

BY_TIME = plan_spec(model="closed", connections=4, duration_s=3)
BY_NUMBER = plan_spec(model="closed", connections=4, requests=301)
LATE = {"late_ok": 1, "late_us": 5_000_000}


def straggling(spec) -> Measurement:
    """Three seconds of 100 requests each; one more is sent then, and answered in second 8."""
    rules = [{"metric": "rate", "limit": 99, "unit": "/s"}]
    plan = Plan.from_json(spec | {"thresholds": rules})
    seen = Measurement(plan, judge=ThresholdJudge(plan.thresholds))
    for number in range(8):
        began = {"started": 100 + (number == 2)} if number < 3 else {}
        seen.add(make_second(number, [10_000] * 100 if number < 3 else [], counters=began))
    return seen


def test_a_run_that_waits_for_its_tail_keeps_its_rate():
    for spec in [BY_TIME, BY_NUMBER]:
        seen = straggling(spec).settle()
        assert (seen.duration_s, seen.figures.rate_per_s) == (3, 100)
        assert seen.judge.broken_since == [None]


def test_no_rate_leaves_out_more_than_a_tenth_of_a_number_of_requests():
    for n_all, n_left in [(9, 0), (10, 1), (19, 1), (20, 2)]:
        assert [is_tail(n_left, n_all), is_tail(n_left + 1, n_all)] == [True, False]


def test_an_end_says_the_measured_time_and_how_late_the_tail_was():
    for spec in [BY_TIME, BY_NUMBER]:
        seen = straggling(spec)
        seen.add(make_second(8, [6_000_000], counters={"started": 0, **LATE}))
        seen.close(
            InjectorEnd(COMPLETE, duration_us=8_200_000, measured_us=3_000_000, tail_us=5_200_000)
        )
        seen.settle()
        assert (seen.duration_s, seen.figures.rate_per_s, seen.tail_s) == (3, 100, 5.2)
        assert [each.passed for each in seen.thresholds] == [True]
        assert seen.tail_words == "1 reply came up to 5.2 s"
        assert seen.mean_in_flight == pytest.approx((300 * 0.01 + 1) / 3), (
            "without the time after it"
        )


def test_a_lost_injector_leaves_the_planned_time_to_what_it_told_of_a_tail():
    seen = straggling(BY_TIME)
    seen.add(make_second(8, [6_000_000], counters={"started": 0, **LATE}))
    seen.is_whole = False
    seen.close(InjectorEnd())
    assert seen.settle().figures.rate_per_s == 100


def test_a_run_of_an_older_injector_keeps_its_figures():
    seen = straggling(BY_TIME)
    seen.add(make_second(8, [6_000_000]))
    seen.close(InjectorEnd(COMPLETE, duration_us=8_600_000))
    seen.settle()
    assert seen.figures.rate_per_s == 301 / 8.6
    assert seen.tail_words == ""
