"""HTTP/2 of the demo target, by `h2`: not the injector's implementation, so each checks the other.

A request waits for its reply without holding up the other streams of its connection. Faults are
those of HTTP/1.1; asked for over HTTP/2, they reset the stream.
"""

from collections.abc import Callable
from typing import Any

import gevent
from gevent.lock import RLock
from gevent.pool import Group
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, RequestReceived, StreamEnded, StreamReset
from h2.exceptions import ProtocolError

from workers.echo.arrival import receive
from workers.echo.replies import FAULTS, EchoRequest, fields_and_body

# What a client that speaks HTTP/2 begins with, as far as it looks like a request of HTTP/1.1.
PREFACE_HEAD = b"PRI * HTTP/2.0\r\n"

# Notes the request and waits as long as it asks for; returns what to call once it is answered.
Wait = Callable[[EchoRequest, int], Callable[[], None]]


def serve(sock: Any, unread: bytes, arrived_ns: int, wait: Wait) -> None:
    """Serve a connection to its end. `unread`: what came so far, the preface included."""
    connection = _Connection(sock, wait)
    try:
        connection.serve(unread, arrived_ns)
    finally:
        connection.end()


class _Connection:
    def __init__(self, sock: Any, wait: Wait):
        self._sock = sock
        self._wait = wait
        config = H2Configuration(client_side=False, header_encoding="latin-1")
        self._h2 = H2Connection(config)
        self._requests: dict[int, tuple[EchoRequest, int]] = {}  # with when it arrived
        self._bodies: dict[int, memoryview] = {}  # what the client's windows do not admit yet
        self._waiting = Group()
        self._writing = RLock()
        self._n_unanswered = 0
        self._is_closing = False

    def serve(self, data: bytes, arrived_ns: int) -> None:
        self._h2.initiate_connection()
        while data:
            try:
                events = self._h2.receive_data(data)
            except ProtocolError:
                self._flush()  # the GOAWAY that says why
                return
            for event in events:
                self._take(event, arrived_ns)
            self._send_bodies()
            self._flush()
            data, arrived_ns = receive(self._sock, arrived_ns)

    def end(self) -> None:
        self._waiting.kill()

    def _take(self, event: Any, arrived_ns: int) -> None:
        if isinstance(event, RequestReceived):
            head = dict(event.headers)
            request = EchoRequest.of(head[":method"], head[":path"], wants_close=False)
            self._requests[event.stream_id] = (request, arrived_ns)
        elif isinstance(event, DataReceived):
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamEnded):
            stream = self._requests.pop(event.stream_id)
            self._n_unanswered += 1
            self._waiting.start(gevent.Greenlet(self._reply, event.stream_id, *stream))
        elif isinstance(event, StreamReset):
            self._requests.pop(event.stream_id, None)
            self._bodies.pop(event.stream_id, None)

    def _reply(self, stream_id: int, request: EchoRequest, arrived_ns: int) -> None:
        note_reply = self._wait(request, arrived_ns)
        self._n_unanswered -= 1
        self._is_closing |= request.closes
        try:
            self._begin_reply(stream_id, request)
            self._send_bodies()
            self._flush()
        except (ProtocolError, OSError):
            return  # the client gave the stream up, or left
        note_reply()

    def _begin_reply(self, stream_id: int, request: EchoRequest) -> None:
        if request.path in FAULTS:
            self._h2.reset_stream(stream_id, ErrorCodes.INTERNAL_ERROR)
            return
        status, fields, body = fields_and_body(request)
        head = [(":status", str(status)), *((name.lower(), value) for name, value in fields)]
        is_whole = not body and status >= 200
        self._h2.send_headers(stream_id, head, end_stream=is_whole)
        if body:
            self._bodies[stream_id] = memoryview(body)

    def _send_bodies(self) -> None:
        """As much of each as its windows admit."""
        for stream_id in list(self._bodies):
            while body := self._bodies[stream_id]:
                size = self._h2.local_flow_control_window(stream_id)
                size = min(size, self._h2.max_outbound_frame_size, len(body))
                if size <= 0:
                    break
                self._bodies[stream_id] = body[size:]
                is_last = size == len(body)
                self._h2.send_data(stream_id, body[:size].tobytes(), end_stream=is_last)
            else:
                del self._bodies[stream_id]

    def _flush(self) -> None:
        """In the order in which `h2` made the frames, whoever waits for the socket."""
        with self._writing:
            if self._is_closing and not (self._n_unanswered or self._bodies):
                self._h2.close_connection()
                self._is_closing = False
            if data := self._h2.data_to_send():
                self._sock.sendall(data)
