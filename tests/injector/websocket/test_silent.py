"""Connections without a message: the hub deals with usual answers, the worker with all others. What
stands in an opening, and what is kept of one that failed.

Each server is a usual one at first, so that its head is known when it does something else."""

import base64
import socket
import time

from tests.injector.servers import closed, reset, scripted
from tests.injector.test_replies import examples_of
from tests.injector.websocket.peers import (
    after_opening,
    against,
    echo,
    head,
    measure,
    read_key,
    tally,
)
from workers.injector.websocket.frames import CLOSE, PING, close_payload, encode_frame

GOODBYE = encode_frame(CLOSE, close_payload(1000))
N = 5


def usual(sock, key):
    sock.sendall(head(key))
    sock.recv(100)
    sock.sendall(GOODBYE)


def ends_with_its_close(sock, key):
    """In one segment, as most servers do."""
    sock.sendall(head(key))
    sock.recv(100)
    sock.send(GOODBYE, socket.MSG_MORE)
    sock.shutdown(socket.SHUT_WR)


def opens_in_pieces(sock, key):
    for at in range(0, 150, 50):
        sock.sendall(head(key)[at : at + 50])
        time.sleep(0.01)
    sock.sendall(head(key)[150:])
    sock.recv(100)
    sock.sendall(GOODBYE)


def opens_with_a_longer_head(sock, key):
    sock.sendall(head(key).replace(b"\r\n\r\n", b"\r\nX-Long: " + b"x" * 600 + b"\r\n\r\n"))
    sock.recv(100)
    sock.sendall(GOODBYE)


def pings_with_its_head(sock, key):
    sock.sendall(head(key) + encode_frame(PING, b"there?"))
    sock.recv(100)
    sock.sendall(GOODBYE)


def pings_before_it_closes(sock, key):
    sock.sendall(head(key))
    sock.recv(100)
    sock.sendall(encode_frame(PING, b"there?") + GOODBYE)


def closes_in_pieces(sock, key):
    sock.sendall(head(key))
    sock.recv(100)
    for byte in GOODBYE:
        sock.sendall(bytes([byte]))
        time.sleep(0.005)


def ends_later(sock, key):
    usual(sock, key)
    time.sleep(0.03)


def says_more_after_its_close(sock, key):
    usual(sock, key)
    sock.sendall(b"more")


def resets_after_its_close(sock, key):
    usual(sock, key)
    time.sleep(0.02)
    reset(sock)


def meet(script, n=N, **fields):
    """The measurement of so many connections, of which all but the first met this script."""

    def answer(sock, server):
        is_first = server.n_connections == 1
        key = read_key(sock, server)
        (usual if is_first else script)(sock, key)

    with scripted(answer) as server:
        return measure(server.port, closed(n), fields.pop("exchange", {}), **fields)


def test_however_it_is_said_the_connection_is_opened_and_closed():
    for script in [
        usual,
        ends_with_its_close,
        opens_in_pieces,
        opens_with_a_longer_head,
        pings_with_its_head,
        pings_before_it_closes,
        closes_in_pieces,
        ends_later,
        says_more_after_its_close,
        resets_after_its_close,
    ]:
        total = meet(script).total
        assert (total.errors, total.count("ok")) == ({}, N)
        assert total.count("close_code_1000") == N
        assert total.statuses == {"101": N}
        assert (total.timing("handshake").n, total.timing("close").n) == (N, N)


def test_bytes_are_those_that_the_server_saw_and_said():
    n_heard, n_told = [], []

    def answer(sock, server):
        key = read_key(sock, server)
        n_told.append(len(head(key)) + len(GOODBYE))
        sock.sendall(head(key))
        n_heard.append(len(sock.recv(100)))
        sock.sendall(GOODBYE)

    total, server = tally(answer, closed(N), {})
    sent = sum(map(len, server.requests)) + sum(n_heard)
    assert (total.count("bytes_sent"), total.count("bytes_received")) == (sent, sum(n_told))


def test_what_goes_wrong_has_its_kind():
    for script, kind in [
        (lambda sock, key: sock.sendall(head(b"another key")), "ws_protocol"),
        (lambda sock, key: sock.sendall(b"HTTP/1.1 503 No\r\n\r\n"), "ws_upgrade_rejected"),
        (lambda sock, key: None, "eof_before_reply"),
        (lambda sock, key: time.sleep(0.6), "first_byte_timeout"),
        (lambda sock, key: reset(sock), "reset"),
        (lambda sock, key: (sock.sendall(head(key)), sock.recv(9)), "eof_mid_body"),
        (lambda sock, key: (sock.sendall(head(key)), time.sleep(0.6)), "ws_close_timeout"),
        (lambda sock, key: (usual(sock, key), time.sleep(0.6)), "ws_close_timeout"),
    ]:
        timeouts = {"connect_s": 0.4, "tls_s": 0.4, "total_s": 0.4}
        total = meet(script, 2, timeouts=timeouts, exchange={"close_timeout_s": 0.2}).total
        assert total.errors == {kind: 1}
        assert total.count("ok") == 1


TABLE = "user,room\nann,a b\nbob,c/d?e=1\n"
WINDOW = {"model": "window", "low": 1, "high": 1, "requests": 3}


def openings(load, exchange, server_script=None, secrets=None, **plan) -> list[bytes]:
    """The heads that a server was opened with, in order."""

    def script(sock, server):
        sock.sendall(head(read_key(sock, server)))
        sock.recv(65536)
        sock.sendall(b"\x88\x02\x03\xe8")

    fields = {"plan": plan, "secrets": secrets or {}}
    total, server = tally(server_script or script, load, exchange, **fields)
    assert not total.errors
    return server.requests


def test_each_connection_takes_the_next_row_in_path_and_header():
    for load in [closed(3), WINDOW]:
        exchange = {"path": "/${room}", "headers": [["X-User", "u-${user}"]]}
        sent = openings(load, exchange, variables={"csv": TABLE})
        assert [each.split()[1] for each in sent] == [b"/a%20b", b"/c/d?e=1", b"/a%20b"]
        assert [b"X-User: u-ann\r\n" in each for each in sent] == [True, False, True]


def test_a_value_cannot_smuggle_a_header():
    exchange = {"headers": [["X-One", "${x}"]]}
    (sent,) = openings(closed(1), exchange, variables={"csv": 'x\n"a\r\nX-Evil: 1"\n'})
    assert b"\r\nX-Evil" not in sent


def test_it_counts_what_was_really_sent():
    exchange = {"path": "/${n}"}
    plan = {"variables": {"csv": "n\n1\n" + "2" * 500 + "\n"}}
    total, _ = tally(echo(), closed(2), exchange, plan=plan)
    assert 500 + 2 * 100 < total.count("bytes_sent") < 500 + 2 * 400


def test_credentials_stand_in_the_opening_handshake():
    for auth, value in [
        ({"kind": "basic", "user": "ann"}, b"Basic " + base64.b64encode(b"ann:hunter2")),
        ({"kind": "bearer"}, b"Bearer hunter2"),
    ]:
        (sent,) = openings(closed(1), {}, auth=auth, secrets={"auth": "hunter2"})
        assert b"\r\nAuthorization: " + value + b"\r\n" in sent


REFUSAL = (
    b"HTTP/1.1 401 Unauthorized\r\nSet-Cookie: session=s3cr3t\r\nContent-Length: 8\r\n\r\nno token"
)


def refuses(sock, server) -> None:
    read_key(sock, server)
    sock.sendall(REFUSAL)


def closes(code: int, reason: str):
    def script(sock) -> None:
        sock.recv(65536)
        sock.sendall(encode_frame(CLOSE, close_payload(code, reason)))

    return after_opening(script)


def example_of(script, exchange=None, **plan) -> dict:
    result, _ = against(script, closed(2), exchange or {"messages": 1}, plan=plan)
    (example,) = examples_of(result)
    return example


def test_a_refused_opening_is_kept_with_its_reply():
    example = example_of(refuses)
    assert (example["kind"], example["status"]) == ("ws_upgrade_rejected", 401)
    assert example["request"].startswith("GET / HTTP/1.1\nHost: 127.0.0.1:")
    assert "Sec-WebSocket-Key: [made for each connection]" in example["request"]
    assert example["reply"] == (
        "401 Unauthorized\nSet-Cookie: session=[hidden]\nContent-Length: 8\n\nno token"
    )
    assert example["body_bytes"] == 8


def test_a_server_that_closes_is_quoted_with_its_code_and_reason():
    for reason, words in [
        ("out of memory", "closed with 1011 (out of memory)"),
        ("", "closed with 1011"),
    ]:
        example = example_of(closes(1011, reason))
        assert (example["kind"], example["status"]) == ("eof_mid_body", 101)
        assert example["detail"] == f"{words} after 1 message"


def test_what_a_server_says_to_a_variables_value_is_not_kept():
    example = example_of(
        refuses, {"messages": 1, "path": "/${user}"}, variables={"csv": "user\nann\n"}
    )
    assert example["request"].startswith("GET /${user} HTTP/1.1")
    assert (example["reply"], example["detail"]) == ("", "")
