"""A server by `h2`, the other implementation, on real sockets, with a ledger of its own."""

import contextlib
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

from tests.injector.servers import Scripted, scripted

_FRAME_BYTES = 16_384


@dataclass
class Answers:
    """What the server does; `answer` gives (status, headers, body) of a request's headers."""

    answer: Callable[[dict[str, str], bytes], tuple[int, list[tuple[str, str]], bytes]]
    most_streams: int = 100
    # After so many requests on a connection the server says goodbye to it.
    requests_per_connection: int = 1 << 30
    # The first request of a connection is answered alone, all others so many together.
    together: int = 1
    n_requests: int = 0
    by_path: Counter = field(default_factory=Counter)
    requests: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    most_at_once: int = 0


def ok(headers: dict[str, str], body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
    return 200, [("server", "h2"), ("content-length", "2")], b"ok"


@contextlib.contextmanager
def h2_server(
    answer: Any = ok,
    tls: ssl.SSLContext | None = None,
    address: str = "127.0.0.1",
    port: int = 0,
    **options: Any,
) -> Iterator[tuple[Scripted, Answers]]:
    """(the listener, its ledger) for a `with` block."""
    answers = Answers(answer, **options)
    if tls is not None:
        tls.set_alpn_protocols(["h2", "http/1.1"])

    def script(sock: socket.socket, _: Scripted) -> None:
        _serve(sock, answers)

    with scripted(script, tls, address, port) as server:
        yield server, answers


def _serve(sock: socket.socket, answers: Answers) -> None:
    config = h2.config.H2Configuration(client_side=False, header_encoding="latin-1")
    connection = h2.connection.H2Connection(config)
    most = {h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS: answers.most_streams}
    connection.local_settings = h2.settings.Settings(client=False, initial_values=most)
    connection.initiate_connection()
    sock.sendall(connection.data_to_send())
    serving = _Serving(connection, answers)
    while data := sock.recv(65536):
        for event in connection.receive_data(data):
            serving.take(event)
        serving.reply()
        sock.sendall(connection.data_to_send())
        if serving.has_ended:
            # What is still on its way would make the end a reset, and the goodbye be lost.
            while sock.recv(65536):
                pass
            return


class _Serving:
    """One connection."""

    def __init__(self, connection: h2.connection.H2Connection, answers: Answers):
        self._connection = connection
        self._answers = answers
        self._requests: dict[int, dict[str, str]] = {}
        self._bodies: dict[int, bytes] = {}
        self._ready: list[int] = []
        self._n_done = 0
        self.has_ended = False

    def take(self, event: Any) -> None:
        if isinstance(event, h2.events.RequestReceived):
            self._requests[event.stream_id] = dict(event.headers)
            self._bodies[event.stream_id] = b""
            self._answers.most_at_once = max(self._answers.most_at_once, len(self._requests))
        elif isinstance(event, h2.events.DataReceived):
            self._bodies[event.stream_id] += event.data
            size = event.flow_controlled_length
            self._connection.acknowledge_received_data(size, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self._ready.append(event.stream_id)
        elif isinstance(event, h2.events.StreamReset):
            self._requests.pop(event.stream_id, None)

    def reply(self) -> None:
        if self._n_done and len(self._ready) < self._answers.together:
            return
        ready, self._ready = self._ready, []
        for stream_id in ready:
            if self._n_done == self._answers.requests_per_connection:
                self._connection.close_connection(last_stream_id=stream_id - 2)
                self.has_ended = True
                return
            self._reply_to(stream_id)

    def _reply_to(self, stream_id: int) -> None:
        request, body = self._requests.pop(stream_id), self._bodies.pop(stream_id)
        answers = self._answers
        answers.n_requests += 1
        answers.by_path[request[":path"]] += 1
        answers.requests.append(request)
        answers.bodies.append(body)
        status, headers, reply = answers.answer(request, body)
        has_body = bool(reply) and request[":method"] != "HEAD"
        fields = [(":status", str(status)), *headers]
        self._connection.send_headers(stream_id, fields, end_stream=not has_body)
        if has_body:
            for at in range(0, len(reply), _FRAME_BYTES):
                part, is_last = reply[at : at + _FRAME_BYTES], at + _FRAME_BYTES >= len(reply)
                self._connection.send_data(stream_id, part, end_stream=is_last)
        self._n_done += 1
