"""How many requests a load plans, their curve, and how long they may take."""

from campaigns.domain.plan.estimates import longest_run_s
from campaigns.domain.plan.load import (
    MAX_DURATION_S,
    MOST_ARRIVALS,
    ArrivalUnit,
    Load,
    Model,
    load_curve,
    planned_arrivals,
    planned_duration_s,
    stored_load,
)
from campaigns.domain.plan.plan import Timeouts
from campaigns.domain.plan.session import Session, ThinkKind, ThinkTime

RAMP = {"duration_s": 60, "from_per_s": 10, "to_per_s": 50}


def even(duration_s, rate_per_s):
    return {"duration_s": duration_s, "from_per_s": rate_per_s, "to_per_s": rate_per_s}


def test_a_load_plans_its_requests_and_its_duration():
    for load, arrivals, duration_s in [
        ({"model": "over", "requests": 100, "over_s": 10}, 100, 10),
        ({"model": "open", "rate_per_s": 37.5, "duration_s": 10}, 375, 10),
        ({"model": "open", "rate_per_s": 10, "duration_s": 10}, 100, 10),
        ({"model": "open", "rate_per_s": 3, "duration_s": 1.1}, 4, 1.1),
        ({"model": "open", "rate_per_s": 10, "requests": 100}, 100, 10),
        (
            {
                "model": "open",
                "distribution": "uniform",
                "uniform_min_s": 1,
                "uniform_max_s": 3,
                "requests": 9,
            },
            9,
            18,
        ),
        ({"model": "open", "stages": [even(30, 10), RAMP]}, 2100, 90),
        ({"model": "open", "stages": [even(1.1, 3)]}, 4, 1.1),
        ({"model": "open", "stages": [even(0.3, 10)]}, 3, 0.3),
        ({"model": "window", "low": 2, "high": 4, "requests": 9}, 9, None),
        ({"model": "window", "low": 2, "high": 4, "duration_s": 9}, None, 9),
        ({"model": "closed", "connections": 50, "requests": 1000}, 1000, None),
        ({"model": "closed", "connections": 5, "duration_s": 30}, None, 30),
        ({"model": "sequential", "duration_s": 30}, None, 30),
    ]:
        plan = stored_load(load)
        assert planned_arrivals(plan) == arrivals
        assert planned_duration_s(plan) == duration_s


STAGES = [
    {"duration_s": 30, "from_per_s": 10, "to_per_s": 10},
    {"duration_s": 60, "from_per_s": 10, "to_per_s": 50},
    {"duration_s": 5, "from_per_s": 0, "to_per_s": 0},
]


def curve_of(warm_up_s=0, **load):
    return load_curve(stored_load(load), warm_up_s)


def test_the_target_decides_when_a_closed_load_with_a_number_of_requests_ends():
    curve = curve_of(5, model="closed", connections=50, requests=1000)
    assert curve.is_open_ended
    assert (curve.peak, curve.begin_s) == (50, -5)


def test_single_arrivals_are_given_only_while_they_can_be_told_apart():
    few = curve_of(model="open", rate_per_s=MOST_ARRIVALS, duration_s=1)
    assert len(few.arrivals_s) == MOST_ARRIVALS
    assert curve_of(model="open", rate_per_s=MOST_ARRIVALS + 1, duration_s=1).arrivals_s == []


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


TIMEOUTS = Timeouts(total_s=10)


def test_injectors_that_begin_later_have_so_much_more():
    load = Load(Model.CLOSED, connections=4, requests=10, start_offset_s=3)
    assert longest_run_s(load, TIMEOUTS, 0) == 3 * 10 + 40
    assert longest_run_s(load, TIMEOUTS, 0, injectors=4) == 3 * 10 + 3 * 3 + 40


def test_ramp_up_hold_and_the_longest_gaps_take_their_time():
    for load, seconds in [
        (Load(Model.CLOSED, connections=4, requests=10, ramp_up_s=7), 7 + 3 * 10),
        (Load(Model.WINDOW, low=2, high=4, requests=10, hold="keep_s", hold_s=6), 3 * 10 + 6),
        (Load(Model.WINDOW, low=2, high=4, duration_s=8, hold="keep_s", hold_s=6), 8 + 6),
        (
            Load(Model.OPEN, requests=10, distribution="uniform", uniform_min_s=1, uniform_max_s=3),
            30,
        ),
    ]:
        assert longest_run_s(load, TIMEOUTS, 0) == seconds + 10 + 30


def test_a_run_may_take_its_plan_and_what_a_slow_target_adds():
    for load, seconds in [
        (Load(Model.OVER, requests=100, over_s=20), 20),
        (Load(Model.OPEN, rate_per_s=50, duration_s=60), 60),
        (Load(Model.OPEN, rate_per_s=50, requests=1000), 20),
        (Load(Model.CLOSED, connections=4, duration_s=30), 30),
        (Load(Model.CLOSED, connections=4, requests=10), 3 * 10),
        (Load(Model.SEQUENTIAL, requests=7), 7 * 10),
        (Load(Model.CLOSED, connections=1, requests=10_000_000), MAX_DURATION_S),
    ]:
        assert longest_run_s(load, TIMEOUTS, warm_up_s=5) == 5 + seconds + 10 + 30


def test_what_is_in_flight_at_the_end_may_be_whole_sessions_with_their_pauses():
    load = Load(Model.OPEN, rate_per_s=5, duration_s=60, arrival_unit=ArrivalUnit.SESSION)
    think = ThinkTime(ThinkKind.CONSTANT, mean_s=7)
    session = Session(calls_per_session=6, burst_length=2, think_time=think)
    assert longest_run_s(load, TIMEOUTS, 0, session=session) == 60 + 6 * 10 + 2 * 7 + 30


def test_a_closed_load_may_pause_after_every_request():
    load = Load(Model.CLOSED, connections=4, requests=10)
    think = ThinkTime(ThinkKind.UNIFORM, min_s=1, max_s=20)
    assert longest_run_s(load, TIMEOUTS, 0, session=Session(think_time=think)) == 3 * 30 + 40
