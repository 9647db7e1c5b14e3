from collections import Counter
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.plan.arrivals import planned_duration_s
from campaigns.domain.plan.estimates import estimate_side_by_side
from campaigns.domain.plan.load import Load, Model
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.turns import (
    ALONE_S,
    ArmsOfPlan,
    Turn,
    TurnsOrder,
    order_of_runs,
    pace_of_all,
    plan_alone,
    plan_at_pace,
    turn_s,
    why_not_in_turns,
    why_not_side_by_side,
)
from tests.domain.plan.reading import read

some_campaign = given(st.integers(1, 9), st.integers(1, 12), st.integers(0, 2**31))


def blocks_of(n_tests: int, repeats: int, seed: int) -> list[tuple[int, ...]]:
    turns = order_of_runs(n_tests, repeats, is_random=True, seed=seed)
    return [
        tuple(turn.test for turn in turns if turn.repeat == repeat)
        for repeat in range(1, repeats + 1)
    ]


@some_campaign
def test_each_block_runs_every_test_once(n_tests, repeats, seed):
    turns = order_of_runs(n_tests, repeats, is_random=True, seed=seed)
    assert [turn.position for turn in turns] == list(range(1, n_tests * repeats + 1))
    assert [turn.repeat for turn in turns] == sorted(turn.repeat for turn in turns)
    for block in blocks_of(n_tests, repeats, seed):
        assert sorted(block) == list(range(n_tests))


@some_campaign
def test_each_second_block_is_the_reverse_of_the_one_before_it(n_tests, repeats, seed):
    blocks = blocks_of(n_tests, 2 * repeats, seed)
    for first, second in zip(blocks[::2], blocks[1::2], strict=True):
        assert second == first[::-1]


@some_campaign
def test_a_steady_drift_cancels_out_of_every_comparison(n_tests, repeats, seed):
    turns = order_of_runs(n_tests, 2 * repeats, is_random=True, seed=seed)
    sums = Counter()
    for turn in turns:
        sums[turn.test] += turn.position
    assert len(set(sums.values())) == 1


def test_over_a_square_each_test_has_every_place_and_predecessor_equally_often():
    for seed in [1, 2]:
        for n_tests in range(2, 10):
            blocks = blocks_of(n_tests, n_tests * (1 + n_tests % 2), seed)
            places = Counter((place, test) for block in blocks for place, test in enumerate(block))
            assert len(places) == n_tests**2
            assert len(set(places.values())) == 1
            pairs = Counter(pair for block in blocks for pair in pairwise(block))
            assert len(pairs) == n_tests * (n_tests - 1)
            assert len(set(pairs.values())) == 1


@given(st.integers(2, 9), st.integers(1, 12), st.integers(0, 2**31))
def test_of_two_tests_one_is_first_in_at_most_one_block_more(n_tests, repeats, seed):
    blocks = blocks_of(n_tests, repeats, seed)
    for one, other in combinations(range(n_tests), 2):
        before = sum(block.index(one) < block.index(other) for block in blocks)
        assert abs(before - (repeats - before)) <= 1


def test_the_seed_decides_the_order():
    assert blocks_of(8, 3, 1) == blocks_of(8, 3, 1) != blocks_of(8, 3, 2)


def test_what_balance_leaves_free_is_drawn():
    first = Counter(blocks_of(2, 1, seed)[0] for seed in range(200))
    assert first.keys() == {(0, 1), (1, 0)}
    assert min(first.values()) > 70
    assert len({blocks_of(4, 4, seed)[0] for seed in range(400)}) == 24
    fifth = Counter(blocks[4] == blocks[0] for blocks in (blocks_of(2, 5, s) for s in range(200)))
    assert min(fifth[True], fifth[False]) > 70


def test_two_tests_take_turns_so_that_a_drift_that_bends_cancels_too():
    for seed in range(20):
        first, second, third, fourth = blocks_of(2, 4, seed)
        assert first == fourth != second == third


def test_as_listed_is_the_same_in_every_block():
    assert order_of_runs(2, 2, is_random=False, seed=1) == [
        Turn(1, 1, 0),
        Turn(2, 1, 1),
        Turn(3, 2, 0),
        Turn(4, 2, 1),
    ]


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
    plan = read(load={"model": "open", "rate_per_s": 50, "duration_s": 30})
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
    pace = pace_of_all([PACE, slow, waits])
    assert pace == slow | {"gap_s": 0.08, "connections": [90, 94]}
    flat_out = PACE | {"rate_per_s": None, "asked_per_s": None}
    assert pace_of_all([flat_out, flat_out])["rate_per_s"] is None


def test_turns_on_several_hosts_are_longer_than_their_clocks_are_apart():
    pace = pace_of_all([PACE, PACE], clock_error_s=0.007)
    assert (pace["slice_s"], pace["gap_s"]) == (0.5, 0.02)
    long = PACE | {"slice_s": 2.0, "gap_s": 0.3}
    pace = pace_of_all([PACE, long], clock_error_s=0.0001)
    assert (pace["slice_s"], pace["gap_s"]) == (2.0, 0.3)


def test_what_turns_are_asked_for_is_refused_outside_its_limits():
    for turns, field in [
        ({"limit_s": 0}, "limit_s"),
        ({"limit_s": 9, "slice_s": 20}, "slice_s"),
        ({"limit_s": 9, "threshold": 1}, "threshold"),
        ({"limit_s": 9, "pairs": [[0, 0]]}, "pairs"),
        ({"limit_s": 9, "pairs": [[0, 2]]}, "pairs"),
    ]:
        with pytest.raises(ValueError, match=rf"turns\.{field}"):
            TurnsOrder.from_json(turns, n_arms=2)
    assert TurnsOrder.from_json({"limit_s": 9}, n_arms=3).compared(3) == [(1, 0), (2, 0)]


def test_a_plan_as_it_was_sent_has_the_rate_of_the_trial_and_the_time_that_it_took():
    uniform = {
        "model": "open",
        "distribution": "uniform",
        "uniform_min_s": 0.5,
        "uniform_max_s": 1.5,
    }
    pace = {"rate_per_s": 2.0, "measured_s": 10.0}
    for load, sent in [
        ({"model": "open", "rate_per_s": 8, "duration_s": 60}, (2.0, 10.0, None)),
        ({**uniform, "requests": 60}, (None, None, 20)),
        ({"model": "closed", "connections": 2, "duration_s": 60}, (None, 10.0, None)),
    ]:
        load = plan_at_pace(read(load=load), pace).load
        assert (load.rate_per_s, load.duration_s, load.requests) == sent
    ramp = {"duration_s": 60, "from_per_s": 4, "to_per_s": 8}
    (stage,) = plan_at_pace(read(load={"model": "open", "stages": [ramp]}), pace).load.stages
    assert (stage.from_per_s, stage.to_per_s, stage.duration_s) == (1.0, 2.0, 60)
    messages = talking(messages=100_000, rate_per_s=5)
    n_connections = messages.load.connections
    assert plan_at_pace(messages, pace).exchange.rate_per_s == 2.0 / n_connections


def test_an_arm_alone_is_short_and_has_the_rules_about_the_machine():
    rules = [{"metric": "p95", "limit": 9}, {"metric": "target_cpu", "limit": 0.9}]
    for load in (
        {"model": "over", "requests": 6000, "over_s": 600},
        {"model": "open", "rate_per_s": 10, "requests": 6000},
        {"model": "open", "rate_per_s": 10, "duration_s": 600},
        {"model": "closed", "connections": 2, "duration_s": 600},
    ):
        plan = plan_alone(read(load=load, thresholds=rules))
        assert planned_duration_s(plan.load) == ALONE_S
        assert [each.metric for each in plan.thresholds] == ["target_cpu"]
