"""Serves connections, one greenlet each, with keep-alive; parses only what it needs of a head. A
connection that begins with the preface of HTTP/2 speaks that, over TLS and without."""

import itertools
import re
import socket
import time
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import gevent
from gevent.server import StreamServer
from OpenSSL import SSL

from workers.echo import http2, websocket
from workers.echo.arrival import Journal, enable_receive_timestamps, receive
from workers.echo.replies import FAULTS, EchoRequest, reply_parts
from workers.echo.tls import TlsSocket
from workers.injector.connection import NS
from workers.injector.pacer import Alarm
from workers.injector.tls_library import ReadBuffer

_BLANK_LINE = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,9})", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection:[^\r\n]*\bclose\b", re.IGNORECASE)
_MAX_HEAD_BYTES = 256 * 1024
_BACKLOG = 4096
_MOST_REPLIES = 1024


class EchoServer(StreamServer):
    """The demo target on one port."""

    def __init__(
        self,
        address: tuple[str, int],
        scheme: str,
        journal: Journal,
        tls: SSL.Context | None = None,
    ):
        super().__init__(address, self.serve, backlog=_BACKLOG)
        self._tls = tls
        self._buffer = ReadBuffer()
        self.scheme = scheme
        self._journal = journal
        self._numbers = itertools.count(1)
        self._alarm = Alarm()
        self._rng = Random(1)  # noqa: S311 (delays need no secure randomness)
        self._replies: dict[bytes, tuple[EchoRequest, list[bytes]]] = {}

    def init_socket(self) -> None:
        super().init_socket()
        if self._journal.is_kept:
            enable_receive_timestamps(self.socket)

    @property
    def port(self) -> int:
        return self.socket.getsockname()[1]

    def serve(self, sock: Any, _: Any) -> None:
        number = next(self._numbers)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                sock = TlsSocket(sock, self._tls, self._buffer)
                sock.shake_hands()
            self._serve_requests(sock, number)
        except (OSError, gevent.Timeout):
            pass  # the client left, or a fault took effect
        finally:
            sock.close()

    def _serve_requests(self, sock: Any, number: int) -> None:
        unread, arrived_ns = b"", 0
        while True:
            message = self._read_request(sock, unread, arrived_ns)
            if message is None:
                return
            head, unread, arrived_ns = message
            if head == http2.PREFACE_HEAD:
                whole = b"%s\r\n%s" % (head, unread)
                http2.serve(sock, whole, arrived_ns, partial(self._wait_for_reply, number))
                return
            # The same heads come again and again: each is parsed once, and its reply kept.
            reply = self._replies.get(head)
            if reply is None:
                reply = self._replies[head] = self._parse(head)
                if len(self._replies) > _MOST_REPLIES:
                    self._replies.clear()
            request, parts = reply
            note_reply = self._note(number, request, arrived_ns)
            if websocket.wants_websocket(head):
                websocket.serve(sock, head, request, unread, self._alarm)
                return
            if request.path in FAULTS:
                FAULTS[request.path](sock)
                return
            self._sleep(request, arrived_ns)
            for part in parts:
                sock.sendall(part)
            note_reply()
            if request.closes:
                return

    def _wait_for_reply(
        self, number: int, request: EchoRequest, arrived_ns: int
    ) -> Callable[[], None]:
        note_reply = self._note(number, request, arrived_ns)
        self._sleep(request, arrived_ns)
        return note_reply

    def _sleep(self, request: EchoRequest, arrived_ns: int) -> None:
        if delay_s := request.draw_delay_s(self._rng):
            self._alarm.sleep_until(arrived_ns + int(delay_s * NS))

    def _note(self, number: int, request: EchoRequest, arrived_ns: int) -> Callable[[], None]:
        """Log the request, now or, where its service time belongs to it, by the returned call."""
        entry = (self.scheme, number, request.method, request.path, arrived_ns)
        if not request.logs_service_time:
            self._journal.note(*entry)
            return lambda: None  # it is logged already
        return partial(self._note_service, entry)

    def _note_service(self, entry: tuple[str, int, str, str, int]) -> None:
        arrived_ns = entry[-1]
        self._journal.note(*entry, service_us=(time.monotonic_ns() - arrived_ns) // 1000)

    def _read_request(
        self, sock: Any, data: bytes, since_ns: int
    ) -> tuple[bytes, bytes, int] | None:
        """(head, bytes after the request, when it arrived), or None if there is no request.

        `since_ns` is when the previous request on this connection arrived.
        """
        data, arrived_ns = (data, time.monotonic_ns()) if data else receive(sock, since_ns)
        while (end := data.find(_BLANK_LINE)) < 0:
            more = sock.recv(65536) if len(data) < _MAX_HEAD_BYTES else b""
            if not more:
                return None
            data += more
        head, rest = data[: end + 2], data[end + 4 :]
        length = _LENGTH.search(head)
        missing = int(length[1]) if length else 0
        while len(rest) < missing:
            more = sock.recv(65536)
            if not more:
                return None
            rest += more
        return head, rest[missing:], arrived_ns

    @staticmethod
    def _parse(head: bytes) -> tuple[EchoRequest, list[bytes]]:
        words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        if len(words) != 3:
            return EchoRequest("GET", "/", {"status": "400"}, True), [
                b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            ]
        is_old = words[2] == "HTTP/1.0"
        request = EchoRequest.of(words[0], words[1], bool(_CLOSE.search(head)) or is_old)
        return request, reply_parts(request)
