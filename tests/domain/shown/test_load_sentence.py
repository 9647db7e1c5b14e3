import pytest

from campaigns.domain.plan.arrivals import NS, schedule
from campaigns.domain.plan.plan import Plan
from campaigns.domain.shown.load_sentence import curve_unit, load_sentence

STEPS = [{"method": "GET", "path": "/"}]


def plan_of(session=None, **load):
    return Plan.from_json({"steps": STEPS, "load": load, "session": session or {}})


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
        (
            {"model": "open", "rate_per_s": 0.1, "requests": 1, "distribution": "exponential"},
            "One request at a random instant within 10 s.",
        ),
    ],
)
def test_the_only_arrival_is_not_said_to_be_apart_from_another(load, words):
    assert load_sentence(plan_of(**load)) == words
