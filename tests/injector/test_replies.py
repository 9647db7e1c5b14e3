"""What ends a reply, what makes it malformed, who reads it, and what is kept of failed ones."""

import json
import socket
import time

import pytest

from campaigns.domain.metrics.outcomes import Kind
from tests.injector.servers import OK_REPLY, against, always, closed, measure, scripted, tally
from workers.injector import connection
from workers.injector.attempt import Worker

HEAD = b"HTTP/1.1 200 OK\r\n"
SHORT = {"connect_s": 0.3, "tls_s": 0.3}
GOOD = {
    "length": HEAD + b"Content-Length: 5\r\n\r\nhello",
    "no body": HEAD + b"Content-Length: 0\r\n\r\n",
    "chunks": HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\nabc\r\n0\r\n\r\n",
    "trailers": HEAD + b"Transfer-Encoding: Chunked\r\n\r\n1\r\nx\r\n0\r\nDigest: a\r\n\r\n",
    "a long trailer": HEAD
    + b"Transfer-Encoding: chunked\r\n\r\n0\r\nServer-Timing: "
    + b"db;dur=9, " * 400
    + b"\r\n\r\n",
    "interim replies": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
    + OK_REPLY,
    "204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "304 with a length": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",
}


def test_it_reads_a_reply():
    for byte_by_byte in [False, True]:
        for name in GOOD:
            pieces = [bytes([byte]) for byte in GOOD[name]] if byte_by_byte else [GOOD[name]]
            total, _ = tally(always(*pieces), load=closed(3))
            assert (total.count("ok"), total.errors) == (3, {})
            assert total.count("connections_opened") == 1
            assert total.count("bytes_received") == 3 * len(GOOD[name])
            parts = (total.count(f"{part}_received") for part in ("head", "body", "framing"))
            assert sum(parts) == total.count("bytes_received")


def test_head_body_and_framing_are_counted_apart():
    for name, body, framing in [
        ("length", b"hello", b""),
        ("chunks", b"helloabc", b"5\r\n\r\n3;x=y\r\n\r\n0\r\n\r\n"),
        ("trailers", b"x", b"1\r\n\r\n0\r\nDigest: a\r\n\r\n"),
        ("interim replies", b"ok", b""),
    ]:
        total, _ = tally(always(GOOD[name]), load=closed(5))
        head = len(GOOD[name]) - len(body) - len(framing)
        assert total.count("head_received") == 5 * head, "interim heads included"
        assert total.count("body_received") == 5 * len(body)
        assert total.count("framing_received") == 5 * len(framing)
        assert total.count("body_squares") == 5 * len(body) ** 2


def test_a_reply_to_head_has_no_body():
    with scripted(always(HEAD + b"Content-Length: 500\r\n\r\n")) as server:
        total = measure(server.port, method="HEAD", load=closed(3)).total
    assert (total.count("ok"), total.count("connections_opened")) == (3, 1)


def test_a_connection_is_not_used_again_where_the_server_will_close_it():
    for head in [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: X-A ,\tClose\t\r\n",
        b"HTTP/1.0 200 OK\r\n",
    ]:
        total, server = tally(always(head + b"Content-Length: 2\r\n\r\nok"), load=closed(3))
        assert (total.count("ok"), server.n_connections) == (3, 3)


def test_an_old_server_may_keep_the_connection_if_it_says_so():
    reply = b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 2\r\n\r\nok"
    with scripted(always(reply)) as server:
        assert measure(server.port, load=closed(3)).total.count("ok") == 3
    assert server.n_connections == 1


def test_an_interim_reply_is_never_taken_for_the_final_one_of_the_same_size():
    interim, final = b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 204 No Stuff\r\n\r\n"
    assert len(interim) == len(final)

    def script(sock, server):
        server.read_request(sock)
        sock.sendall(interim + final)
        server.read_request(sock)
        sock.sendall(interim)
        server.read_request(sock)

    total, _ = tally(script, load=closed(2), timeouts={"total_s": 0.3, **SHORT})
    assert (total.count("ok"), total.errors) == (1, {"body_timeout": 1})


def test_a_large_body_comes_in_many_pieces():
    body = b"x" * 3_000_000
    reply = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    total, _ = tally(always(reply), load=closed(2))
    assert (total.count("ok"), total.count("bytes_received")) == (2, 2 * len(reply))


def test_a_large_request_is_written_in_many_pieces():
    total, server = tally(always(OK_REPLY), method="POST", body="x" * 1_000_000, load=closed(2))
    assert total.count("ok") == 2
    assert server.requests[1].endswith(b"x" * 1000)
    assert total.count("bytes_sent") == sum(map(len, server.requests))


# --- HTTP/1.0 ------------------------------------------------------------------------------------
HTTP_1_0 = {"http_version": "1.0"}
LENGTH = b"Content-Length: 2\r\n\r\nok"


def test_a_connection_is_kept_only_where_both_sides_say_so():
    for reply, n_connections in [
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + LENGTH, 1),
        (b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n" + LENGTH, 1),
        (b"HTTP/1.1 200 OK\r\n" + LENGTH, 3),
        (b"HTTP/1.0 200 OK\r\n" + LENGTH, 3),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + LENGTH, 3),
    ]:
        total, server = tally(always(reply), load=closed(3), plan=HTTP_1_0)
        assert (total.count("ok"), server.n_connections) == (3, n_connections)
        assert all(b" HTTP/1.0\r\n" in request for request in server.requests)
        assert all(b"\r\nConnection: keep-alive\r\n" in request for request in server.requests)


def test_a_connection_used_once_needs_no_word_for_it():
    script = always(b"HTTP/1.0 200 OK\r\n\r\nuntil the end", then_close=True)
    total, server = tally(script, mode="new", load=closed(3), plan=HTTP_1_0)
    assert (total.count("ok"), server.n_connections) == (3, 3)
    assert not any(b"Connection:" in request for request in server.requests)


LONGER_REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n" + bytes(3000)
REFUSAL = b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"


@pytest.fixture
def attempts(monkeypatch):
    """The attempts that workers make themselves."""
    starts, attempt = [], Worker.attempt

    def count(self, request, due, start):
        starts.append(start)
        return attempt(self, request, due, start)

    monkeypatch.setattr(Worker, "attempt", count)
    return starts


def each_third(reply):
    """The usual reply, but to each third request of a connection this one."""

    def script(sock, server):
        nth = 0
        while server.read_request(sock) is not None:
            nth += 1
            sock.sendall(OK_REPLY if nth % 3 else reply)

    return script


def test_only_the_first_attempt_of_each_connection_needs_its_worker(attempts):
    total, server = tally(always(OK_REPLY), load=closed(400, 4))
    assert (total.count("ok"), total.count("started"), server.n_requests) == (400, 400, 400)
    # And one more where another worker had taken what the first reply of this one taught.
    assert len(attempts) <= 8
    assert total.timing("wait").n == total.timing("send").n == 400


def test_attempts_in_the_hub_have_times_that_follow_each_other():
    def slow(sock, server):
        while server.read_request(sock) is not None:
            time.sleep(0.02)  # the server's slowness
            sock.sendall(OK_REPLY)

    total, _ = tally(slow, load=closed(10))
    assert total.timing("response").percentile_us(1_000) >= 20_000
    # A server may begin before its client knows that all was sent.
    assert total.timing("wait").percentile_us(1_000) >= 10_000
    assert total.timing("lateness").n == 0


def test_a_reply_unlike_the_one_before_is_as_good():
    for reply in [LONGER_REPLY, OK_REPLY[:-2] + b"no"]:
        total, server = tally(each_third(reply), load=closed(90))
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

    total, server = tally(dripping, load=closed(30))
    assert (total.count("ok"), total.errors, server.n_connections) == (30, {}, 1)
    assert total.count("bytes_received") == 30 * len(OK_REPLY)


def test_a_status_that_is_not_expected_fails_and_the_load_goes_on():
    total, server = tally(each_third(REFUSAL), load=closed(90))
    assert (total.count("ok"), total.errors) == (60, {Kind.STATUS_UNEXPECTED: 30})
    assert server.n_connections == 1


def test_a_byte_too_many_fails_the_attempt_and_its_connection():
    total, server = tally(each_third(OK_REPLY + b"!"), load=closed(30))
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
    total, server = tally(always(OK_REPLY), method="POST", body="all of it", load=closed(20, 2))
    assert (total.count("ok"), total.errors, server.n_connections) == (20, {}, 2)
    assert all(request.endswith(b"all of it") for request in server.requests)
    assert total.count("bytes_sent") == sum(map(len, server.requests))


def test_the_steps_of_a_plan_take_turns_in_the_hub(attempts):
    steps = [{"method": "GET", "path": path, "body": ""} for path in ("/a", "/b", "/c")]
    with scripted(always(OK_REPLY)) as server:
        measure(server.port, steps=steps, load=closed(90))
    paths = [request.split()[1] for request in server.requests]
    assert paths == [b"/a", b"/b", b"/c"] * 30
    assert len(attempts) <= 4


def test_tls_is_no_exception(server_tls, attempts):
    total, server = tally(always(OK_REPLY), server_tls, scheme="https", load=closed(200, 2))
    assert (total.count("ok"), total.errors, server.n_connections) == (200, {}, 2)
    assert len(attempts) <= 4


NOT_FOUND = (
    b"HTTP/1.1 404 Not Found\r\nServer: shop\r\nSet-Cookie: session=s3cr3t-cookie; Path=/\r\n"
    b"Content-Length: %d\r\n\r\n%s"
)


def not_found(body: bytes) -> bytes:
    return NOT_FOUND % (len(body), body)


def examples_of(result) -> list[dict]:
    return [each for second in result.seconds for each in second.examples]


def test_a_failed_request_is_kept_with_its_reply():
    result, _ = against(always(not_found(b'{"see": "/v3/"}')), load=closed(50))
    (example,) = examples_of(result)
    assert (example["kind"], example["status"]) == ("status_unexpected", 404)
    assert example["request"].startswith("GET / HTTP/1.1\nHost: 127.0.0.1:")
    assert example["reply"] == (
        "404 Not Found\nServer: shop\nSet-Cookie: session=[hidden]; Path=/\n"
        'Content-Length: 15\n\n{"see": "/v3/"}'
    )
    assert example["body_bytes"] == 15
    assert 0 <= example["at_us"] < 10_000_000


def test_a_server_that_refuses_is_named_without_a_reply():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        result = measure(unused.getsockname()[1], load=closed(3))
    (example,) = examples_of(result)
    assert (example["kind"], example["status"], example["reply"]) == ("connect_refused", 0, "")


def test_neither_the_plans_secret_nor_its_echo_is_kept():
    body = b'you are bearer-of-the-token, {"access_token": "abcdef"} eyJhbGciOiJ.eyJzdWI.c2ln'
    with scripted(always(not_found(body))) as server:
        result = measure(
            server.port,
            load=closed(2),
            plan={"auth": {"kind": "bearer"}},
            secrets={"auth": "bearer-of-the-token"},
        )
    (example,) = examples_of(result)
    text = json.dumps(example)
    assert "bearer-of-the-token" not in text
    assert "abcdef" not in text
    assert "eyJ" not in text
    assert "Authorization: [hidden]" in example["request"]


def test_values_of_variables_are_in_neither_the_request_nor_the_reply():
    with scripted(always(not_found(b"no user Frieda, no pin 7311"))) as server:
        result = measure(
            server.port,
            load=closed(2),
            plan={
                "steps": [{"method": "GET", "path": "/u/${name}?pin=${pin}"}],
                "variables": {"csv": "name,pin\nFrieda,7311\n"},
            },
        )
    (example,) = examples_of(result)
    assert example["request"].startswith("GET /u/${name}?pin=${pin} HTTP/1.1")
    assert example["reply"].endswith("no user [hidden], no pin [hidden]")


def test_hostile_bodies_are_kept_as_text_that_can_be_stored():
    for body, text in [
        (b"<script>alert(1)</script>", "<script>alert(1)</script>"),
        (b"\x00\x07\x1b[31m\xff\xfe", "\\x00\\x07\\x1b[31m\\ufffd\\ufffd"),
    ]:
        with scripted(always(not_found(body))) as server:
            (example,) = examples_of(measure(server.port, load=closed(1)))
        reply = example["reply"].partition("\n\n")[2]
        assert reply.encode("unicode_escape").decode().replace("\\\\", "\\") == text


def test_of_a_large_body_only_the_beginning_is_kept():
    with scripted(always(not_found(b"x" * 1_000_000))) as server:
        (example,) = examples_of(measure(server.port, load=closed(1)))
    assert len(example["reply"]) < 4_200
    assert example["body_bytes"] == 1_000_000


def test_a_body_without_end_leaves_an_example_of_its_beginning():
    head = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 1073741824\r\n\r\n"
    result, _ = against(always(head + b"no worker"), load=closed(1))
    (example,) = examples_of(result)
    assert example["kind"] == "body_cap"
    assert "1073741824" in example["detail"]
