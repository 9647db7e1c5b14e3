"""The bytes of one connection in both directions, so that waiting to write never stops reading."""

import ssl
from typing import TYPE_CHECKING

import gevent

from campaigns.domain.measured.outcomes import Kind
from workers.injector.connection import WRITE, Connection
from workers.injector.http1 import BadReply

if TYPE_CHECKING:
    from workers.injector.websocket.worker import Speaker

_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_RECV_BYTES = 16 * 1024
_READS_PER_TURN = 32


class Channel:
    """`sent_bytes` and `received_bytes` count what went over it, TLS apart."""

    __slots__ = (
        "_is_tls", "_n_reads", "_out", "_recv", "_send", "_speaker", "connection",
        "received_bytes", "sent_bytes",
    )  # fmt: skip

    def __init__(self, speaker: "Speaker", connection: Connection):
        self._speaker = speaker
        self.connection = connection
        self._is_tls = connection.tls is not None
        self._send = connection.send
        self._recv = connection.recv
        self._out = b""
        self._n_reads = 0
        self.sent_bytes = 0
        self.received_bytes = 0

    @property
    def is_flushed(self) -> bool:
        return not self._out

    def write(self, data: bytes) -> None:
        """Send, and keep what the system does not take at once."""
        if self._out:
            data = self._out + data
        try:
            written = self._send(data)
        except _NOT_NOW:
            written = 0
        self.sent_bytes += written
        self._out = b"" if written == len(data) else data[written:]

    def read(self, kind: Kind = Kind.BODY_TIMEOUT) -> bytes | None:
        """What is there: None for nothing yet, nothing at all for the end."""
        if self._n_reads >= _READS_PER_TURN:
            self.give_way(kind)
        self._n_reads += 1
        try:
            data = self._recv(_RECV_BYTES)
        except _NOT_NOW:
            return None
        self.received_bytes += len(data)
        return data

    def receive(self, kind: Kind) -> bytes:
        """Wait for bytes, or for the end. At the limit AttemptFailed of `kind`."""
        if self._is_tls or self._out:
            return self._receive_and_send(kind)
        self._n_reads = 1
        while True:
            self._speaker.park(kind)
            try:
                data = self._recv(_RECV_BYTES)
            except BlockingIOError:
                continue
            self.received_bytes += len(data)
            return data

    def _receive_and_send(self, kind: Kind) -> bytes:
        # TLS may hold bytes that it has read already; for others the hub says when there are any.
        data = self.read(kind) if self._is_tls else None
        while data is None:
            self.wait(kind)
            data = self.read(kind)
        return data

    def wait(self, kind: Kind) -> None:
        """Until there is something to read or, with something to write, room for it."""
        self._n_reads = 0
        if not self._out:
            self._speaker.park(kind)
            return
        watcher = gevent.get_hub().loop.io(self.connection.sock.fileno(), WRITE)
        watcher.start(self._speaker.switch)
        try:
            self._speaker.park(kind)
        finally:
            watcher.stop()
            watcher.close()
        self.write(b"")

    def give_way(self, kind: Kind = Kind.BODY_TIMEOUT) -> None:
        """Let the hub have its turn: neither the sweep nor others may starve."""
        self._n_reads = 0
        callback = gevent.get_hub().loop.run_callback(self._speaker.switch)
        try:
            self._speaker.park(kind)
        finally:
            callback.stop()

    def ended(self) -> BadReply:
        """The server closed where it must not have."""
        if self.received_bytes:
            return BadReply(Kind.EOF_MID_BODY, "closed without a close frame")
        return BadReply(Kind.EOF_BEFORE_REPLY, "closed without a reply")
