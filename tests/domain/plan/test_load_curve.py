import pytest

from campaigns.domain.plan.load import stored_load
from campaigns.domain.plan.load_curve import MOST_ARRIVALS, load_curve

STAGES = [
    {"duration_s": 30, "from_per_s": 10, "to_per_s": 10},
    {"duration_s": 60, "from_per_s": 10, "to_per_s": 50},
    {"duration_s": 5, "from_per_s": 0, "to_per_s": 0},
]


def curve_of(warm_up_s=0, **load):
    return load_curve(stored_load(load), warm_up_s)


def test_a_hundred_over_ten_seconds_start_every_tenth_of_a_second():
    curve = curve_of(model="over", requests=100, over_s=10)
    assert (curve.peak, curve.begin_s, curve.end_s) == (10, 0, 10)
    assert len(curve.arrivals_s) == 100
    assert curve.arrivals_s[-1] == pytest.approx(9.9)


def test_the_target_decides_when_a_closed_load_with_a_number_of_requests_ends():
    curve = curve_of(5, model="closed", connections=50, requests=1000)
    assert curve.is_open_ended
    assert (curve.peak, curve.begin_s) == (50, -5)


def test_single_arrivals_are_given_only_while_they_can_be_told_apart():
    few = curve_of(model="open", rate_per_s=MOST_ARRIVALS, duration_s=1)
    assert len(few.arrivals_s) == MOST_ARRIVALS
    assert curve_of(model="open", rate_per_s=MOST_ARRIVALS + 1, duration_s=1).arrivals_s == []


def test_random_arrivals_have_no_fixed_instants():
    random = curve_of(model="open", rate_per_s=2, requests=9, distribution="exponential")
    assert random.arrivals_s == []


def test_a_hundred_million_requests_are_not_counted_one_by_one():
    curve = curve_of(model="over", requests=100_000_000, over_s=43_200)
    assert curve.arrivals_s == []
    assert len(curve.points) == 2


def test_a_ramp_up_rises_from_nothing_from_the_beginning_of_the_warm_up():
    load = {"model": "closed", "connections": 10, "duration_s": 30, "ramp_up_s": 5}
    assert curve_of(**load).points == [(0, 0), (5, 10), (30, 10)]
    assert curve_of(2, **load).points == [(-2, 0), (3, 10), (30, 10)]
    assert curve_of(**load | {"ramp_up_s": 0}).points == [(0, 10), (30, 10)]


def test_the_curve_goes_through_the_stages_and_is_upright_at_a_step():
    curve = curve_of(5, model="open", stages=STAGES)
    assert curve.points == [
        (-5, 10), (0, 10), (0, 10), (30, 10), (30, 10), (90, 50), (90, 0), (95, 0),
    ]  # fmt: skip
    assert (curve.peak, curve.arrivals_s) == (50, [])
