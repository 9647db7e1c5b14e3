"""Misbehaviour on request, under /fault/, for testing an injector against a broken server."""

import socket
import struct
from collections.abc import Callable
from typing import Any

import gevent

_OK = b"HTTP/1.1 200 OK\r\n"
_HANG_S = 3600.0


def reset(sock: Any) -> None:
    """Close with a TCP reset."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def hang(sock: Any) -> None:
    """Never answer."""
    sock.settimeout(_HANG_S)
    while sock.recv(4096):
        pass


def garbage(sock: Any) -> None:
    """Answer, but not in HTTP."""
    sock.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")


def half_head(sock: Any) -> None:
    """Close in the middle of the head."""
    sock.sendall(_OK + b"Content-Le")


def half_body(sock: Any) -> None:
    """Announce 1000 bytes, send 500, close."""
    sock.sendall(_OK + b"Content-Length: 1000\r\n\r\n" + b"x" * 500)


def slow_drip(sock: Any) -> None:
    """A byte every 100 ms, without end."""
    sock.sendall(_OK + b"Content-Length: 1000000\r\n\r\n")
    while True:
        gevent.sleep(0.1)
        sock.sendall(b"x")


def endless_head(sock: Any) -> None:
    sock.sendall(_OK)
    while True:
        sock.sendall(b"X-More: " + b"y" * 1000 + b"\r\n")


def endless_body(sock: Any) -> None:
    sock.sendall(_OK + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        sock.sendall(b"10000\r\n" + b"z" * 65536 + b"\r\n")


def two_lengths(sock: Any) -> None:
    sock.sendall(_OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc")


def extra_reply(sock: Any) -> None:
    """A second reply that nobody asked for, right behind the first."""
    sock.sendall((_OK + b"Content-Length: 2\r\n\r\nok") * 2)


def close(_: Any) -> None:
    """Close without a word."""


FAULTS: dict[str, Callable[[Any], None]] = {
    "/fault/reset": reset,
    "/fault/hang": hang,
    "/fault/garbage": garbage,
    "/fault/half-head": half_head,
    "/fault/half-body": half_body,
    "/fault/slow-drip": slow_drip,
    "/fault/endless-head": endless_head,
    "/fault/endless-body": endless_body,
    "/fault/two-lengths": two_lengths,
    "/fault/extra-reply": extra_reply,
    "/fault/close": close,
}
