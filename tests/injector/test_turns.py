"""Turns of arms that are measured side by side: whose request is whose, and when it counts."""

import numpy as np
import pytest

from campaigns.domain.metrics.injector_end import ArmRound, ArmsRound
from campaigns.domain.plan import arrivals
from campaigns.domain.plan.load import Load, Model, Stage
from campaigns.domain.plan.turns import load_at_rate, slowest_share
from workers.injector.order import ArmsOrder, Refusal
from workers.injector.turn_loads import ArrivalsInTurns
from workers.injector.turns import (
    OK_FIELDS,
    ArmTurn,
    Pace,
    TurnRecorder,
    Turns,
    next_pace,
    whole_length_s,
)

MS, NS = 1_000_000, 1_000_000_000


def turn_at(begin_ms, own_ms, length_ms=100, **more):
    return ArmTurn(begin_ms * MS, own_ms * MS, length_ms * MS, **more)


def in_turns(load, turns):
    own = ArrivalsInTurns()
    own.begin(arrivals.schedule(load, seed=3))
    for turn in turns:
        own.add(turn)
    return list(own)


def test_an_arm_sends_its_own_schedule_with_the_turns_of_others_cut_out():
    for more in [
        {"rate_per_s": 200, "duration_s": 10},
        {"rate_per_s": 200, "duration_s": 10, "distribution": "exponential"},
        {
            "uniform_min_s": 0.001,
            "uniform_max_s": 0.009,
            "requests": 2000,
            "distribution": "uniform",
        },
        {"stages": (Stage(0.2, 100, 300), Stage(1, 200, 200))},
    ]:
        load = Load(model=Model.OPEN, **more)
        turns = [turn_at(1000, 0), turn_at(1300, 100), turn_at(1400, 200)]
        sent = in_turns(load, turns)
        alone = [due for _, due in arrivals.schedule(load, seed=3) if due < 300 * MS]
        begins = {0: 1000, 1: 1300, 2: 1400}
        put_off = [
            due + (begins[due // (100 * MS)] - due // (100 * MS) * 100) * MS for due in alone
        ]
        assert [due for _, due in sent] == put_off
        assert [number for number, _ in sent] == list(range(len(alone)))
        assert sum(turn.n_begun for turn in turns) == len(alone)


def test_gaps_and_stages_keep_their_proportions_where_the_rate_is_lower():
    load = Load(model=Model.OPEN, distribution="uniform", uniform_min_s=0.01, uniform_max_s=0.03)
    slower = load_at_rate(load, 25)
    assert (slower.uniform_min_s, slower.uniform_max_s) == (0.02, 0.06)
    load = Load(model=Model.OPEN, stages=(Stage(5, 100, 40), Stage(5, 20, 20)))
    assert load_at_rate(load, 50).stages == (Stage(5, 50, 20), Stage(5, 10, 10))
    assert Pace.first(100, slowest_share=slowest_share(load)).slice_s == 0.5, "ten at 20/s"


def test_arrivals_go_on_with_the_next_turn():
    own = ArrivalsInTurns()
    own.begin(arrivals.schedule(Load(model=Model.OPEN, rate_per_s=20, requests=3)))
    own.add(turn_at(0, 0))
    assert [number for number, _ in own] == [0, 1]
    assert not own.are_over
    own.add(turn_at(200, 100))
    assert list(own) == [(2, 200 * MS)]
    assert own.are_over


def test_extra_requests_come_on_top_and_at_once():
    sent = in_turns(Load(model=Model.OPEN, rate_per_s=20, requests=2), [turn_at(5, 0, n_extra=3)])
    assert [due for _, due in sent] == [5 * MS] * 4 + [55 * MS]


@pytest.fixture
def turns():
    turns = Turns()
    turns.add(turn_at(0, 0, 500), is_measured=False)
    turns.add(turn_at(1000, 0, 500, n_begun=3), is_measured=True)
    turns.add(turn_at(3000, 500, 500, n_begun=2), is_measured=True)
    turns.add(turn_at(4000, 1000, 500), is_measured=True)
    return turns


def test_the_clock_of_an_arm_stands_while_others_have_their_turn(turns):
    instants = np.array([100, 999, 1000, 1499, 1500, 2999, 3000, 3999, 4000, 9000]) * MS
    assert turns.seconds_of(instants).tolist() == [-1, -1, 0, 0, 0, 0, 0, 0, 1, 1]
    assert turns.seconds_of(3_999 * MS) == 0, "what the last turn of a second left over is in it"
    assert [turns.own_us(each * MS) for each in (0, 1250, 2000, 3100)] == [
        0, 250_000, 499_999, 600_000,
    ]  # fmt: skip


def test_a_request_belongs_to_the_turn_in_which_it_was_due(turns):
    due = np.array([1100, 1450, 3000, 3100]) * MS
    end = np.array([1110, 1600, 3010, 3110]) * MS
    turns.note_ok(rows_without_parts(due, end, (end - due) // 1000, [-1] * 4))
    turns.note_failed(1200 * MS, 1900 * MS)
    first, second = turns.all[1].figures(), turns.all[2].figures()
    assert (first.n, first.failed, first.spilled) == (2, 1, 2)
    assert (second.n, second.failed, second.spilled) == (2, 0, 0)


def rows_without_parts(*columns):
    """Rows without parts."""
    return np.pad(np.column_stack(columns), ((0, 0), (0, OK_FIELDS - len(columns))))


def rows_of(responses_us, owns_us, length_ms=100):
    n = len(responses_us)
    due = np.arange(n) * length_ms * MS // n
    return rows_without_parts(due, due + np.array(responses_us) * 1000, responses_us, owns_us)


def test_figures_of_a_turn_are_with_and_without_what_the_injector_added():
    turn = turn_at(0, 0)
    turn.ok.append(rows_of([1000, 1200, 1400, 1600, 1800, 9000], [100, 100, 100, 100, 100, 8000]))
    figures = turn.figures()
    assert (figures.p50_us, figures.p50_undelayed_us) == (1500, 1200)
    assert figures.own_us == pytest.approx(8500 / 6, abs=0.1)
    assert figures.p50_bounds_us is None


def test_without_enough_timed_requests_a_turn_has_no_figure_without_it():
    turn = turn_at(0, 0)
    turn.ok.append(rows_of([1000] * 8, [-1] * 5 + [10] * 3))
    assert (turn.figures().p50_us, turn.figures().p50_undelayed_us) == (1000, None)


def test_what_failed_bounds_the_median():
    turn = turn_at(0, 0, n_failed=2)
    turn.ok.append(rows_of([100 * n for n in range(1, 9)], [0] * 8))
    low, high = turn.figures().p50_bounds_us
    assert (low, high) == (pytest.approx(310), pytest.approx(590))


def test_what_has_not_ended_has_spilled():
    turn = turn_at(0, 0, n_begun=3, n_ended=1)
    assert turn.figures().spilled == 2
    assert not turn.is_complete(200 * MS)


def round_of(*arms):
    return ArmsRound(0, 0, tuple(range(len(arms))), arms)


def arm_of(n_spilled=0, n=20, **more):
    return ArmRound(n, spilled=n_spilled, **more)


def test_turns_hold_ten_requests_and_divide_a_second():
    assert [Pace.first(rate).slice_s for rate in (1000, 100, 60, 30, 5, None)] == [
        0.1, 0.1, 0.2, 0.5, 2, 0.1,
    ]  # fmt: skip
    assert [whole_length_s(each) for each in (0.1, 0.11, 0.5, 0.51)] == [0.1, 0.2, 0.5, 1]


def test_turns_grow_while_that_keeps_requests_within_them():
    same = next_pace(Pace.first(200), [round_of(arm_of(1), arm_of(1))] * 5, 0.003)
    assert (same.slice_s, same.keeps_up) == (0.1, True)
    longer = next_pace(same, [round_of(arm_of(), arm_of(4))] * 5, 0.3)
    assert (longer.slice_s, longer.gap_s, longer.keeps_up) == (0.2, 0, None)


def test_slow_replies_get_a_pause_if_it_is_shorter_than_the_turn():
    pace = next_pace(Pace.first(200), [round_of(arm_of(), arm_of(12))] * 5, 0.08)
    assert (pace.slice_s, pace.gap_s, pace.rate_per_s) == (0.1, 0.1, 200)
    still = next_pace(pace, [round_of(arm_of(), arm_of(2))] * 5, 0.08)
    assert (still.slice_s, still.gap_s) == (0.2, 0.1)


def test_no_pause_is_longer_than_a_turn_where_the_load_says_how_long_it_takes():
    """Stages would else outlast the limit, and the last of them be left out."""
    spilling = [round_of(arm_of(), arm_of(15))] * 5
    assert next_pace(Pace.first(200, 0.1), spilling, 0.4).gap_s > 0.4
    pace = next_pace(Pace.first(200, 0.1, keeps_time=True), spilling, 0.4)
    assert (pace.gap_s, pace.rate_per_s) == (0, 100)


def test_a_reply_that_had_come_in_its_turn_has_not_spilled_though_it_was_read_late():
    recorder = TurnRecorder(0, 10, is_scheduled=True, turns=Turns())
    recorder._turns.add(turn_at(0, 0, n_begun=2), is_measured=True)
    late = {1: 0, 2: 5 * MS}
    for start, unread_ns in late.items():
        marks = start, start, 0, 0, start, 104 * MS, 104 * MS, 200, 10, 2, 12
        recorder.record(marks)
        recorder.read_stamps[start] = unread_ns, ([], 0)
    recorder.compact()
    [turn] = recorder._turns.all
    assert (turn.n_ended, turn.n_spilled) == (2, 1)


def test_what_ends_in_the_pause_is_told_apart():
    turns = Turns()
    turns.add(turn_at(0, 0, gap_ns=50 * MS, n_begun=3), is_measured=True)
    turns.note_ok(rows_without_parts([0, 1, 2], np.array([90, 120, 160]) * MS, [1000] * 3, [0] * 3))
    figures = turns.all[0].figures()
    assert (figures.in_pause, figures.spilled) == (1, 1)


def test_what_still_spills_gets_half_the_rate_and_then_is_told():
    spilling = [round_of(arm_of(), arm_of(15))] * 5
    pace = Pace.first(200)
    rates = []
    while pace.keeps_up is None and len(rates) < 20:
        pace = next_pace(pace, spilling, 3.0)
        rates.append(pace.rate_per_s)
    assert rates[:2] == [100, 50]
    assert (pace.keeps_up, pace.rate_per_s) == (False, 6.25)
    assert pace.slice_s == 2, "as long as ten requests take at this rate"
    assert next_pace(Pace.first(200, may_lower=False), spilling, 3.0).keeps_up is False


def test_a_queue_that_builds_up_halves_the_rate_though_nothing_spills():
    growing = arm_of(second_quarter_us=1000.0, last_quarter_us=1500.0)
    assert next_pace(Pace.first(200), [round_of(arm_of(), growing)] * 12, 0.01).rate_per_s == 100


def test_a_closed_load_gets_a_pause_for_what_is_on_its_connections():
    pace = next_pace(Pace.first(None), [round_of(arm_of(2), arm_of(2))] * 5, 0.009)
    assert (pace.slice_s, pace.gap_s) == (0.1, 0.02)


def test_turns_of_a_closed_load_grow_until_they_hold_ten():
    assert (
        next_pace(Pace.first(None), [round_of(arm_of(n=2), arm_of(n=30))] * 4, 0.1).slice_s == 0.5
    )


def order_of(load=None, turns=None, **plan):
    load = load or {"model": "open", "rate_per_s": 50, "duration_s": 5}
    plan = {"steps": [{"method": "GET", "path": "/"}], "load": load, **plan}
    scheme = "ws" if "exchange" in plan else "http"
    endpoint = {"scheme": scheme, "host": "127.0.0.1", "port": 8080}
    arm = {"endpoint": endpoint, "plan": plan, "connection_mode": "new"}
    return {"protocol": 2, "arms": [arm, arm], "policy": {"allow": []}, "turns": turns or {}}


def test_what_cannot_be_cut_into_turns_is_refused_with_what_to_use():
    for order, words in [
        (order_of({"model": "window", "low": 1, "high": 2, "requests": 5}), "A window"),
        (
            order_of(
                {"model": "open", "stages": [{"duration_s": 2, "from_per_s": 1, "to_per_s": 5}]}
            ),
            "only rises",
        ),
        (order_of({"model": "closed", "connections": 2, "requests": 5, "ramp_up_s": 1}), "ramp-up"),
        (
            order_of(
                {"model": "open", "rate_per_s": 9, "requests": 9, "arrival_unit": "session"},
                session={"calls_per_session": 21},
            ),
            "More than 20 requests",
        ),
        (
            order_of(
                {"model": "open", "rate_per_s": 9, "requests": 9, "arrival_unit": "session"},
                session={"calls_per_session": 3, "connections_per_session": 2, "burst_length": 3},
            ),
            "at once",
        ),
        (
            order_of(
                {"model": "closed", "connections": 2, "requests": 5},
                session={"calls_per_session": 3},
            ),
            "Let sessions arrive",
        ),
        (
            order_of(
                session={"think_time": {"kind": "constant", "mean_s": 1}},
                load={"model": "closed", "connections": 2, "requests": 5},
            ),
            "equal pauses",
        ),
        (order_of(steps=[], exchange={"messages": 101}), "more than 100 messages"),
        (order_of(steps=[], exchange={"messages": 2, "rate_per_s": 10}), "more than 0.1 s"),
        (order_of(turns={"limit_s": 0}), "limit_s"),
        (order_of(turns={"pairs": [[2, 0]]}), "pairs"),
        (order_of(turns={"limit_s": []}), "cannot be read"),
        (order_of() | {"arms": []}, "from 2 to 16"),
        (order_of() | {"arms": [1, 2]}, "JSON object"),
        (order_of() | {"shard": {"index": 2, "count": 2}}, "does not exist"),
        (
            order_of()
            | {
                "arms": [
                    order_of()["arms"][0],
                    order_of({"model": "closed", "connections": 2, "requests": 5})["arms"][0],
                ]
            },
            "same load",
        ),
    ]:
        with pytest.raises(Refusal, match=words) as refusal:
            ArmsOrder.from_json(order)
        assert refusal.value.kind == "bad_order"
