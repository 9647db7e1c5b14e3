"""What a simulated user does on the wire: calls, pauses, cookies, credentials."""

import base64
import socket
import time
from itertools import pairwise

import pytest

from tests.injector.servers import (
    OK_REPLY,
    against,
    always,
    closed,
    make_order,
    measure,
    scripted,
    tally,
)
from tests.injector.test_loads import Arrivals
from workers.injector.order import Order, Refusal

SEQUENTIAL = {"model": "sequential", "requests": 6}


def session(**fields):
    return {"session": fields}


def test_a_cookie_that_is_too_large_to_keep_has_a_note():
    large, fits = b"id=" + b"x" * 4094, b"id2=" + b"x" * 4092
    lines = b"".join(b"Set-Cookie: %s; Path=/\r\n" % each for each in (large, fits))
    reply = OK_REPLY.replace(b" 200 OK\r\n", b" 200 OK\r\n" + lines)
    result, server = against(always(reply), load=closed(2), plan=session(cookies=True))
    assert server.requests[1].endswith(b"\r\nCookie: " + fits + b"\r\n\r\n")
    notes = [note.text for note in result.judgement.notes]
    assert "2 cookies over 4,096 bytes were not sent back." in notes


def test_a_connection_ends_after_its_calls_and_says_so_in_the_last():
    total, server = tally(always(OK_REPLY), load=closed(7), plan=session(calls_per_connection=3))
    assert (total.count("ok"), server.n_connections) == (7, 3)
    says_close = [b"Connection: close" in request for request in server.requests]
    assert says_close == [False, False, True, False, False, True, False]
    assert total.timing("connect").n == 3
    assert total.count("bytes_sent") == sum(map(len, server.requests))


def test_calls_are_counted_anew_where_the_server_closed_meanwhile():
    def two_replies_each(sock, server):
        server.read_request(sock)
        sock.sendall(OK_REPLY)
        server.read_request(sock)
        # The connection's end leaves with the second reply.
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        sock.sendall(OK_REPLY)

    total, _ = tally(two_replies_each, load=closed(6), plan=session(calls_per_connection=3))
    assert (total.count("ok"), total.errors) == (6, {})


def test_think_time_lies_between_requests_and_in_no_measured_time():
    for think in [
        {"kind": "constant", "mean_s": 0.1},
        {"kind": "uniform", "min_s": 0.1, "max_s": 0.11},
    ]:
        arrivals = Arrivals()
        total, server = tally(arrivals, load=SEQUENTIAL, plan=session(think_time=think))
        gaps = [after - before for before, after in pairwise(arrivals.times)]
        assert len(gaps) == 5
        assert all(gap >= 0.099 for gap in gaps)
        assert total.timing("response").percentile_us(50_000) < 50_000
        assert server.n_connections == 1


def test_think_time_lies_between_bursts_where_there_are_any():
    arrivals = Arrivals()
    think = {"kind": "constant", "mean_s": 0.2}
    against(arrivals, load=SEQUENTIAL, plan=session(think_time=think, burst_length=3))
    gaps = [after - before for before, after in pairwise(arrivals.times)]
    assert [gap > 0.15 for gap in gaps] == [False, False, True, False, False]


def test_a_run_ends_on_time_though_its_users_think_longer():
    load = {"model": "closed", "connections": 3, "duration_s": 0.4}
    with scripted(always(OK_REPLY)) as server:
        began = time.monotonic()
        plan = session(think_time={"kind": "constant", "mean_s": 30})
        total = measure(server.port, load=load, plan=plan).total
    assert time.monotonic() - began < 2
    assert total.count("ok") == 3


def test_a_warm_up_of_thinkers_takes_nothing_from_the_measured_requests():
    plan = session(think_time={"kind": "constant", "mean_s": 0.3})
    result, _ = against(always(OK_REPLY), load=closed(4, 2), plan=plan, warm_up_s=1)
    assert result.total.count("ok") == 4


def test_a_server_that_closes_while_the_user_thinks_is_nobodys_failure():
    def one_reply_each(sock, server):
        server.read_request(sock)
        sock.sendall(OK_REPLY)

    plan = session(think_time={"kind": "constant", "mean_s": 0.05})
    total, server = tally(one_reply_each, load=SEQUENTIAL, plan=plan)
    assert (total.count("ok"), total.errors, server.n_connections) == (6, {}, 6)


def counting_visits(sock, server):
    """A cookie that counts: each reply sets what the next request has to bring."""
    while (request := server.read_request(sock)) is not None:
        cookie = next((x for x in request.split(b"\r\n") if x.startswith(b"Cookie: ")), b"")
        visits = int(cookie.rpartition(b"visits=")[2].split(b";")[0] or 0) + 1
        head = b"HTTP/1.1 200 OK\r\nSet-Cookie: visits=%d; Path=/\r\n" % visits
        sock.sendall(head + b"Content-Length: 2\r\n\r\nok")


def visits_of(server) -> list[int]:
    return [
        int(request.rpartition(b"visits=")[2].split(b"\r\n")[0]) if b"visits=" in request else 0
        for request in server.requests
    ]


def test_each_session_has_its_own_cookies_and_bytes_are_counted_as_sent():
    total, server = tally(counting_visits, load=closed(20, 2), plan=session(cookies=True))
    assert total.count("bytes_sent") == sum(map(len, server.requests))
    counts = visits_of(server)
    assert counts.count(0) == 2
    assert all(counts.count(visits) <= 2 for visits in counts)


def test_a_new_session_begins_without_cookies_on_a_new_connection():
    with scripted(counting_visits) as server:
        plan = session(cookies=True, calls_per_session=3)
        measure(server.port, load=closed(7), plan=plan)
    assert visits_of(server) == [0, 1, 2, 0, 1, 2, 0]
    assert server.n_connections == 3


def test_each_session_goes_through_the_steps_in_order():
    steps = [{"path": f"/{name}"} for name in "abc"]
    with scripted(always(OK_REPLY)) as server:
        plan = session(calls_per_session=3)
        measure(server.port, steps=steps, load=closed(7), plan=plan)
    paths = [request.split()[1].decode() for request in server.requests]
    assert paths == ["/a", "/b", "/c", "/a", "/b", "/c", "/a"]
    assert server.n_connections == 3


def test_credentials_are_sent_with_every_request():
    for auth, header in [
        (
            {"kind": "basic", "user": "ann"},
            b"Authorization: Basic " + base64.b64encode("ann:pässword".encode()),
        ),
        ({"kind": "bearer"}, b"Authorization: Bearer abc.def"),
    ]:
        secret = "pässword" if auth["kind"] == "basic" else "abc.def"
        with scripted(always(OK_REPLY)) as server:
            measure(server.port, load=closed(3), plan={"auth": auth}, secrets={"auth": secret})
        assert all(header in request for request in server.requests)


def test_credentials_without_a_secret_are_refused_before_anything_is_sent():
    with scripted(always(OK_REPLY)) as server, pytest.raises(Refusal, match="no secret is stored"):
        measure(server.port, plan={"auth": {"kind": "bearer"}})
    assert server.n_connections == 0


def test_a_token_that_would_split_the_header_is_refused():
    with pytest.raises(Refusal, match="printable ASCII"):
        measure(9, plan={"auth": {"kind": "bearer"}}, secrets={"auth": "a\r\nX-Evil: 1"})


def test_an_order_does_not_show_its_secret():
    plan = {"auth": {"kind": "bearer"}}
    order = Order.from_json(make_order(9, plan=plan, secrets={"auth": "hidden-token"}))
    assert order.secret == "hidden-token"
    assert "hidden-token" not in repr(order)


@pytest.mark.parametrize("fields", [{}, {"pipeline_depth": 2, "burst_length": 3}])
def test_sessions_of_a_closed_load_are_counted_and_timed(fields):
    def answering(sock, server):
        data = b""
        while more := sock.recv(65536):
            data += more
            sock.sendall(OK_REPLY * data.count(b"\r\n\r\n"))
            data = data.rpartition(b"\r\n\r\n")[2]

    with scripted(answering) as server:
        result = measure(
            server.port, load=closed(20, 2), plan=session(calls_per_session=3, **fields)
        )
    total, end = result.total, result.ends[0]
    assert (total.count("ok"), total.errors) == (20, {})
    assert (
        total.count("sessions_ok") == total.count("session_length_3") == total.timing("session").n
    )
    # Twenty requests are six sessions of three, and what the two users had begun beyond.
    assert total.count("sessions_ok") in {5, 6}
    assert total.count("sessions_started") == total.count("sessions_ok") + end.sessions_in_flight


def test_a_failure_does_not_end_the_session_of_a_closed_load_but_is_counted():
    def failing_second(sock, server):
        while (request := server.read_request(sock)) is not None:
            sock.sendall(OK_REPLY.replace(b"200", b"500") if b"/b" in request else OK_REPLY)

    steps = [{"path": f"/{name}"} for name in "abc"]
    plan = session(calls_per_session=3)
    total, _ = tally(failing_second, steps=steps, load=closed(6), plan=plan)
    assert (total.count("sessions_failed"), total.count("session_length_2")) == (2, 2)
    assert (total.count("failed"), total.count("calls_skipped")) == (2, 0)
    assert total.timing("session_failed").n == 2


def test_users_without_an_end_are_no_sessions():
    result, _ = against(always(OK_REPLY), load=closed(6, 2), plan=session(cookies=True))
    assert result.total.count("sessions_started") == 0
    assert "sessions" not in result.to_json()
