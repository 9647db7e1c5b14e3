"""One connection's bytes in both directions; waiting to write never blocks reading."""

import gevent

from campaigns.domain.metrics.outcomes import Kind
from workers.injector.attempt import Worker
from workers.injector.connection import NS, WRITE, Connection, now
from workers.injector.http1 import HEADER_CAP_BYTES, HEADER_CAP_COUNT, BadReply, not_http

RECV_BYTES = 16 * 1024
# Whoever sends faster than we read may keep us from the hub, and from our limits, for so long.
_TURN_NS = NS // 100
_BLANK_LINE = b"\r\n\r\n"


class Channel:
    """`sent_bytes` and `received_bytes` count payload, without TLS overhead. `close_frame` is ours;
    `has_close_code`: the server's has come."""

    __slots__ = (
        "_is_tls", "_out", "_recv", "_send", "_turn", "_worker", "close_frame", "connection",
        "has_close_code", "received_bytes", "sent_bytes",
    )  # fmt: skip

    def __init__(self, worker: Worker, connection: Connection, close_frame: bytes = b""):
        self._worker = worker
        self.connection = connection
        self._is_tls = connection.tls is not None
        self._send = connection.send
        self._recv = connection.recv
        self._out = b""
        # When we first read since the hub had its turn; 0: not yet.
        self._turn = 0
        self.close_frame = close_frame
        self.has_close_code = False
        self.sent_bytes = 0
        self.received_bytes = 0

    @property
    def is_flushed(self) -> bool:
        return not self._out

    def begin(self, data: bytes) -> None:
        """Send the opening request, of which dialling may have written all or a part."""
        written = self.sent_bytes = self.connection.written
        if written != len(data):
            self.write(data[written:])

    def write(self, data: bytes) -> None:
        """Send, and buffer what the kernel does not accept at once."""
        if self._out:
            data = self._out + data
        try:
            written = self._send(data)
        except BlockingIOError:
            written = 0
        self.sent_bytes += written
        self._out = b"" if written == len(data) else data[written:]

    def read(self, kind: Kind = Kind.BODY_TIMEOUT) -> bytes | None:
        """Bytes that have arrived, None if there are none yet, b"" at the end of the stream."""
        instant = now()
        if not self._turn:
            self._turn = instant
        elif instant - self._turn > _TURN_NS:
            self.yield_to_hub(kind)
        try:
            data = self._recv(RECV_BYTES)
        except BlockingIOError:
            return None
        self.received_bytes += len(data)
        return data

    def receive(self, kind: Kind) -> bytes:
        """Wait for bytes or the end of the stream. Raises AttemptFailed(kind) at the limit."""
        if self._is_tls or self._out:
            return self._receive_and_send(kind)
        self._turn = 0
        while True:
            self._worker.park(kind)
            try:
                data = self._recv(RECV_BYTES)
            except BlockingIOError:
                continue
            self.received_bytes += len(data)
            return data

    def receive_head(self, data: bytes) -> tuple[bytes, bytes]:
        """(a head with its blank line, what came after it); `data` has come of it already.
        Raises BadReply, AttemptFailed."""
        while (end := data.find(_BLANK_LINE, 0, HEADER_CAP_BYTES)) < 0:
            if data[:5] != b"HTTP/"[: len(data)]:
                raise BadReply(Kind.HTTP_PARSE, not_http(data[:80]))
            if len(data) >= HEADER_CAP_BYTES or data.count(b"\n") > HEADER_CAP_COUNT + 2:
                raise BadReply(Kind.HEADER_CAP, "a head without end")
            more = self.receive(Kind.BODY_TIMEOUT if data else Kind.FIRST_BYTE_TIMEOUT)
            if not more:
                raise self.ended()
            data += more
        return data[: end + 4], data[end + 4 :]

    def _receive_and_send(self, kind: Kind) -> bytes:
        # TLS may have buffered bytes already; a plain socket becomes readable in the hub.
        data = self.read(kind) if self._is_tls else None
        while data is None:
            self.wait(kind)
            data = self.read(kind)
        return data

    def wait(self, kind: Kind) -> None:
        """Wait until there is something to read or, if output is pending, room to write."""
        self._turn = 0
        if not self._out:
            self._worker.park(kind)
            return
        watcher = gevent.get_hub().loop.io(self.connection.sock.fileno(), WRITE)
        watcher.start(self._worker.switch)
        try:
            self._worker.park(kind)
        finally:
            watcher.stop()
            watcher.close()
        self.write(b"")

    def yield_to_hub(self, kind: Kind = Kind.BODY_TIMEOUT) -> None:
        """Give the hub a turn, so that neither its sweep nor other greenlets starve.

        A mere callback would run up to fifty times before the hub looks at sockets and timers.
        """
        self._turn = 0
        timer = gevent.get_hub().loop.timer(0)
        timer.start(self._worker.switch)
        try:
            self._worker.park(kind)
        finally:
            timer.stop()
            timer.close()

    def ended(self) -> BadReply:
        """The error for a server that closed too early."""
        if self.received_bytes:
            return BadReply(Kind.EOF_MID_BODY, "closed without a close frame")
        return BadReply(Kind.EOF_BEFORE_REPLY, "closed without a reply")
