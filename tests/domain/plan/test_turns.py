"""Turns that several injector processes share: how long they are, and what all keep up with."""

from campaigns.domain.plan.estimates import estimate_side_by_side
from campaigns.domain.plan.load import Load, Model
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.turns import (
    ArmsOfPlan,
    pace_of_all,
    turn_s,
    why_not_in_turns,
    why_not_side_by_side,
)


def test_a_turn_holds_ten_requests_of_each_process():
    plan = Plan(load=Load(model=Model.OPEN, rate_per_s=100, duration_s=9))
    assert turn_s(plan) == 0.1
    assert turn_s(plan, 4) == 0.4
    uneven = Load(model=Model.OPEN, rate_per_s=100, duration_s=9, shares=(8, 1, 1))
    assert turn_s(Plan(load=uneven), 3) == 1
    assert turn_s(Plan(load=Load(model=Model.CLOSED, connections=12, duration_s=9)), 12) == 0.1


def talking(**exchange):
    load = exchange.pop("load", {"model": "closed", "connections": 4, "duration_s": 60})
    return Plan.from_json({"load": load, "connection_mode": "new", "exchange": exchange})


def test_messages_of_long_websockets_take_turns_if_connections_stay_and_are_answered():
    arrive = {"model": "open", "rate_per_s": 5, "duration_s": 60}
    assert not why_not_in_turns(talking(messages=100_000, rate_per_s=5))
    assert not why_not_in_turns(talking(messages=101))
    for words, plan in [
        ("Keep connections open", talking(messages=101, load=arrive)),
        ("without replies", talking(messages=101, mode="send_only")),
        ("A scenario", talking(scenario=["send: a", "wait: 5"])),
    ]:
        assert words in why_not_in_turns(plan)


def test_a_turn_holds_ten_messages_of_all_connections():
    assert turn_s(talking(messages=1000, rate_per_s=5)) == 0.5
    assert turn_s(talking(messages=1000, rate_per_s=5), 2) == 1
    assert turn_s(talking(messages=1000)) == 0.1
    slow = ArmsOfPlan("chat", talking(messages=1000, rate_per_s=0.1), 2)
    assert why_not_side_by_side([slow], 60).startswith("A round takes 50 s")


def test_the_estimate_and_what_may_take_turns_know_how_many_processes_share_the_load():
    plan = Plan.from_json(
        {
            "steps": [{"method": "GET", "path": "/"}],
            "load": {"model": "open", "rate_per_s": 50, "duration_s": 30},
        }
    )
    values = {"repeats": 1, "pause_s": 0, "until_settled": True, "limit_s": 90}
    one, three = (
        estimate_side_by_side([[(plan, ConnectionMode.NEW, n)] * 2], **values).settled_s
        for n in (1, 3)
    )
    assert one < three, "a tenth of the requests a second take longer to settle"
    arms = ArmsOfPlan("shop", plan, 2)
    assert not why_not_side_by_side([arms], 10)
    assert why_not_side_by_side([arms._replace(injectors=3)], 10).startswith("A round takes 1.2 s")


PACE = {"slice_s": 0.1, "gap_s": 0.0, "rate_per_s": 200.0, "asked_per_s": 200.0, "keeps_up": True,
        "connections": [40, 41]}  # fmt: skip


def test_all_keep_the_pace_of_the_slowest():
    slow = PACE | {"slice_s": 0.25, "rate_per_s": 50.0, "keeps_up": False, "connections": [10, 12]}
    waits = PACE | {"gap_s": 0.08}
    found = pace_of_all([PACE, slow, waits])
    assert found == slow | {"gap_s": 0.08, "connections": [90, 94]}
    closed = PACE | {"rate_per_s": None, "asked_per_s": None}
    assert pace_of_all([closed, closed])["rate_per_s"] is None


def test_turns_on_several_hosts_are_longer_than_their_clocks_are_apart():
    found = pace_of_all([PACE, PACE], clock_error_s=0.007)
    assert (found["slice_s"], found["gap_s"]) == (0.5, 0.02)
    long = PACE | {"slice_s": 2.0, "gap_s": 0.3}
    found = pace_of_all([PACE, long], clock_error_s=0.0001)
    assert (found["slice_s"], found["gap_s"]) == (2.0, 0.3)
