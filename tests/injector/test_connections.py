"""Connections: opened, kept, closed under our hands, refused, and never opened where forbidden."""

import errno
import resource
import socket

import pytest

from campaigns.domain.metrics.outcomes import Kind
from tests.injector.servers import (
    OK_REPLY,
    LateReader,
    against,
    always,
    closed,
    measure,
    reset,
    scripted,
    tally,
)
from tests.waiting import eventually
from workers.injector import connection
from workers.injector.order import Refusal
from workers.injector.preflight import raise_descriptor_limit

SHORT = {"connect_s": 0.5, "tls_s": 0.5, "total_s": 0.5}


def test_the_longest_burst_is_of_connections_that_were_begun_together():
    for connections in [1, 8]:
        result, _ = against(always(OK_REPLY), load=closed(40, connections))
        assert result.ends[0].connect_burst == connections


def test_the_most_connections_at_once_are_those_of_the_load():
    for mode in ["new", "keep-alive"]:
        for connections in [1, 8]:
            with scripted(always(OK_REPLY)) as server:
                (end,) = measure(server.port, mode=mode, load=closed(200, connections)).ends
            assert 1 <= end.connections_at_once <= connections
            if mode == "keep-alive":
                assert end.connections_at_once == connections


def test_cpu_time_is_told_apart_and_its_parts_add_up():
    with scripted(always(OK_REPLY)) as server:
        (end,) = measure(server.port, mode="new", load=closed(500)).ends
    assert 0 < end.cpu_user_us < end.cpu_us


def one_reply_each(sock, server):
    """Keep the connection as far as the reply says, and close it all the same, at once with it."""
    server.read_request(sock)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    sock.sendall(OK_REPLY)


def one_reply_then_reset(sock, server):
    server.read_request(sock)
    sock.sendall(OK_REPLY)
    server.read_request(sock)
    reset(sock)


def one_reply_then_close(sock, server):
    server.read_request(sock)
    sock.sendall(OK_REPLY)
    server.read_request(sock)


def test_a_request_that_met_a_closed_connection_is_replayed_and_counted():
    for load in [closed(5), {"model": "sequential", "requests": 5}]:
        total, server = tally(one_reply_each, load=load)
        assert (total.count("ok"), total.errors, total.count("replayed")) == (5, {}, 4)
        assert (total.count("started"), server.n_requests, server.n_connections) == (5, 5, 5)


def test_a_request_that_reached_the_server_and_got_no_reply_has_failed():
    for script, kind in [
        (one_reply_then_reset, Kind.RESET),
        (one_reply_then_close, Kind.EOF_BEFORE_REPLY),
    ]:
        total, server = tally(script, load=closed(6))
        assert (total.count("ok"), total.errors, total.count("replayed")) == (3, {kind: 3}, 0)
        assert server.n_requests == 6


def test_a_server_never_reads_a_post_twice():
    """One that reached it has failed; one that met a connection which it had closed goes again."""
    for script, ok in [(one_reply_then_reset, 2), (one_reply_each, 4)]:
        total, server = tally(script, method="POST", body="once", load=closed(4))
        assert (total.count("ok"), total.count("failed")) == (ok, 4 - ok)
        assert server.n_requests == total.count("started") == 4


def test_a_replayed_request_that_fails_has_failed():
    def close_all_but_the_first(sock, server):
        if server.n_connections == 1:
            one_reply_each(sock, server)
        else:
            server.read_request(sock)

    total, server = tally(close_all_but_the_first, load=closed(2))
    assert (total.count("ok"), total.errors) == (1, {Kind.EOF_BEFORE_REPLY: 1})
    assert (total.count("replayed"), server.n_connections) == (1, 2)


def test_a_full_backlog_ends_at_the_connect_limit():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        holders = [socket.socket() for _ in range(4)]
        for holder in holders:
            holder.setblocking(False)
            holder.connect_ex(("127.0.0.1", port))
        limits = {"connect_s": 0.3, "tls_s": 0.3, "total_s": 5}
        total = measure(port, timeouts=limits).total
        for holder in holders:
            holder.close()
    assert total.errors == {Kind.CONNECT_TIMEOUT: 1}
    assert total.count("socket_timeouts") == 0
    assert 0.3 <= total.timing("failed").max_us / 1e6 < 0.8


@pytest.mark.parametrize("takes_bytes", [None, 7, 0])
def test_a_new_connections_request_arrives_once_whatever_it_takes_at_first(
    monkeypatch, takes_bytes
):
    """0: the connection is not open yet. None: it takes all."""
    first = []

    def take_little(sock, data):
        if first:
            return super(connection.Socket, sock).send(data)
        first.append(len(data))
        if not takes_bytes:
            raise BlockingIOError
        return super(connection.Socket, sock).send(data[:takes_bytes])

    if takes_bytes is not None:
        monkeypatch.setattr(connection.Socket, "send", take_little, raising=False)
    fields = {"method": "POST", "body": "x" * 1000}
    total, server = tally(always(OK_REPLY), mode="new", load=closed(1), **fields)
    assert total.count("ok") == 1
    (request,) = server.requests
    assert request.startswith(b"POST / HTTP/1.1\r\n")
    assert request.endswith(b"\r\n\r\n" + b"x" * 1000)
    assert first == ([] if takes_bytes is None else [len(request)])


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (errno.ECONNREFUSED, Kind.CONNECT_REFUSED),
        (errno.EHOSTUNREACH, Kind.CONNECT_UNREACHABLE),
        (errno.ETIMEDOUT, Kind.CONNECT_TIMEOUT),
        (errno.ECONNRESET, Kind.RESET),
        (errno.ECONNABORTED, Kind.RESET),
        (errno.EPIPE, Kind.RESET),
    ],
)
def test_what_the_first_write_says_of_the_connection_is_the_attempts_kind(monkeypatch, code, kind):
    def refuse(*_):
        raise OSError(code, "said at the first write")

    monkeypatch.setattr(connection.Socket, "send", refuse, raising=False)
    total, _ = tally(always(OK_REPLY), mode="new", load=closed(1))
    assert total.errors == {kind: 1}
    assert total.count("connections_opened") == 0


@pytest.mark.parametrize("calls", [("connect_ex",), ("recv", "recvmsg")])
def test_what_tcp_gives_up_is_told_from_what_ends_at_our_limit(monkeypatch, calls):
    def give_up(*_):
        if "connect_ex" in calls:
            return errno.ETIMEDOUT
        raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")

    for call in calls:
        monkeypatch.setattr(connection.Socket, call, give_up, raising=False)
    total, _ = tally(always(OK_REPLY), load=closed(3))
    assert total.errors == {Kind.CONNECT_TIMEOUT: 3}
    assert total.count("socket_timeouts") == 3


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_what_a_server_had_not_taken_at_the_limit_is_not_sent_later(scheme, server_tls):
    late = LateReader()
    body = {"method": "POST", "body": "x" * 2**20, "timeouts": SHORT, "scheme": scheme}
    tls = server_tls if scheme == "https" else None
    with scripted(late.script, tls) as server:
        result = measure(server.port, **body)
        assert late.how_it_ended() is ConnectionResetError
    assert result.total.count("failed") == 1


def test_a_request_that_arrived_ends_without_a_reset():
    ends = []

    def script(sock, server):
        server.read_request(sock)
        ends.append(sock.recv(1))

    with scripted(script) as server:
        result = measure(server.port, timeouts=SHORT)
        eventually(lambda: ends, 10, "the client has closed")
    assert result.total.errors == {Kind.FIRST_BYTE_TIMEOUT: 1}
    assert ends == [b""]


def test_another_spelling_of_an_address_is_the_same_address():
    for host in ["127.1", "2130706433", "0x7f000001", "::ffff:127.0.0.1"]:
        with scripted(always(OK_REPLY)) as canary, pytest.raises(Refusal):
            measure(canary.port, host=host, allow=["10.0.0.0/8"])
        assert canary.n_connections == 0


def test_a_name_of_two_addresses_uses_the_one_that_answers(monkeypatch):
    monkeypatch.setattr(
        "workers.injector.engine.resolve", lambda host, port: ["127.0.0.2", "127.0.0.1"]
    )
    result, server = against(always(OK_REPLY), host="two.example", mode="new", load=closed(10))
    assert result.total.count("ok") == 10
    assert result.ends[0].peers == {f"127.0.0.1:{server.port}": 10}


def test_an_open_load_makes_do_with_the_connections_that_it_can_have(monkeypatch):
    monkeypatch.setattr("workers.injector.preflight.raise_descriptor_limit", lambda: 66)
    with scripted(always(OK_REPLY)) as server:
        total = measure(server.port, load={"model": "over", "requests": 50, "over_s": 0.1}).total
    assert total.count("ok") == 50
    assert server.n_connections <= 2


def test_the_limit_of_open_files_is_raised_as_far_as_it_goes():
    limit = raise_descriptor_limit()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] in {limit, resource.RLIM_INFINITY}
