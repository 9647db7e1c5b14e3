"""One HTTP/2 connection with the requests on it; it lives in the hub, not in a greenlet.

The hub hands it what arrives. Whoever's reply has ended is told at once and may send its next
request; all that is to be sent then goes to the kernel in one write.

One request over HTTP/2 in full detail."""

import contextlib
import math
import sys
import traceback
from collections.abc import Callable
from typing import Any

import gevent

from campaigns.domain.metrics.outcomes import Kind
from workers.injector import http1
from workers.injector.connection import WRITE, Connection, Dialler, now
from workers.injector.faults import AttemptFailed
from workers.injector.http1 import BadReply
from workers.injector.http2.client import Http2Client, StreamRequest, request_data, request_text
from workers.injector.http2.frames import ConnectionBroken, NotProcessed
from workers.injector.http2.streams import Stream
from workers.injector.order import Order
from workers.injector.prober import Prober
from workers.injector.recorder import StepRecorder
from workers.injector.request import signed_steps
from workers.injector.wire import has_undelivered, is_acknowledged

ALPN = "h2"
_RECV_BYTES = 64 * 1024
# TLS hands out one record at a time.
_RECORDS_PER_TURN = 8
# Of a server that goes on sending though nothing can be written to it.
_MOST_LAST_READS = 64


class Link:
    """`n_places`: how many workers may send a request, have one under way, or are about to open
    the connection. `connection` is None before `open` and after the end.

    `note` is called with the link when it can be used, when the server's settings change, and when
    it can no longer be used. `peer`: as of its connection; "" where nobody asks.
    """

    __slots__ = (
        "_client", "_dialler", "_has_served", "_is_reading", "_loop", "_note", "_streams",
        "_uses_left", "_writer", "connection", "is_listed", "is_over", "is_ready", "n_places",
        "peer",
    )  # fmt: skip

    def __init__(
        self, dialler: Dialler, streams: int, uses: int | None, note: Callable[["Link"], None]
    ):
        """`streams`: the most at a time; `uses`: the most in all, None: any number."""
        self._dialler = dialler
        self._streams = streams
        self._uses_left: float = math.inf if uses is None else uses
        self._note = note
        self._loop = gevent.get_hub().loop
        self._client = Http2Client()
        self._writer: Any = None
        self._is_reading = self._has_served = False
        self.connection: Connection | None = None
        self.peer = ""
        self.n_places = 0
        self.is_ready = self.is_over = self.is_listed = False

    @property
    def is_used_up(self) -> bool:
        return self.is_over or self._client.is_draining or self._uses_left <= 0

    @property
    def goodbye(self) -> str:
        """How the server ended the connection, if it did with an error; else ""."""
        return self._client.goodbye

    @property
    def has_room(self) -> bool:
        limit = self._client.most_streams
        most = self._streams if limit is None else min(self._streams, limit)
        return self.n_places < min(most, self._uses_left) and not self.is_used_up

    @property
    def lets_stay(self) -> bool:
        """Whether those who have a place may send another request."""
        client = self._client
        if self.is_over or client.is_draining or self._uses_left <= 0:
            return False
        return client.most_streams is None or self.n_places <= client.most_streams

    def open(self, worker: Any) -> Connection:
        """Dial while `worker` waits; the first request may follow at once. Raises AttemptFailed."""
        connection = self._dialler.dial(worker)
        check_protocol(connection, self._dialler)
        worker.connection = None
        self.connection = connection
        connection.watcher.stop()
        connection.watcher.start(self._read)
        return connection

    def begin(self, worker: Any, request: Any, reuse: Stream | None = None) -> Stream:
        """Send a request of this worker, who is told of the stream's end in the hub. `reuse`: the
        stream of its last request, if it may be used again."""
        stream = self._client.begin(request.data, request.memo, worker, request.keep_bytes, reuse)
        self._uses_left -= 1
        if not self._is_reading:
            self._flush_or_end()
        return stream

    def give_up(self, stream: Stream) -> None:
        """The worker of this stream waits no longer."""
        self._client.give_up(stream)
        if not self._is_reading:
            self._flush_or_end()

    def close(self) -> None:
        """Say goodbye, if the connection is still there, and close it; nobody may be on it."""
        connection = self.connection
        if connection is None:
            return
        if self._client.has_let_go and has_undelivered(connection.sock):
            self._hang_up(self._dialler.abandon)
            return
        self._client.say_goodbye()
        # The server may be gone, or not read.
        with contextlib.suppress(OSError):
            connection.send(bytes(self._client.out))
        self.keep_session()
        self._hang_up(self._dialler.hang_up)

    def keep_session(self) -> None:
        """The TLS session, for connections that resume it; not if the server never answered."""
        if self._has_served and self.connection is not None:
            self._dialler.keep_session(self.connection)

    def _hang_up(self, leave: Callable[[Connection], None]) -> None:
        connection, self.connection = self.connection, None
        self.is_over = True
        if self._writer is not None:
            self._writer.stop()
            self._writer.close()
            self._writer = None
        if connection is not None:
            leave(connection)

    # --- reading, always in the hub --------------------------------------------------------------
    def _read(self) -> None:
        self._is_reading = True
        try:
            self._read_some()
        except BlockingIOError:
            pass
        except Exception as error:
            self._end(error)
        finally:
            self._is_reading = False
        if self._client.out:
            self._flush_or_end()

    def _read_some(self, closing: Exception | None = None) -> None:
        """What has arrived. Raises BlockingIOError, and what ends the connection. `closing`: what
        the end of input means, if not that the server has closed."""
        connection, client = self.connection, self._client
        is_plain = connection.tls is None
        for _ in range(_RECORDS_PER_TURN):
            data = connection.recv(_RECV_BYTES)
            if not data:
                self._end(closing)
                return
            client.feed(data, now())
            if client.has_new_settings:
                client.has_new_settings = False
                self.is_ready = True
                limit = client.most_streams
                if limit is not None and limit < self._streams:
                    least = self._dialler.streams_limit
                    self._dialler.streams_limit = limit if least is None else min(limit, least)
                self._note(self)
            self._hand_out()
            if is_plain or self.connection is None or not client.awaits_replies:
                return

    def _hand_out(self) -> None:
        """Tell the workers whose streams have ended."""
        client = self._client
        while streams := client.ended_streams:
            client.ended_streams = []
            for stream in streams:
                if stream.is_complete:
                    self._has_served = True
                stream.worker.end(stream)

    def _end(self, error: Exception | None) -> None:
        """In the hub: the server has closed (None), or this has ended the connection."""
        if self.is_over:
            return
        client = self._client
        is_stale = self._has_served and (error is None or isinstance(error, OSError))
        was_taken = not is_stale or is_acknowledged(self.connection.sock)
        if error is None:
            client.end_of_input()
        else:
            failure = error
            if not isinstance(error, BadReply | OSError):
                traceback.print_exception(error, file=sys.stderr)
                failure = BadReply(Kind.CLIENT_OTHER, str(error))
            client.end_all(failure)
        for stream in client.ended_streams:
            _allow_again(stream, error, was_taken=was_taken, is_stale=is_stale)
        if isinstance(error, ConnectionBroken):
            # Tell the server why it is left, if it reads at all.
            self._client.say_goodbye(error.code)
            with contextlib.suppress(OSError):
                self.connection.send(bytes(self._client.out))
        self._hang_up(self._dialler.hang_up)
        self._hand_out()
        self._note(self)

    # --- writing ---------------------------------------------------------------------------------
    def _flush_or_end(self) -> None:
        client, connection = self._client, self.connection
        if connection is None or self._writer is not None:
            return
        out = client.out
        try:
            while out:
                try:
                    n_sent = connection.send(bytes(out))
                except BlockingIOError:
                    n_sent = 0
                if n_sent < len(out):
                    del out[:n_sent]
                    self._writer = self._loop.io(self.connection.sock.fileno(), WRITE)
                    self._writer.start(self._write_on)
                    return
                out.clear()
                if client.bodies:
                    client.write_bodies()
        except OSError as error:
            # This may be a worker's turn; the others are told in the hub.
            self._loop.run_callback(self._end_after_reading, error)
            return
        if client.written_streams:
            instant = now()
            for stream in client.written_streams:
                stream.sent = instant
            client.written_streams.clear()

    def _end_after_reading(self, error: OSError) -> None:
        """In the hub, after a write that failed: what the server said before it left may lie
        unread, such as which requests it did not take."""
        self._client.is_draining = self._is_reading = True
        # The kernel tells of a reset once, here to the write: after that, reading finds an end.
        closing = error if isinstance(error, ConnectionResetError) else None
        try:
            for _ in range(_MOST_LAST_READS):
                if self.connection is None:
                    return
                self._read_some(closing)
            self._end(error)
        except OSError:
            self._end(error)
        except Exception as fault:
            self._end(fault)
        finally:
            self._is_reading = False

    def _write_on(self) -> None:
        self._writer.stop()
        self._writer.close()
        self._writer = None
        self._flush_or_end()


def check_protocol(connection: Connection, dialler: Dialler) -> None:
    """Over TLS the server must have chosen HTTP/2, if it was asked. Raises AttemptFailed."""
    if connection.tls is None or not dialler.offers_alpn:
        return
    protocol = connection.tls.alpn
    if protocol != ALPN:
        words = f"chose {protocol}" if protocol else "chose no protocol"
        raise AttemptFailed(Kind.H2_NOT_SPOKEN, f"in the TLS handshake the server {words}")


def _allow_again(
    stream: Stream, error: Exception | None, *, was_taken: bool, is_stale: bool
) -> None:
    """As in HTTP/1.1: what was sent on a kept connection that the server had closed before.

    `is_stale`: TCP ended, after earlier replies; `was_taken`: all that was sent had arrived.
    """
    is_lost = is_stale and not stream.received_bytes and not (was_taken and stream.sent)
    if is_lost and stream.worker.request.may_replay:
        if isinstance(error, OSError) and stream.sent:
            return
        stream.failure = NotProcessed(Kind.EOF_BEFORE_REPLY, "closed before the request arrived")


def make_prober(order: Order, dialler: Dialler, looker: Dialler | None) -> Prober:
    endpoint = order.endpoint
    step = signed_steps(order.plan, order.secret)[0]
    authority = http1.authority(endpoint.scheme, endpoint.host, endpoint.port)
    data = request_data(step, endpoint.scheme, authority)
    recorder = StepRecorder(0, len(data), is_scheduled=False)
    text = request_text(step, authority)
    return Http2Prober(dialler, StreamRequest(order.plan, step, data, recorder, text), looker)


class Http2Prober(Prober):
    """One request on a new connection, and nothing else on it."""

    def __init__(self, dialler: Dialler, request: StreamRequest, looker: Dialler | None):
        super().__init__(dialler, request, looker)
        self._client = Http2Client()
        self._stream: Stream | None = None

    def fetch(self) -> None:
        connection = self.connect()
        check_protocol(connection, self.dialler)
        request, client = self.request, self._client
        stream = self._stream = client.begin(request.data, request.memo, self, self.keep_bytes)
        self._write(connection)
        while not (stream.is_complete or stream.failure):
            self._read(connection, stream)
        if stream.failure is not None:
            raise stream.failure
        self.instants |= {"wait": stream.first, "receive": stream.end}
        client.say_goodbye()
        self._write(connection)

    def _read(self, connection: Connection, stream: Stream) -> None:
        try:
            self._read_some(connection, stream)
        except AttemptFailed:
            if self._client.goodbye:
                # The server had ended the connection with an error, and left it open.
                raise AttemptFailed(Kind.H2_GOAWAY, self._client.goodbye) from None
            raise

    def _read_some(self, connection: Connection, stream: Stream) -> None:
        kind = Kind.BODY_TIMEOUT if stream.first else Kind.FIRST_BYTE_TIMEOUT
        try:
            # The hub has its turn each time, however much there is to read.
            self.park(kind)
            data = self._receive(connection, kind)
            if not data:
                self._client.end_of_input()
                return
            self._client.feed(data, now())
        except (BadReply, OSError) as broken:
            self._client.end_all(broken)
        if stream.first:
            self.instants["wait"] = stream.first
        if not stream.failure:
            self._write(connection)

    def _write(self, connection: Connection) -> None:
        client = self._client
        while client.out:
            data = bytes(client.out)
            client.out.clear()
            self._send_rest(connection, data, 0)
            client.write_bodies()
        if client.written_streams:
            client.written_streams.clear()
            self.instants["send"] = now()

    def count_bytes(self) -> tuple[int, int]:
        stream = self._stream
        if stream is None:
            return 0, 0
        return stream.sent_bytes if "send" in self.instants else 0, stream.received_bytes

    def reply_facts(self) -> dict[str, Any]:
        stream = self._stream
        head = stream.head if stream else None
        return {
            "status": head.status if head else None,
            "reason": "",
            "headers": [list(pair) for pair in head.headers] if head else [],
            "body_bytes": stream.body_bytes if stream else 0,
            **(self.said_of(stream) if stream else {"snippet": ""}),
        }
