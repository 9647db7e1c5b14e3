"""Long WebSockets side by side: connections stay open, and their messages take turns."""

import threading
import time
from itertools import pairwise
from statistics import median
from types import SimpleNamespace

import gevent
import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Message, Ping, Pong, Request

from campaigns.domain.analysis.ratio import Word
from campaigns.domain.metrics.snapshot import Second, total_of
from tests.injector.forked import FORKED
from tests.injector.servers import scripted
from tests.injector.test_contract import fault
from tests.injector.test_read_delay import block_again_and_again
from tests.injector.test_side_by_side import play
from tests.injector.websocket.peers import after_opening, echo
from tests.injector.websocket.test_turns import arms_run, talking
from workers.injector.connection import NS
from workers.injector.recorder import NEVER
from workers.injector.turns import ArmTurn, Turns
from workers.injector.websocket.exchange_context import ExchangeContext

TWO = {"model": "closed", "connections": 2, "duration_s": 60}
LONG = {
    "path": "/", "headers": [], "subprotocols": [], "messages": 1_000_000, "size_bytes": 16,
    "binary": False, "mode": "echo_sync", "rate_per_s": None, "verify": "exact",
    "close_code": 1000, "close_timeout_s": 5.0,
}  # fmt: skip
STEADY = LONG | {"rate_per_s": 50}


def test_each_arm_keeps_its_connections_and_has_a_ledger_of_its_messages(program):
    with scripted(echo()) as one, scripted(echo(delay_s=0.002)) as other:
        order = talking(one.port, other.port, load=TWO, exchange=STEADY, slice_s=0.2, limit_s=3)
        _, lines = play(order, program)
    [end] = lines["end"]
    for number, server in enumerate((one, other)):
        assert server.n_connections == 2, "the trial's stay open"
        totals = end["arms"][number]["totals"]
        assert totals["connections_opened"] == 2
        assert totals["started"] == totals["ok"] == totals["messages_sent"]
        assert totals["messages_sent"] == totals["messages_received"]
        seconds = [each for each in lines["second"] if each["arm"] == number]
        measured_seconds = [each for each in seconds if each["second"] >= 0]
        n = sum(each["counters"].get("ok", 0) for each in measured_seconds)
        rounds_of_arm = [each["arms"][number] for each in lines["round"]]
        # Of the last round one may have been due too late to be sent.
        assert 0 <= n - sum(each["n"] for each in rounds_of_arm) <= 20
        # 50 a second of each connection on the arm's own clock, in turns of 0.2 s; a machine that
        # stands still skips some.
        for each in rounds_of_arm[:-1]:
            assert each["n"] <= 20 <= each["n"] + each["spilled"]
        assert not any(each["failed"] for each in rounds_of_arm)
        whole = total_of(map(Second.from_json, measured_seconds))
        parts_us = sum(whole.timing(part).sum_us for part in ("lateness", "exchange"))
        assert parts_us == whole.timing("response").sum_us
        assert whole.timing("undelayed").n == n, "each is timed at so few a second"


def test_messages_are_sent_only_in_the_turns_of_their_arm(short_trial):
    times, more = ([], []), {"load": TWO, "exchange": LONG, "slice_s": 0.2, "limit_s": 2}
    with scripted(noting(times[0])) as one, scripted(noting(times[1])) as other:
        arms_run(one.port, other.port, **more)
    for mine, theirs in (times, times[::-1]):
        pauses = [(a, b) for a, b in pairwise(mine) if b - a > 0.1]
        assert len(pauses) >= 4
        # Of each pause one message may have been under way, and its machine busy.
        in_pauses = [sum(a < at < b for at in theirs) for a, b in pauses]
        assert median(in_pauses) > 10
        in_turns = [at for at in theirs if not any(a < at < b for a, b in pauses)]
        assert len(in_turns) < 0.3 * len(theirs)


def echo_events(sock, delay_s=0.0):
    """The events of a proper server's connection, each before it is answered."""
    connection = WSConnection(ConnectionType.SERVER)
    while more := sock.recv(65536):
        connection.receive_data(more)
        for event in connection.events():
            yield event
            if isinstance(event, Request):
                sock.sendall(connection.send(AcceptConnection()))
            elif isinstance(event, Message):
                time.sleep(delay_s)
                sock.sendall(connection.send(Message(event.data)))
            elif isinstance(event, CloseConnection):
                sock.sendall(connection.send(event.response()))
                return


def noting(times):
    def script(sock, server):
        for event in echo_events(sock, 0.005):
            if isinstance(event, Message):
                times.append(time.monotonic())

    return script


@pytest.mark.long
@pytest.mark.parametrize(
    "exchange", [LONG, STEADY, STEADY | {"mode": "echo_async"}], ids=["sync", "rate", "async"]
)
def test_equal_servers_are_not_told_apart_and_a_slower_one_is_found(exchange):
    more = {"load": TWO, "exchange": exchange}
    with scripted(echo(delay_s=0.003)) as one, scripted(echo(delay_s=0.003)) as other:
        [answer] = arms_run(one.port, other.port, limit_s=4, **more).comparisons
    with scripted(echo(delay_s=0.003)) as one, scripted(echo(delay_s=0.006)) as other:
        more |= {"limit_s": 60, "until_settled": True}
        run = arms_run(one.port, other.port, **more)
    assert answer.word not in {Word.SLOWER, Word.FASTER}
    assert run.comparisons[0].word == Word.SLOWER
    assert run.comparisons[0].p50.ratio > 1.2
    figures = run.to_json()["arms"]
    assert 3 <= figures[0]["bounds_ms"]["p50"][0] < 30, "of messages, each of which waits 3"


def test_what_a_message_waits_for_the_injector_is_told_apart(short_trial):
    with scripted(echo(delay_s=0.002)) as one, scripted(echo(delay_s=0.002)) as other:
        blocker = gevent.spawn(block_again_and_again, 0.01, 0.02)
        run = arms_run(one.port, other.port, load=TWO, exchange=LONG, slice_s=0.5, limit_s=4)
        blocker.kill()
    turns = [arm for each in run.rounds for arm in each.arms if arm.mean_undelayed_us]
    with_it, without = (
        median(getattr(turn, name) for turn in turns) for name in ("mean_us", "mean_undelayed_us")
    )
    assert 2_000 < without < 0.5 * with_it


@pytest.mark.parametrize("may_lower_rate", [pytest.param(True, marks=pytest.mark.long), False])
def test_who_cannot_keep_the_rate_has_a_lower_one_or_a_direction_only(may_lower_rate, short_trial):
    with scripted(echo(delay_s=0.001)) as one, scripted(echo(delay_s=0.024)) as other:
        more = {"load": TWO | {"connections": 1}, "exchange": STEADY}
        more |= {"slice_s": 0.4, "limit_s": 9 if may_lower_rate else 4}
        run = arms_run(one.port, other.port, may_lower_rate=may_lower_rate, **more)
    pace, [answer] = run.to_json()["pace"], run.comparisons
    if may_lower_rate:
        assert (pace["rate_per_s"], pace["asked_per_s"], pace["keeps_up"]) == (25, 50, True)
        assert not answer.behind
        assert answer.word == Word.SLOWER
        turns = [arm for each in run.rounds for arm in each.arms]
        assert 8 <= median(turn.n for turn in turns) <= 10, "25 a second, in turns of 0.4 s"
    else:
        assert (pace["rate_per_s"], pace["keeps_up"]) == (50, False)
        assert list(answer.behind) == [1]
    # Each turn begins anew: the last ones wait no longer than the first.
    assert all(each.arms[1].p50_us < 500_000 for each in run.rounds)


def test_a_stall_is_not_carried_into_the_rounds_that_follow(short_trial):
    """At three quarters of what the server can do, it would take four times as long to be over."""
    begin, has_stalled = time.monotonic(), threading.Event()

    def stalling(sock, server):
        for event in echo_events(sock, 0.015):
            if (
                isinstance(event, Message)
                and time.monotonic() > begin + 3
                and not has_stalled.is_set()
            ):
                has_stalled.set()
                time.sleep(1)

    with scripted(echo(delay_s=0.015)) as one, scripted(stalling) as other:
        load = TWO | {"connections": 1}
        run = arms_run(one.port, other.port, load=load, exchange=STEADY, slice_s=0.2, limit_s=8)
    assert has_stalled.is_set()
    slow = [each for each in run.rounds if each.arms[1].n and each.arms[1].p50_us > 60_000]
    assert len(run.rounds) > 15
    assert len(slow) <= 5


def test_a_server_that_opens_slowly_is_not_slower_to_answer(short_trial):
    def late(sock, server):
        time.sleep(0.1 + 0.1 * server.n_connections)
        echo(delay_s=0.003)(sock, server)

    with scripted(echo(delay_s=0.003)) as one, scripted(late) as other:
        run = arms_run(one.port, other.port, load=TWO, exchange=STEADY, limit_s=4, slice_s=0.2)
    assert run.comparisons[0].word not in {Word.SLOWER, Word.FASTER}
    assert len(run.rounds) >= 5


@pytest.mark.parametrize("connections", [1, 3])
def test_connections_send_evenly_whenever_they_were_opened(connections):
    """Else an arm that opens faster would have its messages meet in a queue."""
    workers = [object() for _ in range(connections)]
    phases = {worker: n / connections for n, worker in enumerate(workers)}
    load = SimpleNamespace(rate_per_s=10, _phases=phases)
    openings = [17, 2 * NS + 5, NS // 3]
    dues = [ExchangeContext.first_due(load, *each) for each in zip(workers, openings, strict=False)]
    for n, (due, at) in enumerate(zip(dues, openings, strict=False)):
        assert at <= due < at + NS // 10
        assert due % (NS // 10) == pytest.approx(n * NS / 10 / connections, abs=2)


def test_what_is_due_is_put_off_while_others_have_their_turn():
    turns = Turns()
    for begin, length in ((1000, 100), (1400, 100)):
        turns.add(ArmTurn(begin, 0, length), is_measured=True)
    assert turns.due(50, 1000) == 1050, "later in this turn"
    assert turns.due(50, 1060) == 1050, "10 late"
    assert turns.due(120, 1060) == 1420, "in the next turn"
    assert turns.due(50, 1200) == 1400, "between turns: as soon as there is one"
    assert turns.due(90, 1430) == 1390, "as late as its own clock says: 40"
    assert [turns.begun_ns(at) for at in (1050, 1200, 1400)] == [0, 100, 100]
    assert turns.due(250, 1430) == turns.due(10, 1600) == NEVER


def test_a_ping_is_answered_while_others_have_their_turn(short_trial):
    n_pongs = [0]

    def script(sock, server):
        connection = WSConnection(ConnectionType.SERVER)
        sock.settimeout(0.1)
        while True:
            try:
                more = sock.recv(65536)
            except TimeoutError:
                sock.sendall(connection.send(Ping(b"there?")))
                continue
            if not more:
                return
            connection.receive_data(more)
            for event in connection.events():
                if isinstance(event, Request):
                    sock.sendall(connection.send(AcceptConnection()))
                elif isinstance(event, Pong):
                    n_pongs[0] += 1
                elif isinstance(event, Message):
                    sock.sendall(connection.send(Message(event.data)))
                elif isinstance(event, CloseConnection):
                    sock.sendall(connection.send(event.response()))
                    return

    with scripted(script) as one, scripted(script) as other:
        run = arms_run(one.port, other.port, load=TWO, exchange=STEADY, slice_s=0.5, limit_s=3)
    assert n_pongs[0] >= 4
    assert not any(arm.totals.get("failed") for arm in run.end.arms)


def test_a_connection_that_is_closed_between_turns_has_failed_and_is_opened_again(short_trial):
    """No message waits then, so none is slower for it."""

    def impatient(sock, server):
        sock.settimeout(0.3)
        echo(delay_s=0.002)(sock, server)

    seconds = []
    with scripted(echo(delay_s=0.002)) as one, scripted(impatient) as other:
        more = {"load": TWO, "exchange": STEADY, "slice_s": 0.5, "limit_s": 6}
        more["show"] = lambda second, arm: seconds.append((arm, second))
        run = arms_run(one.port, other.port, **more)
    totals = [total_of(second for arm, second in seconds if arm == n) for n in (0, 1)]
    assert totals[0].count("failed") == 0
    assert totals[1].count("failed") >= 4
    assert set(totals[1].errors) == {"eof_mid_body"}
    assert other.n_connections > totals[1].count("failed")
    assert run.comparisons[0].word not in {Word.SLOWER, Word.FASTER}


def test_a_server_that_refuses_or_leaves_fails_the_arm(short_trial):
    leaving = after_opening(lambda sock: time.sleep(0.03))
    for script in (leaving, lambda sock, server: time.sleep(0.03)):
        with scripted(echo(delay_s=0.005)) as one, scripted(script) as other:
            run = arms_run(one.port, other.port, load=TWO, exchange=LONG, limit_s=2)
        assert list(run.comparisons[0].failing) == [1]


def test_a_stop_closes_connections_properly_and_keeps_what_was_seen(program):
    with scripted(echo(delay_s=0.002)) as server:
        injector = program(talking(server.port, server.port, load=TWO, exchange=LONG), FORKED)
        injector.start()
        while injector.hear()["type"] != "round":
            pass
        injector.say({"stop": "user"})
        lines, status = injector.rest()
    assert (status, lines[-1]["outcome"]) == (0, "stopped")
    assert fault(lines[-1], "out") is None
    for arm in lines[-1]["arms"]:
        assert arm["totals"]["close_code_1000"] == arm["totals"]["connections_opened"] == 2
        assert arm["totals"]["ok"] == arm["totals"]["messages_sent"]


def test_connections_that_have_had_all_their_messages_are_opened_anew_in_a_turn(short_trial):
    lock, openings = threading.Lock(), []

    def script(sock, server):
        with lock:
            openings.append(time.monotonic())
        echo(delay_s=0.002)(sock, server)

    exchange = {"messages": 120}
    with scripted(echo(delay_s=0.002)) as one, scripted(script) as other:
        run = arms_run(one.port, other.port, load=TWO, exchange=exchange, slice_s=0.2, limit_s=4)
    assert len(openings) > 4
    totals = run.end.arms[1].totals
    assert 120 * (len(openings) - 2) <= totals["ok"] <= 120 * len(openings)
    assert totals["connections_opened"] == len(openings)
    assert totals.get("failed", 0) == 0
