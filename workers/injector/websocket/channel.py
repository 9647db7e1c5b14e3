"""One connection's bytes in both directions; waiting to write never blocks reading.

The opening handshake: the request, and whether a reply opens the connection."""

import hashlib
import os
from binascii import b2a_base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import gevent

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.plan.exchange import Deflate, Exchange
from campaigns.domain.plan.step import own_host
from workers.injector.attempt import Worker
from workers.injector.connection import NS, WRITE, Connection, Waking, now
from workers.injector.http1 import (
    HEADER_CAP_BYTES,
    HEADER_CAP_COUNT,
    BadReply,
    Head,
    header_values,
    not_http,
    parse_head,
)
from workers.injector.websocket.frames import OFFERS, Compression, read_compression, ws_fault

RECV_BYTES = 16 * 1024
# Whoever sends faster than we read may keep us from the hub, and from our limits, for so long.
_TURN_NS = NS // 100
_BLANK_LINE = b"\r\n\r\n"


class Channel:
    """`sent_bytes` and `received_bytes` count payload, without TLS overhead. `close_frame` is ours;
    `has_close_code`: the server's has come. `values` are those of the connection's variables,
    `compression` what was agreed on. `unanswered`: when messages were due and sent that have no
    reply yet, where each is a request."""

    __slots__ = (
        "_is_tls", "_out", "_recv", "_send", "_turn", "_worker", "close_frame", "compression",
        "connection", "has_close_code", "received_bytes", "sent_bytes", "unanswered", "values",
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
        self.values: Mapping[str, str] = {}
        self.compression: Compression | None = None
        self.has_close_code = False
        self.unanswered: Sequence[tuple[int, int]] = ()
        self.sent_bytes = 0
        self.received_bytes = 0

    @property
    def is_flushed(self) -> bool:
        return not self._out

    def begin(self, data: bytes) -> None:
        """Send the opening request, of which dialling may have written all or a part."""
        n_written = self.sent_bytes = self.connection.n_written
        if n_written != len(data):
            self.write(data[n_written:])

    def read_anew(self) -> None:
        """From now on read as the connection does, which may be timed by now."""
        self._recv = self.connection.recv

    def write(self, data: bytes) -> None:
        """Send, and buffer what the kernel does not accept at once."""
        if self._out:
            data = self._out + data
        try:
            n_written = self._send(data)
        except BlockingIOError:
            n_written = 0
        self.sent_bytes += n_written
        self._out = b"" if n_written == len(data) else data[n_written:]

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
            # TLS may have buffered bytes already; a plain socket becomes readable in the hub.
            data = self.read(kind) if self._is_tls else None
            while data is None:
                self.wait(kind)
                data = self.read(kind)
            return data
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
                raise self.early_end()
            data += more
        return data[: end + 4], data[end + 4 :]

    def wait(self, kind: Kind) -> None:
        """Wait until there is something to read or, if output is pending, room to write."""
        self._turn = 0
        if not self._out:
            self._worker.park(kind)
            return
        watcher = gevent.get_hub().loop.io(self.connection.sock.fileno(), WRITE)
        with Waking(watcher, self._worker.switch):
            self._worker.park(kind)
        self.write(b"")

    def yield_to_hub(self, kind: Kind = Kind.BODY_TIMEOUT) -> None:
        """Give the hub a turn, so that neither its sweep nor other greenlets starve.

        A mere callback would run up to fifty times before the hub looks at sockets and timers.
        """
        self._turn = 0
        with Waking(gevent.get_hub().loop.timer(0), self._worker.switch):
            self._worker.park(kind)

    def early_end(self) -> BadReply:
        """The error for a server that closed too early."""
        if self.received_bytes:
            return BadReply(Kind.EOF_MID_BODY, "closed without a close frame")
        return BadReply(Kind.EOF_BEFORE_REPLY, "closed without a reply")


_NONCE_BYTES = 16
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_MOST_HEADS = 64
_MOST_RECV_BYTES = 16 * 1024


def make_keys(count: int) -> list[bytes]:
    """Fresh Sec-WebSocket-Keys."""
    nonces = os.urandom(count * _NONCE_BYTES)
    begins = range(0, len(nonces), _NONCE_BYTES)
    return [b2a_base64(nonces[at : at + _NONCE_BYTES], newline=False) for at in begins]


def accept_of(key: bytes) -> bytes:
    """The Sec-WebSocket-Accept that answers a key."""
    digest = hashlib.sha1(key + _GUID, usedforsecurity=False).digest()
    return b2a_base64(digest, newline=False)


@dataclass(frozen=True, slots=True)
class UpgradeRequest:
    """The request in two halves with the key between them."""

    before: bytes
    after: bytes
    # Those of variables: it has none.
    values: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def of(cls, exchange: Exchange, host_header: str) -> "UpgradeRequest":
        names = {name.lower() for name, _ in exchange.headers}
        lines = [
            f"GET {exchange.path} HTTP/1.1",
            f"Host: {own_host(exchange.headers) or host_header}",
        ]
        if "user-agent" not in names:
            lines.append("User-Agent: benchsite")
        lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
        if exchange.subprotocols:
            lines.append(f"Sec-WebSocket-Protocol: {', '.join(exchange.subprotocols)}")
        if exchange.deflate in OFFERS:
            lines.append(f"Sec-WebSocket-Extensions: {OFFERS[exchange.deflate]}")
        lines += [f"{name}: {value}" for name, value in exchange.headers if name.lower() != "host"]
        before = "\r\n".join([*lines, "Sec-WebSocket-Key: "]).encode("latin-1")
        return cls(before, b"\r\n\r\n")

    def bytes_ahead(self, key: bytes) -> bytes:
        """The request before there is a connection; nothing if it can be made only then."""
        return self.bytes_with(key)

    def bytes_with(self, key: bytes) -> bytes:
        return self.before + key + self.after

    @property
    def template(self) -> bytes:
        """The request without a key, as an example of a failure shows it."""
        return self.bytes_with(b"[made for each connection]")


class UpgradeCheck:
    """Checks whether a head opens the connection; remembers good heads apart from their accept.

    `recv_bytes`: how much to read at once, a byte more than good heads have, so that what comes
    after one is seen: a buffer of many kilobytes takes longer to get than to fill. `compression`:
    that of the head that `opens` has accepted last.
    """

    __slots__ = ("_good_heads", "_longest", "_offer", "_subprotocols", "compression", "recv_bytes")

    def __init__(self, subprotocols: tuple[str, ...], offer: Deflate = Deflate.NONE):
        self._subprotocols = subprotocols
        self._offer = offer
        self.compression: Compression | None = None
        self._good_heads: set[tuple[bytes, bytes]] = set()
        self._longest = 0
        self.recv_bytes = _MOST_RECV_BYTES

    def knows(self, data: bytes, accept: bytes) -> bool:
        """Whether `data` is exactly one head that `opens` has accepted before."""
        before, _, after = data.partition(accept)
        return (before, after) in self._good_heads

    def opens(self, head: bytes, accept: bytes) -> bool:
        """True for a 101 that answers our request correctly, False for an interim reply.

        Raises BadReply for anything else.
        """
        reply = parse_head(head, "GET")
        if reply.is_interim:
            return False
        if reply.status != 101:
            raise UpgradeRejected(reply)
        if _tokens(reply, "upgrade") != ["websocket"]:
            raise ws_fault("101 without Upgrade: websocket")
        if "upgrade" not in _tokens(reply, "connection"):
            raise ws_fault("101 without Connection: Upgrade")
        if header_values(reply.headers, "sec-websocket-accept") != [accept.decode()]:
            raise ws_fault("Sec-WebSocket-Accept does not answer the key")
        extensions = ", ".join(header_values(reply.headers, "sec-websocket-extensions"))
        if extensions and self._offer == Deflate.NONE:
            raise ws_fault("an extension that was not offered")
        self.compression = read_compression(extensions, self._offer) if extensions else None
        protocols = header_values(reply.headers, "sec-websocket-protocol")
        if len(protocols) > 1 or not set(protocols) <= set(self._subprotocols):
            raise ws_fault(f"subprotocol {', '.join(protocols)[:60]} was not offered")
        if self._subprotocols and not protocols:
            detail = f"it took no subprotocol of {', '.join(self._subprotocols)}"
            raise BadReply(Kind.WS_UPGRADE_REJECTED, detail)
        before, _, after = head.partition(accept)
        if not extensions and accept not in after:
            # A head with a Date header changes every second.
            if len(self._good_heads) >= _MOST_HEADS:
                self._good_heads.clear()
            self._good_heads.add((before, after))
            self._longest = max(self._longest, len(head))
            self.recv_bytes = min(_MOST_RECV_BYTES, self._longest + 1)
        return True


class UpgradeRejected(BadReply):
    """An HTTP reply other than 101. `body_start` is what came of its body with the head."""

    def __init__(self, head: Head):
        self.head = head
        self.status = head.status
        self.body_start = b""
        super().__init__(Kind.WS_UPGRADE_REJECTED, f"{head.status} {head.reason}"[:100])

    @property
    def body_bytes(self) -> int:
        """Of the whole body if its length is known, else of what was kept."""
        return len(self.body_start) if self.head.body_bytes is None else self.head.body_bytes


def _tokens(head: Head, key: str) -> list[str]:
    return [
        token.strip().lower()
        for value in header_values(head.headers, key)
        for token in value.split(",")
    ]
