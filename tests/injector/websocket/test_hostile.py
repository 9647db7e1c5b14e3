"""What a broken or hostile WebSocket server can do, over real sockets: one kind for each."""

import contextlib
import resource
import socket
import time
from collections.abc import Callable

import pytest

from tests.injector.servers import Scripted, closed, reset, scripted
from tests.injector.websocket.peers import after_opening, head, measure, read_key
from workers.injector.websocket.frames import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    close_payload,
    encode_frame,
)  # fmt: skip

TIMEOUTS = {"connect_s": 0.3, "tls_s": 0.3, "total_s": 0.4}
CLOSE_TIMEOUT_S = 0.3
PAYLOAD = b"00000000"
Then = Callable[[socket.socket], None]


def says(*pieces: bytes) -> Then:
    """Send these, then wait for the client to leave."""

    def then(sock: socket.socket) -> None:
        for piece in pieces:
            sock.sendall(piece)
        while sock.recv(65536):
            pass

    return then


def says_and_leaves(*pieces: bytes, reads: bool = False) -> Then:
    def then(sock: socket.socket) -> None:
        if reads:
            sock.recv(65536)
        for piece in pieces:
            sock.sendall(piece)

    return then


def replies(data: bytes) -> Then:
    """Wait for a message, answer this, wait for the client to leave."""

    def then(sock: socket.socket) -> None:
        sock.recv(65536)
        says(data)(sock)

    return then


def resets(sock: socket.socket) -> None:
    sock.recv(65536)
    reset(sock)


def floods(data: bytes) -> Then:
    """Send this again and again, as much as the client takes."""

    def then(sock: socket.socket) -> None:
        block = data * max(1, 65536 // len(data))
        while True:
            sock.sendall(block)

    return then


def drips(data: bytes) -> Then:
    """Send one byte every 20 ms."""

    def then(sock: socket.socket) -> None:
        while True:
            for byte in data:
                sock.sendall(bytes([byte]))
                time.sleep(0.02)

    return then


def answers(reply: bytes) -> Callable[[socket.socket, Scripted], None]:
    """Answer the upgrade request with this instead."""

    def script(sock: socket.socket, server: Scripted) -> None:
        server.read_request(sock)
        sock.sendall(reply)
        with contextlib.suppress(OSError):
            sock.recv(65536)

    return script


def swap(old: bytes, new: bytes) -> Callable[[socket.socket, Scripted], None]:
    """Answer properly but for one thing."""

    def script(sock: socket.socket, server: Scripted) -> None:
        reply = head(read_key(sock, server)).replace(old, new)
        sock.sendall(reply)
        with contextlib.suppress(OSError):
            sock.recv(65536)

    return script


def cut(count: int, end: Then) -> Callable[[socket.socket, Scripted], None]:
    """Send so much of the head, then end so."""

    def script(sock: socket.socket, server: Scripted) -> None:
        sock.sendall(head(read_key(sock, server))[:count])
        end(sock)

    return script


def at_once(end: Then) -> Callable[[socket.socket, Scripted], None]:
    def script(sock: socket.socket, server: Scripted) -> None:
        server.read_request(sock)
        end(sock)

    return script


def nothing(sock: socket.socket) -> None:
    time.sleep(1)


def leaves(sock: socket.socket) -> None:
    """Close the connection."""


ECHO = encode_frame(TEXT, PAYLOAD)
OPENING = {
    "wrong accept": (swap(b"Accept: ", b"Accept: x"), "ws_protocol"),
    "bare 101": (answers(b"HTTP/1.1 101 Go\r\n\r\n"), "ws_protocol"),
    "200": (answers(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), "ws_upgrade_rejected"),
    "403": (answers(b"HTTP/1.1 403 Forbidden\r\n\r\n"), "ws_upgrade_rejected"),
    "another protocol": (answers(b"SSH-2.0-OpenSSH_9.2\r\n"), "http_parse"),
    "HTTP/2": (answers(b"HTTP/2.0 101 Go\r\n\r\n"), "http_parse"),
    "interim replies without end": (answers(b"HTTP/1.1 100 Wait\r\n\r\n" * 99), "http_parse"),
    "endless header": (at_once(floods(b"HTTP/1.1 101 Go\r\nX: " + b"y" * 999)), "header_cap"),
    "header lines without end": (answers(b"HTTP/1.1 101 Go\r\n" + b"X: y\r\n" * 500), "header_cap"),
    "closed without a word": (at_once(leaves), "eof_before_reply"),
    "reset without a word": (at_once(reset), "reset"),
    "never answers": (at_once(nothing), "first_byte_timeout"),
    "half a head, closed": (cut(40, leaves), "eof_mid_body"),
    "half a head, reset": (cut(40, reset), "reset"),
    "half a head, silence": (cut(40, nothing), "body_timeout"),
    "a head byte by byte": (at_once(drips(b"HTTP/1.1 101 Go\r\n" + b"X: y" * 99)), "body_timeout"),
}
EXCHANGE = {
    "a masked frame": (replies(encode_frame(TEXT, PAYLOAD, b"abcd")), "ws_protocol"),
    "a frame of 2^62 bytes": (replies(b"\x81\x7f\x40" + bytes(7)), "body_cap"),
    "endless fragments": (
        lambda sock: (
            sock.sendall(b"\x01\x00"),
            floods(encode_frame(CONTINUATION, b"abc", is_final=False))(sock),
        ),
        "body_cap",
    ),
    "a ping flood": (floods(encode_frame(PING, b"")), "ws_protocol"),
    "a pong flood": (floods(encode_frame(PONG, b"")), "ws_protocol"),
    "another message": (replies(encode_frame(TEXT, b"0000000x")), "body_mismatch"),
    "a shorter message": (replies(encode_frame(TEXT, b"000")), "body_mismatch"),
    "binary instead of text": (replies(encode_frame(BINARY, PAYLOAD)), "body_mismatch"),
    "no echo": (says(), "body_timeout"),
    "half an echo": (replies(ECHO[:4]), "body_timeout"),
    "an echo byte by byte": (drips(encode_frame(TEXT, bytes(100))), "body_timeout"),
    "a close instead of an echo": (
        replies(encode_frame(CLOSE, close_payload(1001))),
        "eof_mid_body",
    ),
    "closed instead of an echo": (says_and_leaves(reads=True), "eof_mid_body"),
    "closed within an echo": (says_and_leaves(ECHO[:4], reads=True), "eof_mid_body"),
    "reset instead of an echo": (resets, "reset"),
}
CLOSING = {
    "no close": (says(), "ws_close_timeout"),
    "a close, but the connection stays": (
        replies(encode_frame(CLOSE, close_payload(1000))),
        "ws_close_timeout",
    ),
    "half a close": (replies(b"\x88\x02\x03"), "ws_close_timeout"),
    "a close byte by byte": (drips(b"\x82\x04abcd"), "ws_close_timeout"),
    "messages without end": (floods(encode_frame(BINARY, bytes(1000))), "ws_close_timeout"),
    "bytes without end after the close": (
        lambda sock: (sock.sendall(encode_frame(CLOSE, b"")), floods(b"x")(sock)),
        "ws_close_timeout",
    ),
    "closed without a close frame": (says_and_leaves(reads=True), "eof_mid_body"),
    "closed within the close frame": (says_and_leaves(b"\x88", reads=True), "eof_mid_body"),
    "reset instead of a close": (resets, "reset"),
    "a ping flood": (floods(encode_frame(PING, b"")), "ws_protocol"),
}
CASES = [
    *(("opening", name, script, kind) for name, (script, kind) in OPENING.items()),
    *(("exchange", name, after_opening(then), kind) for name, (then, kind) in EXCHANGE.items()),
    *(("closing", name, after_opening(then), kind) for name, (then, kind) in CLOSING.items()),
]


def assert_kind(script, phase, kind, tls=None, timeouts=TIMEOUTS):
    exchange = {"messages": 0 if phase == "closing" else 1, "size_bytes": 8}
    scheme = "ws" if tls is None else "wss"
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with scripted(script, tls) as server:
        began = time.monotonic()
        result = measure(server.port, closed(2), exchange, scheme=scheme, timeouts=timeouts)
        took_s = time.monotonic() - began
    assert (result.total.errors, result.total.count("ok")) == ({kind: 2}, 0)
    assert took_s < 2 * (timeouts["total_s"] + CLOSE_TIMEOUT_S + 0.5)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 64 * 1024


@pytest.mark.parametrize(
    ("phase", "script", "kind"),
    [
        pytest.param(phase, script, kind, id=f"{phase}: {name}")
        for phase, name, script, kind in CASES
    ],
)
def test_every_fault_has_its_kind_within_the_limit(phase, script, kind):
    assert_kind(script, phase, kind)


OVER_TLS = ["messages without end", "bytes without end after the close", "no close"]


@pytest.mark.parametrize("name", OVER_TLS)
def test_the_same_over_tls(name, server_tls):
    then, kind = CLOSING[name]
    timeouts = dict.fromkeys(TIMEOUTS, 1.5)  # a busy machine shakes hands slowly
    assert_kind(after_opening(then), "closing", kind, server_tls, timeouts)
