"""permessage-deflate (RFC 7692): what is offered, what was agreed on, and messages packed by it."""

import zlib
from dataclasses import dataclass

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.plan.exchange import Deflate
from workers.injector.http1 import BadReply

NAME = "permessage-deflate"
_NO_CLIENT, _NO_SERVER = "client_no_context_takeover", "server_no_context_takeover"
OFFERS = {
    Deflate.TAKEOVER: NAME,
    Deflate.NO_TAKEOVER: f"{NAME}; {_NO_CLIENT}; {_NO_SERVER}",
}
_WINDOW, _BITS = "server_max_window_bits", {str(bits) for bits in range(8, 16)}
_RAW = -15
_END = b"\x00\x00\xff\xff"


@dataclass(frozen=True, slots=True)
class Compression:
    """Whether each side keeps its window from one message to the next."""

    client_keeps: bool
    server_keeps: bool


def agreed(answer: str, offer: Deflate) -> Compression:
    """From the value of the server's Sec-WebSocket-Extensions. Raises BadReply."""
    name, *rest = (part.strip() for part in answer.split(";"))
    given: dict[str, str] = {}
    for parameter in rest:
        key, _, value = (part.strip(' "') for part in parameter.partition("="))
        is_right = value in _BITS if key == _WINDOW else key in {_NO_CLIENT, _NO_SERVER}
        if key in given or not is_right:
            raise BadReply(Kind.WS_PROTOCOL, f"{parameter[:60]} of {NAME} was not offered")
        given[key] = value
    if name != NAME or "," in answer:
        raise BadReply(Kind.WS_PROTOCOL, f"the extension {answer[:60]} was not offered")
    client_keeps = _NO_CLIENT not in given and offer == Deflate.TAKEOVER
    return Compression(client_keeps, _NO_SERVER not in given)


class Packer:
    __slots__ = ("_keeps", "_window")

    def __init__(self, *, keeps: bool):
        self._keeps = keeps
        self._window = None

    def pack(self, payload: bytes) -> bytes:
        window = self._window or zlib.compressobj(wbits=_RAW)
        packed = window.compress(payload) + window.flush(zlib.Z_SYNC_FLUSH)
        self._window = window if self._keeps else None
        return packed.removesuffix(_END)


class Unpacker:
    __slots__ = ("_keeps", "_most_bytes", "_window")

    def __init__(self, most_bytes: int, *, keeps: bool):
        self._keeps = keeps
        self._most_bytes = most_bytes
        self._window = None

    def unpack(self, packed: bytes) -> bytes:
        """Raises BadReply."""
        window = self._window or zlib.decompressobj(_RAW)
        try:
            payload = window.decompress(packed + _END, self._most_bytes + 1)
        except zlib.error:
            raise BadReply(Kind.WS_PROTOCOL, "a compressed message that cannot be read") from None
        if len(payload) > self._most_bytes:
            detail = f"a message of more than {self._most_bytes:,} bytes"
            raise BadReply(Kind.BODY_CAP, detail)
        self._window = window if self._keeps and not window.eof else None
        return payload
