"""The opening handshake: the request, and whether a reply opens the connection."""

import hashlib
import os
from binascii import b2a_base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.plan.exchange import Deflate, Exchange
from campaigns.domain.plan.step import own_host
from workers.injector.http1 import BadReply, Head, parse_head
from workers.injector.websocket.deflate import OFFERS, Compression, agreed

_NONCE_BYTES = 16
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_KNOWN_CAP = 64
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
        given = {name.lower() for name, _ in exchange.headers}
        lines = [
            f"GET {exchange.path} HTTP/1.1",
            f"Host: {own_host(exchange.headers) or host_header}",
        ]
        if "user-agent" not in given:
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
    after one is seen: a buffer of many kilobytes takes longer to get than to fill. `agreed`: the
    compression of the head that `opens` has accepted last.
    """

    __slots__ = ("_known", "_longest", "_offer", "_subprotocols", "agreed", "recv_bytes")

    def __init__(self, subprotocols: tuple[str, ...], offer: Deflate = Deflate.NONE):
        self._subprotocols = subprotocols
        self._offer = offer
        self.agreed: Compression | None = None
        self._known: set[tuple[bytes, bytes]] = set()
        self._longest = 0
        self.recv_bytes = _MOST_RECV_BYTES

    def knows(self, data: bytes, accept: bytes) -> bool:
        """Whether `data` is exactly one head that `opens` has accepted before."""
        before, _, after = data.partition(accept)
        return (before, after) in self._known

    def opens(self, head: bytes, accept: bytes) -> bool:
        """True for a 101 that answers our request correctly, False for an interim reply.

        Raises BadReply for anything else.
        """
        parsed = parse_head(head, "GET")
        if parsed.is_interim:
            return False
        if parsed.status != 101:
            raise UpgradeRejected(parsed)
        if _tokens(parsed, "upgrade") != ["websocket"]:
            raise _bad("101 without Upgrade: websocket")
        if "upgrade" not in _tokens(parsed, "connection"):
            raise _bad("101 without Connection: Upgrade")
        if _values(parsed, "sec-websocket-accept") != [accept.decode()]:
            raise _bad("Sec-WebSocket-Accept does not answer the key")
        extensions = ", ".join(_values(parsed, "sec-websocket-extensions"))
        if extensions and self._offer == Deflate.NONE:
            raise _bad("an extension that was not offered")
        self.agreed = agreed(extensions, self._offer) if extensions else None
        chosen = _values(parsed, "sec-websocket-protocol")
        if len(chosen) > 1 or not set(chosen) <= set(self._subprotocols):
            raise _bad(f"subprotocol {', '.join(chosen)[:60]} was not offered")
        if self._subprotocols and not chosen:
            refused = f"it took no subprotocol of {', '.join(self._subprotocols)}"
            raise BadReply(Kind.WS_UPGRADE_REJECTED, refused)
        if not extensions:
            self._remember(head, accept)
        return True

    def _remember(self, head: bytes, accept: bytes) -> None:
        """Remember the head by what is before and after its accept, if that occurs once."""
        before, _, after = head.partition(accept)
        if accept in after:
            return
        # A head with a Date header changes every second.
        if len(self._known) >= _KNOWN_CAP:
            self._known.clear()
        self._known.add((before, after))
        self._longest = max(self._longest, len(head))
        self.recv_bytes = min(_MOST_RECV_BYTES, self._longest + 1)


class UpgradeRejected(BadReply):
    """An HTTP reply other than 101. `kept` is what came of its body with the head."""

    def __init__(self, head: Head):
        self.head = head
        self.status = head.status
        self.kept = b""
        super().__init__(Kind.WS_UPGRADE_REJECTED, f"{head.status} {head.reason}"[:100])

    @property
    def body_bytes(self) -> int:
        """Of the whole body if its length is known, else of what was kept."""
        return len(self.kept) if self.head.body_bytes is None else self.head.body_bytes


def _values(head: Head, wanted: str) -> list[str]:
    return [value for name, value in head.headers if name.lower() == wanted]


def _tokens(head: Head, wanted: str) -> list[str]:
    return [token.strip().lower() for value in _values(head, wanted) for token in value.split(",")]


def _bad(detail: str) -> BadReply:
    return BadReply(Kind.WS_PROTOCOL, detail)
