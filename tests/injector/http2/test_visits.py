"""Sessions, windows and single requests over HTTP/2, and how long their replies lay unread."""

import time

import gevent
import pytest

from tests.injector.http2.h2_server import h2_server, ok
from tests.injector.http2.server_frames import SETTINGS
from tests.injector.servers import always, closed, probe_order, scripted
from tests.injector.test_loads import is_conserved
from tests.injector.test_read_delay import block_again_and_again
from tests.injector.visits import measure, sessions_are_conserved
from workers.injector import probe
from workers.injector.order import Order

ARRIVING = {"model": "open", "rate_per_s": 100, "requests": 20}
CONNECTIONS = ARRIVING | {"arrival_unit": "connection"}
SESSIONS = ARRIVING | {"arrival_unit": "session"}
WINDOW = {"model": "window", "low": 3, "high": 6, "requests": 40}


def run(port, load, session=(), streams=1, **fields):
    plan = {"http_version": "2", "streams": streams} | {"session": dict(session)}
    return measure(port, load=load, plan=plan, **fields)


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
    cookies = ["cookie" in request for request in answers.requests]
    assert cookies == [False, True, True, True, True] * 10


HTTP_2 = {"http_version": "2"}


def after_20_ms(headers, body):
    time.sleep(0.02)
    return ok(headers, body)


def is_timed(total):
    whole, without = total.timing("sampled"), total.timing("undelayed")
    assert without.n == whole.n
    return whole.n > 0


def test_a_reply_that_waits_for_a_blocked_event_loop_counts_as_the_injectors_time(server_tls):
    load = {"model": "closed", "connections": 2, "duration_s": 2.5}
    with h2_server(after_20_ms, tls=server_tls) as (server, _):
        blocker = gevent.spawn(block_again_and_again)
        total = measure(server.port, load=load, plan=HTTP_2, scheme="https").total
        blocker.kill()
    whole, without = total.timing("sampled"), total.timing("undelayed")
    assert whole.n == without.n == total.count("ok")
    assert whole.sum_us == total.timing("response").sum_us
    assert (whole.sum_us - without.sum_us) / whole.n > 10_000
    assert without.min_us >= 19_000


@pytest.mark.parametrize("mode", ["keep-alive", "new", "resumed"])
def test_attempts_are_timed_whoever_had_the_connection_before(mode, server_tls):
    load = {"model": "open", "rate_per_s": 50, "requests": 30, "max_in_flight": 20}
    with h2_server(tls=server_tls) as (server, _):
        total = measure(server.port, load=load, plan=HTTP_2, scheme="https", mode=mode).total
    whole, without = total.timing("sampled"), total.timing("undelayed")
    assert (total.count("ok"), without.n) == (30, whole.n)
    assert whole.n > 15  # of a stall's burst not all are timed
    assert without.sum_us <= whole.sum_us


def test_between_several_replies_in_one_read_the_kernel_does_not_tell_the_difference():
    with h2_server() as (server, _):
        several = measure(server.port, load=closed(40), plan=HTTP_2 | {"streams": 2}).total
        one = measure(server.port, load=closed(40), plan=HTTP_2 | {"streams": 1}).total
    assert (is_timed(several), is_timed(one)) == (False, True)


def answer_of(port, scheme="http"):
    order = probe_order(port, scheme=scheme) | {"http_version": "2"}
    order["step"]["headers"] = [["Accept", "text/html"]]
    order["timeouts"] = {"connect_s": 1, "tls_s": 1, "total_s": 2}
    return probe.run(Order.from_json(order))


def page(headers, body):
    return 200, [("server", "h2"), ("content-type", "text/html")], b"<p>" * 10_000


def test_the_reply_is_shown_with_the_protocol_that_was_agreed_on(server_tls):
    with h2_server(page, server_tls) as (server, answers):
        answer = answer_of(server.port, "https")
    assert (answer["status"], answer["error"], answer["body_bytes"]) == (200, None, 30_000)
    assert answer["headers"] == [["server", "h2"], ["content-type", "text/html"]]
    assert answer["snippet"] == ("<p>" * 10_000)[:2048]
    assert answer["tls"]["alpn"] == "h2"
    assert list(answer["parts_us"]) == ["connect", "tls", "send", "wait", "receive"]
    assert sum(answer["parts_us"].values()) == answer["response_us"]
    assert answers.requests[0]["accept"] == "text/html"


def test_a_server_of_http_1_is_named():
    with scripted(always(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) as server:
        answer = answer_of(server.port)
    assert (answer["status"], answer["error"]) == (None, "h2_not_spoken")
    assert "HTTP/1" in answer["detail"]


def test_the_handshake_says_that_the_server_has_no_http_2(server_tls):
    with scripted(always(b"x"), server_tls) as server:
        answer = answer_of(server.port, "https")
    assert answer["error"] == "h2_not_spoken"
    assert answer["detail"] == "in the TLS handshake the server chose no protocol"
    assert answer["certificates_der_b64"]


def test_redirects_are_followed_on_the_streams_of_the_connection():
    def answer(headers, body):
        if headers[":path"] == "/b":
            return ok(headers, body)
        return 302, [("location", "/b"), ("content-length", "0")], b""

    load = {"model": "closed", "connections": 2, "requests": 40}
    plan = {"http_version": "2", "streams": 3, "redirects": "same_origin"}
    with h2_server(answer) as (server, answers):
        result = measure(server.port, load=load, plan=plan, path="/a")
    total = result.total
    assert (total.count("ok"), total.errors, total.statuses) == (40, {}, {"200": 40})
    assert answers.by_path == {"/a": 40, "/b": 40}
    assert (total.count("redirects"), server.n_connections) == (40, 2)
    response = total.timing("response").sum_us
    assert response == total.timing("hop_0").sum_us + total.timing("hop_1").sum_us
    parts = ("redirects", "connect", "send", "wait", "receive")
    assert response == sum(total.timing(part).sum_us for part in parts)


def to_another(server, scheme: str = "http"):
    """Sends /a to /b of this server."""

    def answer(headers, body):
        place = f"{scheme}://127.0.0.1:{server.port}/b"
        return 302, [("location", place), ("content-length", "0")], b""

    return answer


EVERYWHERE = {"http_version": "2", "streams": 3, "redirects": "all"}


def test_redirects_lead_to_other_origins_over_http_2_as_well():
    for mode, n_connections in [("keep-alive", 6), ("new", 40)]:
        load = {"model": "closed", "connections": 2, "requests": 40}
        with h2_server() as (other, there), h2_server(to_another(other)) as (server, _):
            total = measure(server.port, load=load, plan=EVERYWHERE, path="/a", mode=mode).total
        assert (total.count("ok"), total.errors, total.statuses) == (40, {}, {"200": 40})
        assert there.by_path == {"/b": 40}
        assert {request[":authority"] for request in there.requests} == {f"127.0.0.1:{other.port}"}
        # Each worker keeps one of its own, where connections are kept.
        assert other.n_connections <= n_connections
        assert other.n_connections == 40 or mode == "keep-alive"
        response = total.timing("response").sum_us
        assert response == total.timing("hop_0").sum_us + total.timing("hop_1").sum_us


def test_another_origin_agrees_on_http_2_by_itself(server_tls):
    load = {"model": "closed", "connections": 1, "requests": 6}
    with (
        h2_server(tls=server_tls) as (other, there),
        h2_server(to_another(other, "https")) as (server, _),
    ):
        total = measure(server.port, load=load, plan=EVERYWHERE, path="/a", verify_tls=False).total
    assert (total.count("ok"), total.errors, there.by_path["/b"]) == (6, {}, 6)


def test_another_origin_that_speaks_no_http_2_is_named():
    load = {"model": "closed", "connections": 1, "requests": 2}
    with (
        scripted(lambda sock, server: sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as other,
        h2_server(to_another(other)) as (server, _),
    ):
        result = measure(server.port, load=load, plan=EVERYWHERE, path="/a")
    assert result.total.errors == {"h2_not_spoken": 2}
    assert f"after a redirect to http://127.0.0.1:{other.port}" in str(
        result.measurement.failures[0].details
    )


def test_a_single_request_is_led_to_another_origin_over_http_2():
    with h2_server() as (other, there), h2_server(to_another(other)) as (server, _):
        order = probe_order(server.port, path="/a") | EVERYWHERE
        answer = probe.run(Order.from_json(order))
    assert (answer["status"], answer["error"], there.by_path["/b"]) == (200, None, 1)
    assert [each["status"] for each in answer["redirects"]] == [302]
