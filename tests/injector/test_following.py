"""A closed load on kept connections: the hub makes the usual attempts, the worker all others."""

import time

import pytest

from campaigns.domain.measured.outcomes import Kind
from tests.injector.servers import OK_REPLY, always, closed, measure, measured, scripted
from workers.injector import connection
from workers.injector.attempt import Worker

LONGER_REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + bytes(3000)
REFUSAL = b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"


@pytest.fixture
def attempts(monkeypatch):
    """The attempts that workers make themselves."""
    made, attempt = [], Worker.attempt

    def counted(self, request, intended, start):
        made.append(start)
        return attempt(self, request, intended, start)

    monkeypatch.setattr(Worker, "attempt", counted)
    return made


def each_third(reply):
    """The usual reply, but to each third request of a connection this one."""

    def script(sock, server):
        nth = 0
        while server.read_request(sock) is not None:
            nth += 1
            sock.sendall(OK_REPLY if nth % 3 else reply)

    return script


def test_only_the_first_attempt_of_each_connection_needs_its_worker(attempts):
    total, server = measured(always(OK_REPLY), load=closed(400, 4))
    assert (total.count("ok"), total.count("started"), server.n_requests) == (400, 400, 400)
    # And one more where another worker had taken what the first reply of this one taught.
    assert len(attempts) <= 8
    assert total.timing("wait").n == total.timing("send").n == 400


def test_attempts_in_the_hub_have_times_that_follow_each_other():
    def slow(sock, server):
        while server.read_request(sock) is not None:
            time.sleep(0.02)  # the server's slowness
            sock.sendall(OK_REPLY)

    total, _ = measured(slow, load=closed(10))
    assert total.timing("response").percentile_us(1_000) >= 20_000
    # A server may begin before its client knows that all was sent.
    assert total.timing("wait").percentile_us(1_000) >= 10_000
    assert total.timing("lateness").n == 0


@pytest.mark.parametrize("reply", [LONGER_REPLY, OK_REPLY[:-2] + b"no"])
def test_a_reply_unlike_the_one_before_is_as_good(reply):
    total, server = measured(each_third(reply), load=closed(90))
    assert (total.count("ok"), total.errors, server.n_connections) == (90, {}, 1)
    assert total.count("bytes_received") == 60 * len(OK_REPLY) + 30 * len(reply)


def test_a_reply_in_pieces_is_read_to_its_end():
    def dripping(sock, server):
        nth = 0
        while server.read_request(sock) is not None:
            nth += 1
            if nth % 3:
                sock.sendall(OK_REPLY)
                continue
            for at in range(0, len(OK_REPLY), 16):
                sock.sendall(OK_REPLY[at : at + 16])
                time.sleep(0.002)

    total, server = measured(dripping, load=closed(30))
    assert (total.count("ok"), total.errors, server.n_connections) == (30, {}, 1)
    assert total.count("bytes_received") == 30 * len(OK_REPLY)


def test_a_status_that_is_not_expected_fails_and_the_load_goes_on():
    total, server = measured(each_third(REFUSAL), load=closed(90))
    assert (total.count("ok"), total.errors) == (60, {Kind.STATUS_UNEXPECTED: 30})
    assert server.n_connections == 1


def test_a_byte_too_many_fails_the_attempt_and_its_connection():
    total, server = measured(each_third(OK_REPLY + b"!"), load=closed(30))
    assert total.errors == {Kind.HTTP_PARSE: 10}
    assert (total.count("ok"), server.n_connections) == (20, 10)


@pytest.mark.parametrize("at_first", [20, 0])
def test_a_request_that_does_not_fit_into_the_socket_is_sent_whole(monkeypatch, at_first):
    class Narrow(connection.Socket):
        __slots__ = ("is_open",)

        def send(self, data):
            """All of what an earlier call left, at the first call only a part, or nothing; but
            something of the first request, or the connection would not count as open."""
            if isinstance(data, memoryview):
                return super().send(data)
            if not at_first and hasattr(self, "is_open"):
                raise BlockingIOError
            self.is_open = True
            return super().send(data[: at_first or None])

    monkeypatch.setattr(connection, "Socket", Narrow)
    total, server = measured(always(OK_REPLY), method="POST", body="all of it", load=closed(20, 2))
    assert (total.count("ok"), total.errors, server.n_connections) == (20, {}, 2)
    assert all(request.endswith(b"all of it") for request in server.requests)
    assert total.count("bytes_sent") == sum(map(len, server.requests))


def test_the_steps_of_a_plan_take_turns_in_the_hub(attempts):
    steps = [{"method": "GET", "path": path, "body": ""} for path in ("/a", "/b", "/c")]
    with scripted(always(OK_REPLY)) as server:
        measure(server.port, steps=steps, load=closed(90))
    asked = [request.split()[1] for request in server.requests]
    assert asked == [b"/a", b"/b", b"/c"] * 30
    assert len(attempts) <= 4


def test_tls_is_no_exception(server_tls, attempts):
    total, server = measured(always(OK_REPLY), server_tls, scheme="https", load=closed(200, 2))
    assert (total.count("ok"), total.errors, server.n_connections) == (200, {}, 2)
    assert len(attempts) <= 4
