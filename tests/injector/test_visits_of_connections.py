"""Connections that arrive, or that a window opens, and make several calls each."""

import time

import pytest

from tests.injector.servers import OK_REPLY, always, scripted
from tests.injector.test_loads import is_conserved
from tests.injector.test_sessions import counting_visits, visits_of
from tests.injector.test_window import window_of
from tests.injector.visits import Connections, against, measure, think
from tests.waiting import eventually

OPEN = {"model": "open", "arrival_unit": "connection", "rate_per_s": 100, "requests": 20}
LAST_REPLY = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"


def calls(count, **fields):
    return {"session": {"calls_per_connection": count, **fields}}


def closing_after(count, last_reply):
    """Answers so many requests on each connection, the last one as said, and closes."""

    def script(sock, server):
        for nth in range(count):
            if server.read_request(sock) is None:
                return
            sock.sendall(last_reply if nth == count - 1 else OK_REPLY)

    return script


@pytest.mark.parametrize("mode", ["keep-alive", "new"])
@pytest.mark.parametrize("how", [OPEN, {**OPEN, "model": "over", "over_s": 0.2}])
def test_each_connection_that_arrives_makes_its_calls_and_says_close_in_the_last(mode, how):
    load = {name: each for name, each in how.items() if how is OPEN or name != "rate_per_s"}
    result, server = against(always(OK_REPLY), load=load, plan=calls(4), mode=mode)
    total = result.total
    assert (total.count("ok"), total.errors, server.n_connections) == (80, {}, 20)
    assert sum(b"Connection: close" in request for request in server.requests) == 20
    assert total.timing("lateness").n == total.timing("connect").n == 20
    assert total.count("sessions_started") == 0
    assert is_conserved(result)


def test_where_the_server_says_that_it_ends_the_rest_of_the_calls_is_left_out():
    result, server = against(closing_after(2, LAST_REPLY), load=OPEN, plan=calls(5))
    total = result.total
    assert (total.count("ok"), total.errors, total.count("calls_skipped")) == (40, {}, 60)
    assert server.n_connections == 20
    assert is_conserved(result)


def test_a_connection_that_arrived_is_not_replaced_by_another():
    result, server = against(closing_after(2, OK_REPLY), load=OPEN, plan=calls(5))
    total = result.total
    assert server.n_connections == total.count("connections_opened") == 20
    assert total.count("ok") == 40
    assert total.count("started") + total.count("calls_skipped") == 100
    assert set(total.errors) <= {"eof_before_reply", "reset", "write_error"}


# --- windows -------------------------------------------------------------------------------------
def test_a_connection_of_a_window_makes_its_calls_and_closes():
    result, server = against(always(OK_REPLY), load=window_of(3, 6, 40), plan=calls(3))
    assert (result.total.count("ok"), server.n_connections) == (120, 40)
    assert sum(b"Connection: close" in request for request in server.requests) == 40
    assert is_conserved(result)


def test_what_follows_the_first_reply_is_no_part_of_the_window():
    connections = Connections()
    plan = calls(2, think_time=think(0.3))
    result, _ = against(connections, load=window_of(2, 4, 40), plan=plan)
    # Were the second calls a part of it, ten times four of them would take 3 s.
    assert result.measurement.duration_s < 2.5
    assert (result.total.count("ok"), len(connections.times)) == (80, 40)
    assert is_conserved(result)


@pytest.mark.parametrize(
    ("hold", "seconds"), [({"hold": "keep_s", "hold_s": 0.5}, 0.5), ({"hold": "close"}, 0)]
)
def test_a_held_connection_is_kept_after_its_last_call(hold, seconds):
    closed: list[float] = []

    def script(sock, server):
        last = 0.0
        while server.read_request(sock) is not None:
            last = time.monotonic()
            sock.sendall(OK_REPLY)
        closed.append(time.monotonic() - last)

    with scripted(script) as server:
        result = measure(server.port, load=window_of(2, 4, 8, **hold), plan=calls(3))
        eventually(lambda: len(closed) == 8, 5, "the server has seen the last close")
    assert result.total.count("ok") == 24
    says_close = sum(b"Connection: close" in request for request in server.requests)
    assert says_close == (0 if seconds else 8)
    assert len(closed) == 8
    assert min(closed) >= seconds * 0.98


def test_each_connection_of_a_window_has_its_own_cookies_and_its_row():
    plan = calls(3, cookies=True) | {"variables": {"csv": "id\n" + "\n".join("abcdefghij")}}
    with scripted(counting_visits) as server:
        measure(server.port, path="/${id}", load=window_of(2, 4, 10), plan=plan)
    assert [visits_of(server).count(number) for number in range(3)] == [10] * 3
    paths = sorted(request.split()[1].decode() for request in server.requests)
    assert paths == sorted(f"/{name}" for name in "abcdefghij" for _ in range(3))
