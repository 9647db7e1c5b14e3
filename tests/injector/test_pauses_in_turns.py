"""Users who pause, side by side: their pauses are the arm's own time."""

import pytest

from campaigns.domain.analysis.ratio import Word
from campaigns.domain.metrics.injector_end import ArmsEnd, ArmsRound
from campaigns.domain.metrics.snapshot import Second, total_of
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.turns import turn_s, why_not_in_turns
from tests.injector.forked import FORKED
from tests.injector.servers import after, scripted
from tests.injector.test_side_by_side import arms_order, arms_run, play

USERS = {"model": "closed", "connections": 4, "duration_s": 60}
PAUSES = {"kind": "uniform", "min_s": 0.02, "max_s": 0.06, "mean_s": 0.0}


def pausing(*ports, pauses=PAUSES, load=USERS, **more):
    return arms_order(*ports, load=load, plan={"session": {"think_time": pauses}}, **more)


def test_each_request_belongs_to_the_turn_in_which_it_began_and_the_rate_is_the_plans(program):
    with scripted(after(0.002)) as one, scripted(after(0.004)) as other:
        _, lines = play(pausing(one.port, other.port, slice_s=0.2, limit_s=4), program)
    rounds = [ArmsRound.from_json(each) for each in lines["round"]]
    for number, server in enumerate((one, other)):
        seconds = [Second.from_json(each) for each in lines["second"] if each["arm"] == number]
        assert total_of(seconds).count("ok") == server.n_requests
        n = total_of(each for each in seconds if each.second >= 0).count("ok")
        assert sum(each.arms[number].n for each in rounds) == n
        # 4 users with 0.04 s each and a reply: on the arm's own clock, in half of the time.
        own_s = 0.2 * len(rounds)
        assert 0.5 * 4 / 0.044 < n / own_s < 1.1 * 4 / 0.042


@pytest.mark.long
def test_equal_servers_are_not_told_apart_and_a_slower_one_is_found():
    more = {"load": USERS, "plan": {"session": {"think_time": PAUSES}}}
    with scripted(after(0.003)) as one, scripted(after(0.003)) as other:
        [answer] = arms_run(one.port, other.port, limit_s=4, **more).comparisons
    with scripted(after(0.003)) as one, scripted(after(0.006)) as other:
        run = arms_run(one.port, other.port, limit_s=60, until_settled=True, **more)
    assert answer.word not in {Word.SLOWER, Word.FASTER}
    assert run.comparisons[0].word == Word.SLOWER


def test_who_pauses_when_measuring_begins_sends_no_request_of_the_trial(program):
    load = {"model": "closed", "connections": 4, "requests": 40}
    pauses = PAUSES | {"min_s": 0.2, "max_s": 0.4}
    with scripted(after(0.001)) as server:
        order = pausing(server.port, server.port, load=load, pauses=pauses, slice_s=0.2, limit_s=30)
        _, lines = play(order, program)
    for number in (0, 1):
        seconds = [Second.from_json(each) for each in lines["second"] if each["arm"] == number]
        n = total_of(each for each in seconds if each.second >= 0).count("ok")
        assert 30 <= n <= 40
    assert lines["end"][0]["outcome"] == "complete"


def test_a_stop_ends_pauses(program):
    pauses = PAUSES | {"min_s": 5.0, "max_s": 9.0}
    with scripted(after(0.001)) as server:
        injector = program(pausing(server.port, server.port, pauses=pauses, slice_s=0.2), FORKED)
        injector.start()
        injector.say({"stop": "user"})
        lines, status = injector.rest()
    end = ArmsEnd.from_json(lines[-1])
    assert (status, end.outcome, end.reason) == (0, "stopped", "user")


def test_pauses_take_turns_unless_equal_ones_keep_users_together():
    def plan(load=USERS, **think):
        steps = [{"method": "GET", "path": "/"}]
        return Plan.from_json({"steps": steps, "load": load, "session": {"think_time": think}})

    random, equal = {"kind": "exponential", "mean_s": 0.5}, {"kind": "constant", "mean_s": 0.5}
    assert not why_not_in_turns(plan(**random))
    assert not why_not_in_turns(plan(USERS | {"connections": 1}, **equal))
    assert "Draw the pauses" in why_not_in_turns(plan(**equal))
    assert turn_s(plan(**random)) == pytest.approx(10 / 8)
