"""Sessions whose calls fail: what is tried again, what ends a session, and that all is counted."""

import random
import socket
import time
from collections import defaultdict

import gevent

from tests.injector import servers
from tests.injector.servers import OK_REPLY, make_order, scripted
from tests.injector.test_loads import Arrivals, is_conserved, local_run, stop_after
from tests.injector.visits import (
    ERROR_REPLY,
    OPEN,
    against,
    measure,
    session,
    sessions_are_conserved,
    think,
)
from workers.injector.connection import now
from workers.injector.engine import Engine
from workers.injector.order import Order
from workers.injector.session import SessionWorker


def test_a_failure_ends_the_session_and_the_calls_it_had_left_are_counted():
    for fields in [{}, {"burst_length": 4, "connections_per_session": 4}]:

        def failing_second(sock, server):
            while server.read_request(sock) is not None:
                sock.sendall(ERROR_REPLY if b"/b" in server.requests[-1] else OK_REPLY)

        steps = [{"path": f"/{name}"} for name in "abcd"]
        result, _ = against(failing_second, steps=steps, load=OPEN, plan=session(4, **fields))
        total = result.total
        assert (total.count("sessions_failed"), total.count("sessions_ok")) == (20, 0)
        assert total.count("failed") == total.errors["status_unexpected"] == 20
        assert total.count("started") + total.count("calls_skipped") == 80
        assert total.timing("session_failed").n == 20
        if not fields:
            assert (total.count("calls_skipped"), total.count("session_length_1")) == (40, 20)
        assert is_conserved(result)
        assert sessions_are_conserved(result)


class Stumbling:
    """Answers step b badly so many times in a row for each session, whose cookie says which."""

    def __init__(self, n_bad, bad):
        self._n_bad, self._bad = n_bad, bad
        self._n_seen = defaultdict(int)
        self.paths = []

    def __call__(self, sock, server):
        while request := server.read_request(sock):
            path = request.split(b" ")[1]
            session = path.partition(b"?")[2]
            self.paths.append(path)
            self._n_seen[session] += path.startswith(b"/b")
            if path.startswith(b"/b") and self._n_seen[session] <= self._n_bad:
                if not self._bad(sock):
                    return
            else:
                sock.sendall(OK_REPLY)


def with_500(sock):
    sock.sendall(ERROR_REPLY)
    return True


def with_a_reset(sock):
    servers.reset(sock)
    return False


def retrying(port, **fields):
    """Four calls of each session, by a number that the server can tell sessions apart by."""
    steps = [{"path": f"/{name}?${{n}}"} for name in "abcd"]
    rows = "\n".join(["n", *map(str, range(20))])
    plan = session(4, retry_on_failure=True, **fields) | {"variables": {"csv": rows}}
    return measure(port, steps=steps, load=OPEN, plan=plan)


def test_a_failed_call_is_made_again_and_the_session_goes_on():
    for fields in [{}, {"burst_length": 4, "connections_per_session": 3}]:
        for bad in [with_500, with_a_reset]:
            n_failed = 40  # twice for each of 20 sessions
            stumbling = Stumbling(2, bad)
            with scripted(stumbling) as server:
                result = retrying(server.port, **fields)
            total = result.total
            assert (total.count("sessions_ok"), total.count("sessions_failed")) == (20, 0)
            assert (total.count("ok"), total.count("failed")) == (80, n_failed)
            assert total.count("calls_retried") == n_failed
            assert total.count("session_length_4") == 20
            assert total.count("started") + total.count("calls_skipped") == 80 + n_failed
            assert sorted(stumbling.paths).count(b"/b?7") == 3
            assert sorted(stumbling.paths).count(b"/c?7") == 1
            assert is_conserved(result)
            assert sessions_are_conserved(result)


def test_after_three_more_tries_the_session_has_failed():
    with scripted(Stumbling(99, with_500)) as server:
        total = retrying(server.port).total
    assert (total.count("sessions_ok"), total.count("sessions_failed")) == (0, 20)
    assert (total.count("ok"), total.count("failed"), total.count("calls_retried")) == (20, 80, 60)
    assert total.count("calls_skipped") == 40
    assert total.count("started") + total.count("calls_skipped") == 80 + 60
    assert total.count("session_length_1") == 20


def test_a_timeout_is_never_tried_again():
    load = OPEN | {"requests": 3}
    plan = session(2, retry_on_failure=True)
    result, _ = against(Arrivals(service_s=20), load=load, plan=plan, timeouts={"total_s": 0.3})
    assert result.total.errors == {"first_byte_timeout": 3}
    assert result.total.count("calls_retried") == 0


def test_refused_connections_are_tried_again_after_a_pause_and_not_for_ever():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    result = measure(port, load=OPEN | {"requests": 3}, plan=session(2, retry_on_failure=True))
    assert result.total.errors == {"connect_refused": 12}
    assert result.total.count("sessions_failed") == 3


def test_a_stop_in_the_pause_before_a_retry_lets_nothing_more_be_sent(monkeypatch):
    def resetting(sock, server):
        server.read_request(sock)
        servers.reset(sock)

    take_failed_call = SessionWorker.take_failed_call

    def take_and_stop(worker):
        call = take_failed_call(worker)
        engine.stop("user")
        return call

    monkeypatch.setattr(SessionWorker, "take_failed_call", take_and_stop)
    with scripted(resetting) as server:
        load = OPEN | {"requests": 1}
        order = make_order(server.port, load=load, plan=session(4, retry_on_failure=True))
        engine = Engine(Order.from_json(order), local_run())
        engine.prepare()
        end = engine.run(now() + 10_000_000)
        gevent.sleep(0.1)
    assert (server.n_requests, end.totals["failed"]) == (1, 1)
    assert end.totals.get("calls_retried", 0) == 0


def test_calls_under_way_at_a_stop_fail_their_sessions():
    load = OPEN | {"rate_per_s": 50, "requests": None, "duration_s": 30}
    with scripted(lambda sock, server: time.sleep(3)) as server:
        plan = session(3, burst_length=3, connections_per_session=2, first_call_alone=False)
        end = stop_after(server.port, 0.3, load=load, plan=plan, timeouts={"total_s": 20})
    totals = end.totals
    assert totals["sessions_failed"] == totals["sessions_started"] > 3
    assert end.errors == {"aborted_by_stop": totals["failed"]}
    assert end.sessions_in_flight == 0


HALF_REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
LAST_REPLY = OK_REPLY.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n", 1)
FAULTS = [HALF_REPLY, LAST_REPLY, ERROR_REPLY, b"nonsense\r\n\r\n"]


def misbehaving(sock, server):
    """One reply in two is well; the others are faults, drawn anew for each connection."""
    rng = random.Random(server.n_connections)
    while server.read_request(sock) is not None:
        match rng.randrange(12):
            case 0:
                servers.reset(sock)
            case 1:
                time.sleep(0.5)
            case fault if fault < 6:
                reply = FAULTS[fault - 2]
                sock.sendall(reply)
                if reply in {HALF_REPLY, LAST_REPLY}:
                    return
            case _:
                sock.sendall(OK_REPLY)


def test_whatever_the_target_does_calls_and_sessions_add_up():
    for fields in [
        {},
        {"burst_length": 6, "connections_per_session": 3},
        {"burst_length": 3, "connections_per_session": 2, "first_call_alone": False},
        {"burst_length": 6, "pipeline_depth": 4},
        {
            "burst_length": 3,
            "pipeline_depth": 2,
            "connections_per_session": 2,
            "think_time": {"kind": "exponential", "mean_s": 0.01},
        },
    ]:
        plan = session(6, **fields)
        load = OPEN | {"rate_per_s": 200, "requests": 60}
        result, _ = against(misbehaving, load=load, plan=plan, timeouts={"total_s": 0.3})
        total = result.total
        assert total.count("started") + total.count("calls_skipped") == 360
        assert sum(total.errors.values()) == total.count("failed") > 0
        assert total.timing("session_failed").n == total.count("sessions_failed") > 0
        assert total.timing("session").n == total.count("sessions_ok")
        n_ended = sum(n for name, n in total.counters.items() if name.startswith("session_length_"))
        assert n_ended == total.count("sessions_started") == 60
        assert is_conserved(result)
        assert sessions_are_conserved(result)


def test_what_comes_while_a_session_thinks_fails_it_and_its_next_call_is_not_made():
    def answering_late_again(sock, server):
        while server.read_request(sock) is not None:
            sock.sendall(OK_REPLY)
            time.sleep(0.05)
            sock.sendall(OK_REPLY)

    load = OPEN | {"rate_per_s": 20, "requests": 6}
    result, _ = against(answering_late_again, load=load, plan=session(2, think_time=think(0.3)))
    total = result.total
    # Where a second ended between reply and stray, the call had been counted as ok already.
    assert total.errors["http_parse"] == total.count("sessions_failed") >= 5
    assert total.count("started") + total.count("calls_skipped") == 12
    assert is_conserved(result)
