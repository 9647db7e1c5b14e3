"""Sessions and connections that arrive, windows, and sessions of closed loads, over HTTP/2."""

import time

from tests.injector.http2.h2_server import h2_server, ok
from tests.injector.http2.server_frames import SETTINGS
from tests.injector.servers import closed, scripted
from tests.injector.test_loads import is_conserved
from tests.injector.visits import measure, sessions_are_conserved

ARRIVING = {"model": "open", "rate_per_s": 100, "requests": 20}
CONNECTIONS = ARRIVING | {"arrival_unit": "connection"}
SESSIONS = ARRIVING | {"arrival_unit": "session"}
WINDOW = {"model": "window", "low": 3, "high": 6, "requests": 40}


def run(port, load, session=(), streams=1, **given):
    plan = {"http_version": "2", "streams": streams} | {"session": dict(session)}
    return measure(port, load=load, plan=plan, **given)


def slow(headers, body):
    time.sleep(0.01)
    return ok(headers, body)


def test_the_calls_of_a_burst_share_the_streams_of_a_connection():
    burst = {"calls_per_session": 7, "burst_length": 7}
    with h2_server(together=3) as (server, answers):
        result = run(server.port, SESSIONS, burst, streams=3)
    total = result.total
    assert (total.count("ok"), total.errors, answers.n_requests) == (140, {}, 140)
    assert (server.n_connections, answers.most_at_once) == (20, 3)
    assert total.count("sessions_ok") == 20
    assert total.timing("lateness").n == total.timing("connect").n == 20
    assert is_conserved(result)
    assert sessions_are_conserved(result)


def test_the_first_call_goes_alone_where_the_plan_says_so():
    burst = {"calls_per_session": 5, "burst_length": 5}
    for alone in (True, False):
        with h2_server(slow) as (server, answers):
            run(server.port, SESSIONS | {"requests": 4}, burst | {"first_call_alone": alone}, 5)
        assert answers.n_requests == 20
        # Those behind the first wait for the settings of the server, not for its reply. The server
        # may read the first of those that go together before the others are written.
        assert answers.most_at_once in ({3, 4} if alone else {4, 5})


def test_a_server_that_allows_one_stream_gets_one_call_at_a_time():
    burst = {"calls_per_session": 6, "burst_length": 6}
    with h2_server(most_streams=1) as (server, answers):
        result = run(server.port, SESSIONS, burst, streams=4)
    assert (result.total.count("ok"), result.total.errors) == (120, {})
    assert (server.n_connections, answers.most_at_once) == (20, 1)


def test_a_session_goes_on_where_its_connection_ends():
    calls = {"calls_per_session": 10, "burst_length": 5}
    with h2_server(requests_per_connection=3) as (server, _):
        result = run(server.port, SESSIONS, calls, streams=4)
    assert (result.total.count("ok"), result.total.errors) == (200, {})
    assert result.total.count("sessions_ok") == 20
    assert server.n_connections == result.total.count("connections_opened") >= 60


def test_calls_that_wait_for_a_connection_that_fails_fail_with_it():
    def leaves(sock, server):
        sock.recv(65536)

    session = {"calls_per_connection": 4, "burst_length": 4, "first_call_alone": False}
    with scripted(leaves) as server:
        result = run(server.port, CONNECTIONS, session, streams=4)
    total = result.total
    assert server.n_connections == 20
    assert set(total.errors) <= {"eof_before_reply", "reset"}
    assert total.count("failed") + total.count("calls_skipped") == 80
    assert is_conserved(result)


def test_a_window_counts_a_stream_that_the_server_leaves_out_as_a_failure():
    def says_goodbye(sock, server):
        sock.recv(65536)
        sock.sendall(SETTINGS + b"\x00\x00\x08\x07" + bytes(13))

    with scripted(says_goodbye) as server:
        result = run(server.port, WINDOW)
    assert result.total.errors == {"h2_goaway": 40}
    assert server.n_connections == 40


def test_a_session_of_a_closed_load_ends_with_its_connection_and_cookies():
    def login(headers, body):
        return 200, [("set-cookie", "id=7")], b"ok"

    session = {"calls_per_session": 5, "cookies": True}
    with h2_server(login) as (server, answers):
        result = run(server.port, closed(50, 1), session)
    assert (result.total.count("ok"), server.n_connections) == (50, 10)
    assert result.total.count("sessions_ok") == 10
    cookies = ["cookie" in asked for asked in answers.seen]
    assert cookies == [False, True, True, True, True] * 10
