"""Which loads may be compared: what a plan controls must have been alike."""

from collections import Counter
from typing import NamedTuple

import pytest

from campaigns.domain.analysis.thresholds import ThresholdJudge
from campaigns.domain.metrics.injector_end import COMPLETE, InjectorEnd
from campaigns.domain.metrics.measurement import Measurement, mean_in_flight, sent_per_s, unlike
from campaigns.domain.metrics.snapshot import (
    Second,
    Timing,
    Total,
    is_tail,
    length_counter,
    lengths_of,
    session_figures,
)
from campaigns.domain.plan.plan import Plan
from tests.values import make_second, plan_spec


class Load(NamedTuple):
    sent_per_s: float | None
    mean_in_flight: float | None


OVER = {"model": "over", "requests": 1000, "over_s": 10}
OPEN = {"model": "open", "rate_per_s": 100, "duration_s": 10}
CLOSED = {"model": "closed", "connections": 50, "requests": 1000}


def plan(load, **more):
    return Plan.from_json(plan_spec(**load) | {"connection_mode": "keep-alive"} | more)


def total(n_started=1000, n_dropped=0, service_us=10_000, failed_us=()):
    n = n_started - n_dropped - len(failed_us)
    timings = {"service": Timing.of([service_us] * n), "failed": Timing.of(failed_us)}
    return Total({"started": n_started, "dropped": n_dropped}, timings=timings)


def test_the_rate_of_a_schedule_is_over_the_time_of_sending():
    for duration_s, sending_s, n_dropped, per_s in [
        (10, 9.99, 0, 100),
        (15, 9.99, 0, 100),
        (25, 20, 0, 50),
        (10, 9.99, 300, 70),
        (10, None, 0, 100),
    ]:
        assert sent_per_s(plan(OVER), total(n_dropped=n_dropped), duration_s, sending_s) == per_s


def test_failed_attempts_are_in_flight_as_well():
    attempts = total(900, service_us=10_000, failed_us=[10_000] * 100)
    assert mean_in_flight(attempts, 1) == pytest.approx(9)


def test_nothing_measured_is_no_rate():
    assert sent_per_s(plan(CLOSED), Total(), 0.0) is None
    assert mean_in_flight(Total(), 0.0) is None
    assert unlike(plan(OPEN), [Load(None, None)], [Load(100, 1)]) == ""
    assert unlike(plan(OPEN), [Load(0, 0)], [Load(0, 0)]) == ""


def test_an_open_load_must_have_been_sent_at_the_same_rate():
    for load in [OVER, OPEN]:
        assert unlike(plan(load), [Load(100, 1)] * 3, [Load(95.1, 20)] * 3) == ""
        text = unlike(plan(load), [Load(100, 1)] * 3, [Load(94, 20)] * 3)
        assert "100 and 94.0 requests/s sent" in text
        assert "apart (limit 5" in text


def test_a_closed_load_is_slower_where_the_target_is_and_that_is_the_answer():
    assert unlike(plan(CLOSED), [Load(500, 49)], [Load(50, 50)]) == ""


def test_a_closed_load_must_have_had_its_connections():
    text = unlike(plan(CLOSED), [Load(500, 49.8)], [Load(500, 1.0)])
    assert "49.8 and 1.00 requests in flight" in text


def test_where_the_target_decides_how_many_are_in_flight_it_is_not_asked():
    for load, more in [
        (CLOSED, {"session": {"think_time": {"kind": "constant", "mean_s": 1}}}),
        (CLOSED | {"ramp_up_s": 5}, {}),
        (CLOSED | {"requests": 900}, {}),
        ({"model": "window", "low": 5, "high": 9, "requests": 1000}, {}),
        ({"model": "sequential", "requests": 1000}, {}),
    ]:
        assert unlike(plan(load, **more), [Load(500, 40)], [Load(400, 20)]) == ""


def test_what_the_last_sessions_still_send_is_no_part_of_the_time_of_sending():
    load = OPEN | {"arrival_unit": "session"}
    assert sent_per_s(plan(load, session={"calls_per_session": 4}), total(4000), 17, 16.5) == 400


BY_TIME = plan_spec(model="closed", connections=4, duration_s=3)
BY_NUMBER = plan_spec(model="closed", connections=4, requests=301)
LATE = {"late_ok": 1, "late_us": 5_000_000}


def straggling(spec) -> Measurement:
    """Three seconds of 100 requests each; one more is sent then, and answered in second 8."""
    rules = [{"metric": "rate", "limit": 99, "unit": "/s"}]
    plan = Plan.from_json(spec | {"thresholds": rules})
    measurement = Measurement(plan, judge=ThresholdJudge(plan.thresholds))
    for number in range(8):
        began = {"started": 100 + (number == 2)} if number < 3 else {}
        measurement.add(make_second(number, [10_000] * 100 if number < 3 else [], counters=began))
    return measurement


def test_a_run_that_waits_for_its_tail_keeps_its_rate():
    for spec in [BY_TIME, BY_NUMBER]:
        measurement = straggling(spec).settle()
        assert (measurement.duration_s, measurement.figures.rate_per_s) == (3, 100)
        assert measurement.judge.broken_since == [None]


def test_no_rate_leaves_out_more_than_a_tenth_of_a_number_of_requests():
    for n_all, n_left in [(9, 0), (10, 1), (19, 1), (20, 2)]:
        assert [is_tail(n_left, n_all), is_tail(n_left + 1, n_all)] == [True, False]


def test_an_end_says_the_measured_time_and_how_late_the_tail_was():
    for spec in [BY_TIME, BY_NUMBER]:
        measurement = straggling(spec)
        measurement.add(make_second(8, [6_000_000], counters={"started": 0, **LATE}))
        measurement.close(
            InjectorEnd(COMPLETE, duration_us=8_200_000, measured_us=3_000_000, tail_us=5_200_000)
        )
        measurement.settle()
        assert (measurement.duration_s, measurement.figures.rate_per_s, measurement.tail_s) == (
            3,
            100,
            5.2,
        )
        assert [each.passed for each in measurement.thresholds] == [True]
        assert measurement.tail_words == "1 reply came up to 5.2 s"
        assert measurement.mean_in_flight == pytest.approx((300 * 0.01 + 1) / 3), (
            "without the time after it"
        )


def test_a_lost_injector_leaves_the_planned_time_to_what_it_told_of_a_tail():
    measurement = straggling(BY_TIME)
    measurement.add(make_second(8, [6_000_000], counters={"started": 0, **LATE}))
    measurement.is_whole = False
    measurement.close(InjectorEnd())
    assert measurement.settle().figures.rate_per_s == 100


def test_a_run_of_an_older_injector_keeps_its_figures():
    measurement = straggling(BY_TIME)
    measurement.add(make_second(8, [6_000_000]))
    measurement.close(InjectorEnd(COMPLETE, duration_us=8_600_000))
    measurement.settle()
    assert measurement.figures.rate_per_s == 301 / 8.6
    assert measurement.tail_words == ""


def test_lengths_are_read_back_shortest_first():
    counters = Counter(map(length_counter, [5, 5, 12, 0, 1, 234])) | {"ok": 9}
    lengths = lengths_of(counters)
    assert list(lengths.items()) == [(0, 1), (1, 1), (5, 2), (12, 1), (230, 1)]


def test_figures_count_connections_for_each_session_that_was_begun():
    figures = session_figures(
        Total(
            {
                "sessions_started": 12, "sessions_ok": 6, "sessions_failed": 3,
                "sessions_dropped": 2, "connections_opened": 25, "calls_skipped": 4,
                "session_length_3": 6, "session_length_1": 3,
            }
        ),
        3.0,
    )  # fmt: skip
    assert (figures.rate_per_s, figures.connections_each, figures.open_at_end) == (2.0, 2.5, 1)
    assert figures.to_json()["lengths"] == {"1": 3, "3": 6}


def test_where_all_were_dropped_nothing_is_divided_by_none():
    figures = session_figures(Total({"sessions_started": 2, "sessions_dropped": 2}), 0.0)
    assert (figures.rate_per_s, figures.connections_each) == (None, None)


STEPS = [{"label": name, "method": "GET", "path": "/"} for name in ("look", "buy")]
PLAN = Plan.from_json(plan_spec() | {"steps": STEPS})


def second(number: int, us: int, own_us: int, step: int = 0, n: int = 50) -> Second:
    whole = Timing.of([us + own_us] * n)
    timings = {"response": whole, "sampled": whole, "undelayed": Timing.of([us] * n)}
    return Second(number, step, {"ok": n}, timings=timings)


def measure(*seconds: Second) -> Measurement:
    measurement = Measurement(PLAN)
    for each in seconds:
        measurement.add(each)
    return measurement.settle()


# Fifteen busy seconds before fifteen quiet ones, and a warm-up that was quieter still.
MIXED = [
    second(-1, 100, own_us=0),
    *(second(k, 3000 + 900 * step, 900, step) for k in range(15) for step in (0, 1)),
    *(second(k, 1000 + 900 * step, 90 + k, step) for k in range(15, 30) for step in (0, 1)),
]


def test_lower_ends_are_of_the_seconds_in_which_the_injector_added_least():
    measurement = measure(*MIXED)
    assert measurement.figures.time_us("p99") == pytest.approx(4800, rel=0.001)
    assert measurement.figures.low_us("p99") == pytest.approx(1900, rel=0.001)
    assert measurement.figures.low_us("mean") == 1450
    quiet, busy = (step.timing("quieter") for step in measurement.steps)
    assert (quiet.n, quiet.max_us, busy.n, busy.min_us) == (750, 1000, 750, 1900)


def test_of_few_seconds_all_count():
    assert measure(*MIXED[21:41]).figures.low_us("mean") == pytest.approx(2450)


def test_a_lower_end_is_never_above_what_was_measured():
    """The seconds in which the injector added least may be those in which the target was slow."""
    slow = [second(k, 9000, own_us=10) for k in range(15)]
    measurement = measure(*slow, *(second(k, 1000, own_us=500, n=500) for k in range(15, 30)))
    assert measurement.figures.low_us("p50") == measurement.figures.time_us("p50") == 1500


def test_few_requests_and_those_whose_reading_was_not_timed_have_no_lower_end():
    few = measure(second(0, 1000, own_us=100, n=20)).figures
    assert (few.low_us("p50"), few.low_us("p99")) == (1000, None)
    without = Second(0, 0, {"ok": 50}, timings={"response": Timing.of([1000] * 50)})
    assert measure(without).figures.low_us("p50") is None


def test_a_measurement_goes_on_from_its_state():
    whole, first = measure(*MIXED), measure(*MIXED[:31])
    rest = Measurement(PLAN)
    rest.go_on_from(first.state(), first.series)
    for each in MIXED[31:]:
        rest.add(each)
    assert rest.settle().total == whole.total
