import pytest

from campaigns.domain.plan.arrivals import NS, schedule
from campaigns.domain.plan.plan import Plan
from campaigns.domain.shown.load_sentence import curve_unit, load_sentence

FIVE_CALLS = {"calls_per_session": 5}
STEPS = [{"method": "GET", "path": "/"}]


def plan_of(session=None, **load):
    return Plan.from_json({"steps": STEPS, "load": load, "session": session or {}})


def websocket_of(**load):
    return Plan.from_json({"exchange": {"path": "/"}, "load": load})


def test_even_arrivals_name_their_distance_the_first_and_the_last():
    plan = plan_of(model="over", requests=100, over_s=10)
    assert load_sentence(plan) == "One request every 100 ms; the first at 0 s, the last at 9.9 s."


def test_a_rate_keeps_its_gap_where_its_time_is_no_multiple_of_it():
    """As it is sent: the schedule's own last instant is the sentence's."""
    plan = plan_of(model="open", rate_per_s=0.5, duration_s=3)
    assert [due_ns for _, due_ns in schedule(plan.load)] == [0, 2 * NS]
    assert load_sentence(plan) == "One request every 2 s; the first at 0 s, the last at 2 s."
    assert curve_unit(plan) == "requests/s"


@pytest.mark.parametrize(
    ("load", "words"),
    [
        ({"model": "over", "requests": 1, "over_s": 10}, "One request, at 0 s."),
        ({"model": "open", "rate_per_s": 10, "requests": 1}, "One request, at 0 s."),
        ({"model": "open", "rate_per_s": 1, "duration_s": 0.5}, "One request, at 0 s."),
        (
            {"model": "open", "requests": 1, "distribution": "uniform"}
            | {"uniform_min_s": 1, "uniform_max_s": 3},
            "One request, at 0 s.",
        ),
        (
            {"model": "open", "rate_per_s": 0.1, "requests": 1, "distribution": "exponential"},
            "One request at a random instant within 10 s.",
        ),
    ],
)
def test_the_only_arrival_is_not_said_to_be_apart_from_another(load, words):
    assert load_sentence(plan_of(**load)) == words


def test_random_arrivals_are_said_to_be_random():
    plan = plan_of(model="open", rate_per_s=10, requests=100, distribution="exponential")
    assert load_sentence(plan) == (
        "100 requests at random instants within 10 s, 100 ms apart on average."
    )


def test_drawn_gaps_are_named():
    gaps = {"distribution": "uniform", "uniform_min_s": 1, "uniform_max_s": 3}
    plan = plan_of(model="open", requests=9, **gaps)
    assert load_sentence(plan) == (
        "9 requests, each 1 s to 3 s after the one before; about 18 s in all."
    )


def test_stages_say_how_many_requests_there_are_and_how_long_they_take():
    ramp = {"duration_s": 60, "from_per_s": 10, "to_per_s": 50}
    even = {"duration_s": 30, "from_per_s": 10, "to_per_s": 10}
    assert load_sentence(plan_of(model="open", stages=[even, ramp])) == (
        "2,100 requests in 2 stages, 1 min 30 s in all."
    )
    assert "in one stage" in load_sentence(plan_of(model="open", stages=[even]))


@pytest.mark.parametrize(
    ("load", "words"),
    [
        ({"connections": 50, "requests": 1000}, "50 connections send"),
        ({"connections": 1, "requests": 1}, "One connection sends"),
        ({"connections": 1, "requests": 1}, "until 1 request is done"),
        ({"connections": 50, "requests": 1000}, "the target decides how long that takes"),
        ({"connections": 5, "duration_s": 90}, "for 1 min 30 s"),
        ({"connections": 5, "duration_s": 9, "ramp_up_s": 4}, "begin one by one over 4 s"),
    ],
)
def test_where_the_target_decides_the_sentence_says_so(load, words):
    assert words in load_sentence(plan_of(model="closed", **load))


def test_a_window_is_told_by_its_marks():
    plan = plan_of(model="window", low=250, high=500, requests=9)
    assert "500 connections at a time" in load_sentence(plan)
    assert "fewer than 250 are being opened, until 9 have been opened." in load_sentence(plan)


def test_values_per_injector_are_said_to_be_so():
    plan = plan_of(model="sequential", requests=5000, per_injector=True)
    assert load_sentence(plan).startswith("Each injector process: one connection sends,")


def test_sessions_that_arrive_are_counted_as_such():
    arrivals = {"model": "over", "requests": 100, "over_s": 10, "arrival_unit": "session"}
    plan = plan_of(FIVE_CALLS, **arrivals)
    assert load_sentence(plan).startswith("One session every 100 ms")
    assert curve_unit(plan) == "sessions/s"


def test_a_websocket_plan_speaks_of_websockets():
    over = websocket_of(model="over", requests=100, over_s=10)
    assert load_sentence(over).startswith("One WebSocket every 100 ms")
    closed = websocket_of(model="closed", connections=4, requests=120)
    assert load_sentence(closed).startswith("4 WebSockets are open at a time")
    assert "until 120 WebSockets are done" in load_sentence(closed)
