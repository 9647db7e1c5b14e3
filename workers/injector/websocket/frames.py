"""WebSocket frames as bytes, without I/O: encoding, decoding, and what counts as malformed.

Strict on purpose: whatever RFC 6455 forbids is a `ws_protocol` error, and so is any extension but
the compression that was agreed on.

permessage-deflate (RFC 7692): what is offered, what was agreed on, and messages packed by it."""

import codecs
import os
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

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


def read_compression(answer: str, offer: Deflate) -> Compression:
    """From the value of the server's Sec-WebSocket-Extensions. Raises BadReply."""
    name, *rest = (part.strip() for part in answer.split(";"))
    parameters: dict[str, str] = {}
    for parameter in rest:
        key, _, value = (part.strip(' "') for part in parameter.partition("="))
        is_right = value in _BITS if key == _WINDOW else key in {_NO_CLIENT, _NO_SERVER}
        if key in parameters or not is_right:
            raise BadReply(Kind.WS_PROTOCOL, f"{parameter[:60]} of {NAME} was not offered")
        parameters[key] = value
    if name != NAME or "," in answer:
        raise BadReply(Kind.WS_PROTOCOL, f"the extension {answer[:60]} was not offered")
    client_keeps = _NO_CLIENT not in parameters and offer == Deflate.TAKEOVER
    return Compression(client_keeps, _NO_SERVER not in parameters)


class Packer:
    __slots__ = ("_keeps", "_window")

    def __init__(self, *, keeps: bool):
        self._keeps = keeps
        self._window = None

    def pack(self, payload: bytes) -> bytes:
        window = self._window or zlib.compressobj(wbits=_RAW)
        data = window.compress(payload) + window.flush(zlib.Z_SYNC_FLUSH)
        self._window = window if self._keeps else None
        return data.removesuffix(_END)


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


CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
MESSAGE_CAP_BYTES = 1024 * 1024
FRAGMENT_CAP = 10_000
NO_CODE = 1005
_CONTROL_CAP_BYTES = 125
_FIN, _RESERVED, _OPCODE, _MASKED, _LENGTH = 0x80, 0x70, 0x0F, 0x80, 0x7F
_PACKED = 0x40
_CODES_OF_THE_RFC = frozenset({1000, 1001, 1002, 1003, *range(1007, 1015)})

# (TEXT or BINARY, payload), (PING or PONG, payload), (CLOSE, code).
Event = tuple[int, Any]


def is_close_code(code: int) -> bool:
    """Whether a close frame may carry this code."""
    return code in _CODES_OF_THE_RFC or 3000 <= code <= 4999


def encode_frame(
    opcode: int,
    payload: bytes,
    key: bytes | None = None,
    *,
    is_final: bool = True,
    is_packed: bool = False,
) -> bytes:
    """One frame; a client passes a masking key, a server does not."""
    first = opcode | (_FIN if is_final else 0) | (_PACKED if is_packed else 0)
    mask_bit = 0 if key is None else _MASKED
    size = len(payload)
    if size <= _CONTROL_CAP_BYTES:
        head = bytes((first, mask_bit | size))
    elif size < 1 << 16:
        head = bytes((first, mask_bit | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((first, mask_bit | 127)) + size.to_bytes(8, "big")
    return head + payload if key is None else head + key + apply_mask(payload, key)


def close_payload(code: int, reason: str = "") -> bytes:
    return code.to_bytes(2, "big") + reason.encode()


class FrameReader:
    """Takes bytes as they arrive and returns complete messages and control frames.

    A client accepts only unmasked frames, a server (`expects_mask`) only masked ones.
    """

    __slots__ = (
        "_buffer", "_decoder", "_expects_mask", "_is_packed", "_n_fragments", "_opcode", "_parts",
        "_size", "_unpacker", "close_reason", "is_closed",
    )  # fmt: skip

    def __init__(self, unpacker: Unpacker | None = None, *, expects_mask: bool = False):
        """`unpacker`: of compressed messages, if compression was agreed on."""
        self._buffer = b""
        self._unpacker = unpacker
        self._is_packed = False
        self._expects_mask = expects_mask
        self._opcode = 0
        self._parts: list[bytes] = []
        self._size = 0
        self._n_fragments = 0
        self._decoder: codecs.IncrementalDecoder | None = None
        self.is_closed = False
        self.close_reason = ""

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete. Raises BadReply."""
        self._buffer = self._buffer + data if self._buffer else data
        events: list[Event] = []
        at = 0
        while not self.is_closed:
            frame = self._frame_at(at)
            if frame is None:
                break
            first, payload, at = frame
            event = self._take(first, payload)
            if event is not None:
                events.append(event)
        self._buffer = b"" if self.is_closed else self._buffer[at:]
        return events

    def _frame_at(self, at: int) -> tuple[int, bytes, int] | None:
        """(first byte, payload, where the next frame begins); None where it has not all come."""
        buffer = self._buffer
        there = len(buffer) - at
        if there < 1:
            return None
        first = buffer[at]
        self._check_first(first)
        if there < 2:
            return None
        second = buffer[at + 1]
        if bool(second & _MASKED) != self._expects_mask:
            raise ws_fault("a frame without mask" if self._expects_mask else "a masked frame")
        if first & CLOSE and second & _LENGTH > _CONTROL_CAP_BYTES:
            raise ws_fault(f"a control frame of more than {_CONTROL_CAP_BYTES} bytes")
        length = self._size_at(at + 2, second & _LENGTH)
        if length is None:
            return None
        size, begin = length
        if not first & CLOSE and self._size + size > MESSAGE_CAP_BYTES:
            raise BadReply(Kind.BODY_CAP, f"a message of more than {MESSAGE_CAP_BYTES:,} bytes")
        key_at, begin = begin, begin + (4 if self._expects_mask else 0)
        if len(buffer) < begin + size:
            return None
        payload = buffer[begin : begin + size]
        if self._expects_mask:
            payload = apply_mask(payload, buffer[key_at:begin])
        return first, payload, begin + size

    def _check_first(self, first: int) -> None:
        opcode = first & _OPCODE
        if first & _RESERVED and not (
            self._unpacker and first & _RESERVED == _PACKED and opcode in {TEXT, BINARY}
        ):
            raise ws_fault("a reserved bit is set, but no extension was agreed")
        if opcode >= CLOSE:
            if opcode > PONG:
                raise ws_fault(f"opcode {opcode:#x} is reserved")
            if not first & _FIN:
                raise ws_fault("a control frame in fragments")
        elif opcode > BINARY:
            raise ws_fault(f"opcode {opcode:#x} is reserved")
        elif opcode == CONTINUATION and not self._opcode:
            raise ws_fault("a continuation of nothing")
        elif opcode != CONTINUATION and self._opcode:
            raise ws_fault("a new message in the middle of another")

    def _size_at(self, at: int, short: int) -> tuple[int, int] | None:
        """(payload size, offset of mask or payload), or None until the length has arrived."""
        if short < 126:
            return short, at
        width = 2 if short == 126 else 8
        if len(self._buffer) < at + width:
            return None
        size = int.from_bytes(self._buffer[at : at + width], "big")
        if size >> 63:
            raise ws_fault("a length of 2^63 or more")
        if size < (126 if width == 2 else 1 << 16):
            raise ws_fault(f"a length of {size} written in {width} bytes")
        return size, at + width

    def _take(self, first: int, payload: bytes) -> Event | None:
        opcode = first & _OPCODE
        if opcode == CLOSE:
            self.is_closed = True
            code = _close_code(payload)
            self.close_reason = payload[2:].decode()
            return CLOSE, code
        if opcode >= CLOSE:
            return opcode, payload
        if first & _FIN and not self._opcode:
            if first & _PACKED:
                payload = self._unpacker.unpack(payload)
            if opcode == TEXT:
                _check_text(codecs.getincrementaldecoder("utf-8")(), payload, is_last=True)
            return opcode, payload
        if opcode != CONTINUATION:
            self._is_packed = bool(first & _PACKED)
        return self._take_fragment(opcode, payload, is_last=bool(first & _FIN))

    def _take_fragment(self, opcode: int, payload: bytes, *, is_last: bool) -> Event | None:
        if opcode != CONTINUATION:
            self._opcode = opcode
            is_read = opcode == TEXT and not self._is_packed
            self._decoder = codecs.getincrementaldecoder("utf-8")() if is_read else None
        self._n_fragments += 1
        if self._n_fragments > FRAGMENT_CAP:
            raise BadReply(Kind.BODY_CAP, f"a message in more than {FRAGMENT_CAP:,} fragments")
        if self._decoder is not None:
            _check_text(self._decoder, payload, is_last=is_last)
        self._parts.append(payload)
        self._size += len(payload)
        if not is_last:
            return None
        whole = b"".join(self._parts)
        if self._is_packed:
            whole = self._unpacker.unpack(whole)
            if self._opcode == TEXT:
                _check_text(codecs.getincrementaldecoder("utf-8")(), whole, is_last=True)
        event = self._opcode, whole
        self._opcode = self._size = self._n_fragments = 0
        self._parts = []
        return event


def _check_text(decoder: codecs.IncrementalDecoder, payload: bytes, *, is_last: bool) -> None:
    try:
        decoder.decode(payload, is_last)
    except UnicodeDecodeError as error:
        raise ws_fault(f"text that is not UTF-8: {error.reason}") from None


def _close_code(payload: bytes) -> int:
    if not payload:
        return NO_CODE
    if len(payload) == 1:
        raise ws_fault("a close frame with half a code")
    code = int.from_bytes(payload[:2], "big")
    if not is_close_code(code):
        raise ws_fault(f"close code {code} may not be sent")
    _check_text(codecs.getincrementaldecoder("utf-8")(), payload[2:], is_last=True)
    return code


def ws_fault(detail: str) -> BadReply:
    return BadReply(Kind.WS_PROTOCOL, detail)


KEY_BYTES = 4
_POOL_BYTES = 4096
_NUMPY_PAYS_FROM_BYTES = 512


class MaskingKeys:
    """Random four-byte keys, fetched from the system in batches."""

    __slots__ = ("_at", "_pool")

    def __init__(self) -> None:
        self._pool = b""
        self._at = 0

    def take(self) -> bytes:
        if self._at >= len(self._pool):
            self._pool, self._at = os.urandom(_POOL_BYTES), 0
        self._at += KEY_BYTES
        return self._pool[self._at - KEY_BYTES : self._at]


def masked_copies(frame: bytes, payload_bytes: int, count: int) -> list[bytes]:
    """`count` copies of a frame, each masked with its own key; `frame` has a zero key."""
    copies = np.tile(np.frombuffer(frame, dtype=np.uint8), (count, 1))
    payloads = copies[:, len(frame) - payload_bytes - KEY_BYTES :]
    keys = np.frombuffer(os.urandom(count * KEY_BYTES), dtype=np.uint8).reshape(count, KEY_BYTES)
    payloads ^= keys[:, np.arange(payloads.shape[1]) % KEY_BYTES]
    return [copy.tobytes() for copy in copies]


def apply_mask(data: bytes, key: bytes) -> bytes:
    """`data` with byte i XORed with key[i mod 4]; masking and unmasking are the same."""
    size = len(data)
    if size >= _NUMPY_PAYS_FROM_BYTES:
        whole_words = data + bytes(-len(data) % 4)
        words = np.frombuffer(whole_words, dtype=np.uint32) ^ np.frombuffer(key, dtype=np.uint32)
        return words.tobytes()[: len(data)]
    mask = (key * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "big") ^ int.from_bytes(mask, "big")).to_bytes(size, "big")
