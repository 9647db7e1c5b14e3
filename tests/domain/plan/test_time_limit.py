import pytest

from campaigns.domain.plan.load import MAX_DURATION_S, ArrivalUnit, Load, Model
from campaigns.domain.plan.plan import Timeouts
from campaigns.domain.plan.session import Session, ThinkKind, ThinkTime
from campaigns.domain.plan.time_limit import longest_run_s

TIMEOUTS = Timeouts(total_s=10)


def test_injectors_that_begin_later_have_so_much_more():
    load = Load(Model.CLOSED, connections=4, requests=10, start_offset_s=3)
    assert longest_run_s(load, TIMEOUTS, 0) == 3 * 10 + 40
    assert longest_run_s(load, TIMEOUTS, 0, injectors=4) == 3 * 10 + 3 * 3 + 40


@pytest.mark.parametrize(
    ("load", "seconds"),
    [
        (Load(Model.CLOSED, connections=4, requests=10, ramp_up_s=7), 7 + 3 * 10),
        (Load(Model.WINDOW, low=2, high=4, requests=10, hold="keep_s", hold_s=6), 3 * 10 + 6),
        (Load(Model.WINDOW, low=2, high=4, duration_s=8, hold="keep_s", hold_s=6), 8 + 6),
        (
            Load(Model.OPEN, requests=10, distribution="uniform", uniform_min_s=1, uniform_max_s=3),
            30,
        ),
    ],
)
def test_ramp_up_hold_and_the_longest_gaps_take_their_time(load, seconds):
    assert longest_run_s(load, TIMEOUTS, 0) == seconds + 10 + 30


@pytest.mark.parametrize(
    ("load", "seconds"),
    [
        (Load(Model.OVER, requests=100, over_s=20), 20),
        (Load(Model.OPEN, rate_per_s=50, duration_s=60), 60),
        (Load(Model.OPEN, rate_per_s=50, requests=1000), 20),
        (Load(Model.CLOSED, connections=4, duration_s=30), 30),
        (Load(Model.CLOSED, connections=4, requests=10), 3 * 10),
        (Load(Model.SEQUENTIAL, requests=7), 7 * 10),
        (Load(Model.CLOSED, connections=1, requests=10_000_000), MAX_DURATION_S),
    ],
)
def test_a_run_may_take_its_plan_and_what_a_slow_target_adds(load, seconds):
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
