"""Arms of HTTP/2 side by side: streams in turns, equal connections, the injector's own part."""

import threading
import time
from statistics import median

import gevent
import pytest

from campaigns.domain.analysis.ratio import Word
from tests.injector.http2.h2_server import h2_server, ok
from tests.injector.test_read_delay import block_again_and_again
from tests.injector.test_side_by_side import OPEN, arms_order
from workers.injector.arms_run import run_arms

pytestmark = pytest.mark.long

CLOSED = {"model": "closed", "connections": 2, "duration_s": 60}


def taking(delay_s):
    def answer(headers, body):
        time.sleep(delay_s)
        return ok(headers, body)

    return answer


def arms_run(*ports, streams=4, mode="keep-alive", show=lambda second, arm: None, **more):
    order = arms_order(*ports, modes=[mode] * len(ports), **more)
    for arm in order["arms"]:
        arm["plan"] |= {"http_version": "2", "streams": streams}
    return run_arms(order, [str(port) for port in ports], show)


def test_streams_take_turns_and_equal_servers_are_not_told_apart():
    for load in [OPEN, CLOSED]:
        # Until it is settled: as long as a busy machine takes.
        more = {"load": load, "limit_s": 60, "until_settled": True}
        with h2_server(taking(0.002)) as (one, _), h2_server(taking(0.002)) as (other, _):
            [answer] = arms_run(one.port, other.port, **more).comparisons
        with h2_server(taking(0.002)) as (one, first), h2_server(taking(0.006)) as (other, second):
            run = arms_run(one.port, other.port, **more)
        assert answer.word not in {Word.SLOWER, Word.FASTER}
        assert run.comparisons[0].word == Word.SLOWER
        for arm, (server, ledger) in enumerate(((one, first), (other, second))):
            totals = run.end.arms[arm].totals
            assert totals["started"] == totals["ok"] == ledger.n_requests
            assert totals["connections_opened"] == server.n_connections
        if load is CLOSED:
            assert (one.n_connections, first.most_at_once) == (2, 4)


def test_connections_that_one_arm_opens_in_a_stall_are_opened_for_all(short_trial, pools):
    """Of streams on many connections fewer wait for one another than on one."""
    may_go = threading.Event()
    may_go.set()

    def stalling(headers, body):
        may_go.wait(2)
        return ok(headers, body)

    stall = threading.Timer(1.2, may_go.clear), threading.Timer(1.8, may_go.set)
    with h2_server() as (steady, _), h2_server(stalling) as (late, _):
        for timer in stall:
            timer.start()
        arms_run(steady.port, late.port, limit_s=3)
    # 5 or 6 are opened before the first turn. A machine's own stalls may open more in any round.
    assert any(one == other > 6 for one, other in pools)


def test_rounds_have_the_least_that_the_injector_added_and_seconds_none_of_it():
    """One stamp of the kernel may be that of several replies: of the last one of them."""

    seconds = []
    with h2_server(taking(0.004)) as (one, _), h2_server(taking(0.004)) as (other, _):
        blocker = gevent.spawn(block_again_and_again, 0.02, 0.05)
        more = {"load": CLOSED, "show": lambda second, arm: seconds.append(second)}
        run = arms_run(one.port, other.port, **more)
        blocker.kill()
    turns = [arm for each in run.rounds for arm in each.arms if arm.n >= 5]
    assert sum(turn.own_us for turn in turns) / len(turns) > 5_000
    assert median(turn.p50_us for turn in turns) > 1.5 * median(
        turn.p50_undelayed_us for turn in turns
    )
    assert not any("sampled" in second.timings for second in seconds)
