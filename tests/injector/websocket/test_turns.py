"""WebSockets side by side: each is opened, talks and is closed in the turns of its arm."""

from statistics import median

import gevent
import pytest

from campaigns.domain.analysis.ratio import Word
from campaigns.domain.metrics.snapshot import total_of
from tests.injector.servers import scripted
from tests.injector.test_read_delay import block_again_and_again
from tests.injector.test_side_by_side import OPEN, arms_order
from tests.injector.websocket.peers import echo
from workers.injector.arms_run import run_arms

pytestmark = pytest.mark.long

CLOSED = {"model": "closed", "connections": 2, "duration_s": 60}


def talking(*ports, exchange, **more):
    """An order for WebSockets."""
    order = arms_order(*ports, modes=["new"] * len(ports), **more)
    for arm in order["arms"]:
        arm["endpoint"]["scheme"] = "ws"
        arm["plan"] |= {"steps": [], "exchange": exchange, "connection_mode": "new"}
    return order


def arms_run(*ports, show=lambda second, arm: None, **more):
    return run_arms(talking(*ports, **more), [str(port) for port in ports], show)


@pytest.mark.parametrize("load", [OPEN, CLOSED], ids=["open", "closed"])
def test_conversations_take_turns_and_equal_servers_are_not_told_apart(load):
    more, seconds = {"load": load, "exchange": {"messages": 2}}, []
    with scripted(echo(delay_s=0.005)) as one, scripted(echo(delay_s=0.005)) as other:
        [answer] = arms_run(one.port, other.port, limit_s=4, **more).comparisons
    with scripted(echo(delay_s=0.005)) as one, scripted(echo(delay_s=0.01)) as other:
        # Until it is settled: as long as a busy machine takes.
        more |= {"limit_s": 60, "until_settled": True}
        more["show"] = lambda second, arm: seconds.append((arm, second))
        run = arms_run(one.port, other.port, **more)
    assert answer.word not in {Word.SLOWER, Word.FASTER}
    assert run.comparisons[0].word == Word.SLOWER
    for number, server in enumerate((one, other)):
        totals = run.end.arms[number].totals
        assert totals["started"] == totals["ok"] == server.n_connections
        assert totals["messages_sent"] == totals["messages_received"] == 2 * totals["ok"]
        total = total_of(second for arm, second in seconds if arm == number)
        assert total.timing("message").n == totals["messages_sent"]


def test_what_a_conversation_waits_for_the_injector_is_told_apart(short_trial):
    """Opening, echo after echo, closing: each waits for the one before."""

    seconds = []
    with scripted(echo(delay_s=0.002)) as one, scripted(echo(delay_s=0.002)) as other:
        blocker = gevent.spawn(block_again_and_again, 0.01, 0.02)
        more = {"show": lambda second, arm: seconds.append(second), "slice_s": 0.5, "limit_s": 4}
        run = arms_run(one.port, other.port, load=CLOSED, exchange={"messages": 8}, **more)
        blocker.kill()
    turns = [arm for each in run.rounds for arm in each.arms if arm.n >= 5]
    with_it, without = (
        median(getattr(turn, name) for turn in turns) for name in ("p50_us", "p50_undelayed_us")
    )
    assert without < 0.5 * with_it
    assert without > 16_000, "eight echoes take 2 ms each"
    assert any("undelayed" in second.timings for second in seconds)


def test_what_is_not_answered_step_by_step_has_only_the_least_that_was_added(short_trial):
    seconds = []
    with scripted(echo(delay_s=0.01)) as one, scripted(echo(delay_s=0.01)) as other:
        exchange = {"messages": 3, "mode": "echo_async"}
        more = {"show": lambda second, arm: seconds.append(second), "exchange": exchange}
        run = arms_run(one.port, other.port, load=CLOSED, **more)
    assert any(arm.own_us is not None for each in run.rounds for arm in each.arms)
    assert not any("undelayed" in second.timings for second in seconds)


def test_a_stop_ends_conversations_and_keeps_what_was_seen(program):
    with scripted(echo(delay_s=0.01)) as server:
        order = talking(server.port, server.port, load=CLOSED, exchange={"messages": 2})
        injector = program(order)
        injector.start()
        while injector.hear()["type"] != "round":
            pass
        injector.say({"stop": "user"})
        lines, status = injector.rest()
    assert (status, lines[-1]["outcome"]) == (0, "stopped")
