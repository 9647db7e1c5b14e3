"""Which loads may be compared: what a plan controls must have been alike."""

from typing import NamedTuple

import pytest

from campaigns.domain.metrics.measurement import mean_in_flight, sent_per_s, unlike
from campaigns.domain.metrics.snapshot import Timing, Total
from campaigns.domain.plan.plan import Plan
from tests.values import plan_spec


class Load(NamedTuple):
    sent_per_s: float | None
    mean_in_flight: float | None


OVER = {"model": "over", "requests": 1000, "over_s": 10}
OPEN = {"model": "open", "rate_per_s": 100, "duration_s": 10}
CLOSED = {"model": "closed", "connections": 50, "requests": 1000}


def plan(load, **more):
    return Plan.from_json(plan_spec(**load) | {"connection_mode": "keep-alive"} | more)


def total(started=1000, dropped=0, service_us=10_000, failed_us=()):
    n = started - dropped - len(failed_us)
    timings = {"service": Timing.of([service_us] * n), "failed": Timing.of(failed_us)}
    return Total({"started": started, "dropped": dropped}, timings=timings)


def test_the_rate_of_a_schedule_is_over_the_time_of_sending():
    for duration_s, sending_s, dropped, per_s in [
        (10, 9.99, 0, 100),
        (15, 9.99, 0, 100),
        (25, 20, 0, 50),
        (10, 9.99, 300, 70),
        (10, None, 0, 100),
    ]:
        assert sent_per_s(plan(OVER), total(dropped=dropped), duration_s, sending_s) == per_s


def test_failed_attempts_are_in_flight_as_well():
    seen = total(900, service_us=10_000, failed_us=[10_000] * 100)
    assert mean_in_flight(seen, 1) == pytest.approx(9)


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
