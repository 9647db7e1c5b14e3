"""What ends a reply, and what makes it malformed, over real sockets."""

import pytest

from tests.injector.servers import OK_REPLY, always, closed, measure, measured, scripted

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
    "upper case sizes": HEAD + b"Transfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n",
    "interim replies": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n"
    + OK_REPLY,
    "204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "304 with a length": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n",
    "no reason": b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok",
    "spaces around a value": HEAD + b"Content-Length: \t 2 \r\n\r\nok",
    "odd names": HEAD + b"!#$%: 1\r\ncontent-LENGTH: 2\r\n\r\nok",
    "eight-bit value": HEAD + b"X-Name: caf\xe9\r\nContent-Length: 2\r\n\r\nok",
}


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("byte_by_byte", [False, True])
def test_it_reads_a_reply(name, byte_by_byte):
    pieces = [bytes([byte]) for byte in GOOD[name]] if byte_by_byte else [GOOD[name]]
    total, _ = measured(always(*pieces), load=closed(3))
    assert (total.count("ok"), total.errors) == (3, {})
    assert total.count("connections_opened") == 1
    assert total.count("bytes_received") == 3 * len(GOOD[name])
    parts = (total.count(f"{part}_received") for part in ("head", "body", "framing"))
    assert sum(parts) == total.count("bytes_received")


@pytest.mark.parametrize(
    ("name", "body", "framing"),
    [
        ("length", b"hello", b""),
        ("chunks", b"helloabc", b"5\r\n\r\n3;x=y\r\n\r\n0\r\n\r\n"),
        ("trailers", b"x", b"1\r\n\r\n0\r\nDigest: a\r\n\r\n"),
        ("interim replies", b"ok", b""),
    ],
)
def test_head_body_and_framing_are_counted_apart(name, body, framing):
    total, _ = measured(always(GOOD[name]), load=closed(5))
    head = len(GOOD[name]) - len(body) - len(framing)
    assert total.count("head_received") == 5 * head, "interim heads included"
    assert total.count("body_received") == 5 * len(body)
    assert total.count("framing_received") == 5 * len(framing)
    assert total.count("body_squares") == 5 * len(body) ** 2


def test_a_reply_to_head_has_no_body():
    with scripted(always(HEAD + b"Content-Length: 500\r\n\r\n")) as server:
        total = measure(server.port, method="HEAD", load=closed(3)).total
    assert (total.count("ok"), total.count("connections_opened")) == (3, 1)


def test_a_body_may_end_with_its_connection():
    total, server = measured(always(HEAD + b"\r\nuntil the end", then_close=True), load=closed(3))
    assert (total.count("ok"), server.n_connections) == (3, 3)


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: X-A ,\tClose\t\r\n",
        b"HTTP/1.0 200 OK\r\n",
    ],
)
def test_a_connection_is_not_used_again_where_the_server_will_close_it(head):
    total, server = measured(always(head + b"Content-Length: 2\r\n\r\nok"), load=closed(3))
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

    total, _ = measured(script, load=closed(2), timeouts={"total_s": 0.3, **SHORT})
    assert (total.count("ok"), total.errors) == (1, {"body_timeout": 1})


def test_a_large_body_comes_in_many_pieces():
    body = b"x" * 3_000_000
    reply = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    total, _ = measured(always(reply), load=closed(2))
    assert (total.count("ok"), total.count("bytes_received")) == (2, 2 * len(reply))


def test_a_large_request_is_written_in_many_pieces():
    total, server = measured(always(OK_REPLY), method="POST", body="x" * 1_000_000, load=closed(2))
    assert total.count("ok") == 2
    assert server.requests[1].endswith(b"x" * 1000)
    assert total.count("bytes_sent") == sum(map(len, server.requests))


# --- HTTP/1.0 ------------------------------------------------------------------------------------
HTTP_1_0 = {"http_version": "1.0"}
LENGTH = b"Content-Length: 2\r\n\r\nok"


@pytest.mark.parametrize(
    ("reply", "n_connections"),
    [
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" + LENGTH, 1),
        (b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n" + LENGTH, 1),
        (b"HTTP/1.1 200 OK\r\n" + LENGTH, 3),
        (b"HTTP/1.0 200 OK\r\n" + LENGTH, 3),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + LENGTH, 3),
    ],
)
def test_a_connection_is_kept_only_where_both_sides_say_so(reply, n_connections):
    total, server = measured(always(reply), load=closed(3), plan=HTTP_1_0)
    assert (total.count("ok"), server.n_connections) == (3, n_connections)
    assert all(b" HTTP/1.0\r\n" in request for request in server.requests)
    assert all(b"\r\nConnection: keep-alive\r\n" in request for request in server.requests)


def test_a_connection_used_once_needs_no_word_for_it():
    script = always(b"HTTP/1.0 200 OK\r\n\r\nuntil the end", then_close=True)
    total, server = measured(script, mode="new", load=closed(3), plan=HTTP_1_0)
    assert (total.count("ok"), server.n_connections) == (3, 3)
    assert not any(b"Connection:" in request for request in server.requests)
