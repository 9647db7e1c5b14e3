"""Connections without a message: the hub deals with usual answers, the worker with all others.

Each server is a usual one at first, so that its head is known when it does something else.
"""

import socket
import time

import pytest

from tests.injector.servers import closed, reset, scripted
from tests.injector.websocket.peers import head, measure, measured, read_key
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


def served(script, n=N, **given):
    """The measurement of so many connections, of which all but the first met this script."""

    def answer(sock, server):
        is_first = server.n_connections == 1
        key = read_key(sock, server)
        (usual if is_first else script)(sock, key)

    with scripted(answer) as server:
        return measure(server.port, closed(n), given.pop("exchange", {}), **given)


@pytest.mark.parametrize(
    "script",
    [
        usual, ends_with_its_close, opens_in_pieces, opens_with_a_longer_head, pings_with_its_head,
        pings_before_it_closes, closes_in_pieces, ends_later, says_more_after_its_close,
        resets_after_its_close,
    ],
)  # fmt: skip
def test_however_it_is_said_the_connection_is_opened_and_closed(script):
    total = served(script).total
    assert (total.errors, total.count("ok")) == ({}, N)
    assert total.count("close_code_1000") == N
    assert total.statuses == {"101": N}
    assert (total.timing("handshake").n, total.timing("close").n) == (N, N)


def test_bytes_are_those_that_the_server_saw_and_said():
    seen, said = [], []

    def script(sock, key):
        said.append(len(head(key)) + len(GOODBYE))
        sock.sendall(head(key))
        seen.append(len(sock.recv(100)))
        sock.sendall(GOODBYE)

    def answer(sock, server):
        script(sock, read_key(sock, server))

    total, server = measured(answer, closed(N), {})
    sent = sum(map(len, server.requests)) + sum(seen)
    assert (total.count("bytes_sent"), total.count("bytes_received")) == (sent, sum(said))


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (lambda sock, key: sock.sendall(head(b"another key")), "ws_protocol"),
        (lambda sock, key: sock.sendall(b"HTTP/1.1 503 No\r\n\r\n"), "ws_upgrade_rejected"),
        (lambda sock, key: None, "eof_before_reply"),
        (lambda sock, key: time.sleep(0.6), "first_byte_timeout"),
        (lambda sock, key: reset(sock), "reset"),
        (lambda sock, key: (sock.sendall(head(key)), sock.recv(9)), "eof_mid_body"),
        (lambda sock, key: (sock.sendall(head(key)), time.sleep(0.6)), "ws_close_timeout"),
        (lambda sock, key: (usual(sock, key), time.sleep(0.6)), "ws_close_timeout"),
    ],
    ids=[
        "wrong accept", "refused", "leaves", "says nothing", "resets", "leaves once open",
        "never closes", "never ends",
    ],
)  # fmt: skip
def test_what_goes_wrong_has_its_kind(script, kind):
    timeouts = {"connect_s": 0.4, "tls_s": 0.4, "total_s": 0.4}
    total = served(script, 2, timeouts=timeouts, exchange={"close_timeout_s": 0.2}).total
    assert total.errors == {kind: 1}
    assert total.count("ok") == 1
