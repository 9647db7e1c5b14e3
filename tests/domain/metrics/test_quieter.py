"""The lower end of a response time: what the target takes where the injector added least."""

import pytest

from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.snapshot import Second, Timing
from campaigns.domain.plan.plan import Plan
from tests.values import plan_spec

STEPS = [{"label": name, "method": "GET", "path": "/"} for name in ("look", "buy")]
PLAN = Plan.from_json(plan_spec() | {"steps": STEPS})


def second(number: int, us: int, own_us: int, step: int = 0, n: int = 50) -> Second:
    sampled = Timing.of([us + own_us] * n)
    timings = {"response": sampled, "sampled": sampled, "undelayed": Timing.of([us] * n)}
    return Second(number, step, {"ok": n}, timings=timings)


def measured(*seconds: Second) -> Measurement:
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
    seen = measured(*MIXED)
    assert seen.figures.time_us("p99") == pytest.approx(4800, rel=0.001)
    assert seen.figures.low_us("p99") == pytest.approx(1900, rel=0.001)
    assert seen.figures.low_us("mean") == 1450
    quiet, busy = (step.timing("quieter") for step in seen.steps)
    assert (quiet.n, quiet.max_us, busy.n, busy.min_us) == (750, 1000, 750, 1900)


def test_of_few_seconds_all_count():
    assert measured(*MIXED[21:41]).figures.low_us("mean") == pytest.approx(2450)


def test_a_lower_end_is_never_above_what_was_measured():
    """The seconds in which the injector added least may be those in which the target was slow."""
    slow = [second(k, 9000, own_us=10) for k in range(15)]
    seen = measured(*slow, *(second(k, 1000, own_us=500, n=500) for k in range(15, 30)))
    assert seen.figures.low_us("p50") == seen.figures.time_us("p50") == 1500


def test_few_requests_and_those_whose_reading_was_not_timed_have_no_lower_end():
    few = measured(second(0, 1000, own_us=100, n=20)).figures
    assert (few.low_us("p50"), few.low_us("p99")) == (1000, None)
    untimed = Second(0, 0, {"ok": 50}, timings={"response": Timing.of([1000] * 50)})
    assert measured(untimed).figures.low_us("p50") is None


def test_a_measurement_goes_on_from_its_state():
    whole, first = measured(*MIXED), measured(*MIXED[:31])
    rest = Measurement(PLAN)
    rest.go_on_from(first.state(), first.series)
    for each in MIXED[31:]:
        rest.add(each)
    assert rest.settle().total == whole.total
