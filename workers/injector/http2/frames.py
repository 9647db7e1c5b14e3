"""HTTP/2 frames as bytes, without I/O: their numbers, and how they are written.

Header compression (RFC 7541), without a dynamic table in either direction; and what breaks a
stream or a connection.

Our SETTINGS_HEADER_TABLE_SIZE is 0. So a server can put nothing into its table, no block depends on
an earlier one, and equal bytes mean equal headers. Requests use the static table only: a step is
encoded once, whatever connection it is sent on. Tables and Huffman code are those of `hpack`.

The head of a reply from its header block; one that RFC 9113 forbids ends the stream."""

import re
import struct
from collections.abc import Iterable, Sequence
from enum import IntEnum

from hpack.exceptions import HPACKDecodingError
from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.plan.plan import Plan
from workers.injector.http1 import (
    BODY_CAP_BYTES,
    HEADER_CAP_BYTES,
    HEADER_CAP_COUNT,
    MEMO_CAP,
    SERVERS_CAP,
    BadReply,
    Head,
    charset_of,
    coding_of,
    header_values,
)
from workers.injector.reply import OFTEN_A_FAILURE

(
    DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE,
    CONTINUATION,
) = range(10)  # fmt: skip
END_STREAM, ACK, END_HEADERS, PADDED, HAS_PRIORITY = 0x01, 0x01, 0x04, 0x08, 0x20
(
    HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE,
    MAX_HEADER_LIST_SIZE,
) = range(1, 7)  # fmt: skip

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD_BYTES = 9
# Where in a frame's head its stream's number is, four bytes.
STREAM_AT = 5
# The least that either side must accept; we never ask for more.
FRAME_BYTES = 16_384
LARGEST_FRAME_BYTES = (1 << 24) - 1
# Also the largest stream number.
LARGEST_WINDOW = (1 << 31) - 1
DEFAULT_WINDOW = 65_535
DEFAULT_TABLE_BYTES = 4096

# The upper 16 bits of the length, the lower 8, kind, flags, stream.
HEAD = struct.Struct(">HBBBI")
SETTING = struct.Struct(">HI")
NUMBER = struct.Struct(">I")


class Code(IntEnum):
    """Why a stream or a connection ended (RFC 9113, section 7)."""

    NO_ERROR = 0x0
    PROTOCOL_ERROR = 0x1
    INTERNAL_ERROR = 0x2
    FLOW_CONTROL_ERROR = 0x3
    SETTINGS_TIMEOUT = 0x4
    STREAM_CLOSED = 0x5
    FRAME_SIZE_ERROR = 0x6
    REFUSED_STREAM = 0x7
    CANCEL = 0x8
    COMPRESSION_ERROR = 0x9
    CONNECT_ERROR = 0xA
    ENHANCE_YOUR_CALM = 0xB
    INADEQUATE_SECURITY = 0xC
    HTTP_1_1_REQUIRED = 0xD


def code_name(code: int) -> str:
    """REFUSED_STREAM; one that the RFC does not know as 0x1f."""
    return Code(code).name if code in Code.__members__.values() else f"{code:#x}"


def frame(kind: int, flags: int, stream_id: int, payload: bytes = b"") -> bytes:
    size = len(payload)
    return HEAD.pack(size >> 8, size & 0xFF, kind, flags, stream_id) + payload


def settings(values: dict[int, int]) -> bytes:
    return frame(SETTINGS, 0, 0, b"".join(SETTING.pack(*pair) for pair in values.items()))


def window_update(stream_id: int, more: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, stream_id, NUMBER.pack(more))


def rst_stream(stream_id: int, code: int) -> bytes:
    return frame(RST_STREAM, 0, stream_id, NUMBER.pack(code))


def goaway(last_stream_id: int, code: int) -> bytes:
    return frame(GOAWAY, 0, 0, NUMBER.pack(last_stream_id) + NUMBER.pack(code))


def header_frames(data: bytes | bytearray, stream_id: int, most: int = FRAME_BYTES) -> bytes:
    """A HEADERS frame of any size for this stream, with CONTINUATION where it is longer than the
    server takes. `data`: the frame as written for stream 0."""
    block = data[HEAD_BYTES:]
    kind, flags = HEADERS, data[4]
    if len(block) <= most:
        return frame(kind, flags, stream_id, block)
    first = frame(kind, flags & ~END_HEADERS, stream_id, block[:most])
    parts = [block[at : at + most] for at in range(most, len(block), most)]
    rest = [frame(CONTINUATION, 0, stream_id, part) for part in parts[:-1]]
    return b"".join([first, *rest, frame(CONTINUATION, END_HEADERS, stream_id, parts[-1])])


class StreamBroken(BadReply):
    """Ends one stream; `code` tells the server why."""

    def __init__(self, code: Code, detail: str, kind: Kind = Kind.H2_PROTOCOL):
        self.code = code
        super().__init__(kind, detail)


class ConnectionBroken(BadReply):
    """Ends the connection and all of its streams; `code` tells the server why."""

    def __init__(self, code: Code, detail: str, kind: Kind = Kind.H2_PROTOCOL):
        self.code = code
        super().__init__(kind, detail)


class NotProcessed(BadReply):
    """The server did not process the request, and said so: it may be sent again."""


Field = tuple[str, str]

# No proxy on the way may keep these in a table, where they could be guessed by their length.
SECRET = frozenset({"authorization", "cookie", "proxy-authorization"})
# The first bits of each form of a field, and how many of the byte's bits are then a number's.
_INDEXED, _INDEXED_BITS = 0x80, 7
_ADDED, _ADDED_BITS = 0x40, 6
_RESIZED, _RESIZED_BITS = 0x20, 5
# What a block begins with that must say how much of the table its writer uses: nothing.
EMPTY_TABLE = bytes((_RESIZED,))
_NEVER_INDEXED, _PLAIN, _LITERAL_BITS = 0x10, 0x00, 4
_HUFFMAN, _LENGTH_BITS = 0x80, 7
# No number of ours is longer than four bytes after the first.
_MOST_SHIFT = 28
# RFC 7541 counts so many bytes more for each field of a list.
_FIELD_BYTES = 32
_FIELDS_CAP, _FIELD_CAP_BYTES = 2048, 512

_STATIC = [(name.decode(), value.decode()) for name, value in HeaderTable.STATIC_TABLE]
_INDEX_OF_FIELD = {field: index for index, field in enumerate(_STATIC, 1) if field[1]}
_INDEX_OF_NAME = {name: index for index, (name, _) in reversed(list(enumerate(_STATIC, 1)))}
_huffman = HuffmanEncoder(REQUEST_CODES, REQUEST_CODES_LENGTH)
# Replies repeat most of their fields: what a literal's bytes mean.
_known_fields: dict[bytes, Field] = {}


def encode(headers: Iterable[Field]) -> bytes:
    """A header block; names in lower case, pseudo-headers first."""
    return b"".join(_encode_field(*field) for field in headers)


def _encode_field(name: str, value: str) -> bytes:
    if index := _INDEX_OF_FIELD.get((name, value)):
        return _encode_integer(index, _INDEXED_BITS, _INDEXED)
    index = _INDEX_OF_NAME.get(name, 0)
    form = _NEVER_INDEXED if name in SECRET else _PLAIN
    name_bytes = b"" if index else _encode_string(name)
    return _encode_integer(index, _LITERAL_BITS, form) + name_bytes + _encode_string(value)


def _encode_integer(number: int, n_bits: int, form: int) -> bytes:
    most = (1 << n_bits) - 1
    if number < most:
        return bytes((form | number,))
    out = bytearray((form | most,))
    number -= most
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _encode_string(text: str) -> bytes:
    """Huffman-coded where that is shorter."""
    plain = text.encode("latin-1")
    huffman = _huffman.encode(plain)
    if len(huffman) < len(plain):
        return _encode_integer(len(huffman), _LENGTH_BITS, _HUFFMAN) + huffman
    return _encode_integer(len(plain), _LENGTH_BITS, 0) + plain


def decode(block: bytes) -> list[Field]:
    """The headers of a block from the server, in order. Raises ConnectionBroken, StreamBroken."""
    try:
        return _decode(block)
    except (IndexError, HPACKDecodingError) as error:
        raise _unreadable(str(error)) from None


def _decode(block: bytes) -> list[Field]:
    headers: list[Field] = []
    at = list_bytes = 0
    while at < len(block):
        first = block[at]
        if first & _INDEXED:
            index, at = _decode_integer(block, at, _INDEXED_BITS)
            field = _static_field(index)
        elif first & _ADDED:
            field, at = _decode_literal(block, at, _ADDED_BITS)
        elif first & _RESIZED:
            size, at = _decode_integer(block, at, _RESIZED_BITS)
            if size or headers:
                raise _unreadable("a table size that was not allowed")
            continue
        else:
            field, at = _decode_literal(block, at, _LITERAL_BITS)
        headers.append(field)
        list_bytes += len(field[0]) + len(field[1]) + _FIELD_BYTES
        if list_bytes > HEADER_CAP_BYTES:
            detail = f"headers of more than {HEADER_CAP_BYTES} bytes"
            raise StreamBroken(Code.ENHANCE_YOUR_CALM, detail, Kind.HEADER_CAP)
    return headers


def _decode_literal(block: bytes, start: int, n_bits: int) -> tuple[Field, int]:
    """(a literal field, where the next one begins); nothing is ever added to a table."""
    index, at = _decode_integer(block, start, n_bits)
    name_at = at
    if not index:
        at = _end_of_string(block, at)
    value_at, at = at, _end_of_string(block, at)
    if at > len(block):
        raise IndexError("it ends within a field")
    text = block[start:at]
    field = _known_fields.get(text)
    if field is None:
        name = _static_field(index)[0] if index else _decode_string(block, name_at)
        field = name, _decode_string(block, value_at)
        if len(text) <= _FIELD_CAP_BYTES:
            if len(_known_fields) >= _FIELDS_CAP:
                _known_fields.clear()
            _known_fields[text] = field
    return field, at


def _static_field(index: int) -> Field:
    if not 0 < index <= len(_STATIC):
        raise IndexError(f"no field has the index {index}")
    return _STATIC[index - 1]


def _end_of_string(block: bytes, at: int) -> int:
    size, at = _decode_integer(block, at, _LENGTH_BITS)
    return at + size


def _decode_string(block: bytes, at: int) -> str:
    is_packed = block[at] & _HUFFMAN
    size, at = _decode_integer(block, at, _LENGTH_BITS)
    text = block[at : at + size]
    return (decode_huffman(text) if is_packed else text).decode("latin-1")


def _decode_integer(block: bytes, at: int, n_bits: int) -> tuple[int, int]:
    most = (1 << n_bits) - 1
    number = block[at] & most
    at += 1
    if number < most:
        return number, at
    for shift in range(0, _MOST_SHIFT, 7):
        byte = block[at]
        at += 1
        number += (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    raise IndexError("a number without end")


def _unreadable(why: str) -> ConnectionBroken:
    detail = f"a header block that cannot be read: {why}"
    return ConnectionBroken(Code.COMPRESSION_ERROR, detail)


_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_FORBIDDEN_IN_VALUE = re.compile(r"[\x00\r\n]")
_STATUS = re.compile(r"[1-5]\d\d")
_LENGTH = re.compile(r"\d{1,18}")
# They belong to a connection of HTTP/1.1.
_OF_A_CONNECTION = frozenset(
    {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}
)


class BlockMemo:
    """Parsed heads by the bytes of their blocks; replies mostly repeat one.

    `servers` are the values of their Server headers, in order; capped, in case they are random.
    `fits`: of each status that has come, whether it alone says that a reply is right. `usual`: of
    replies whose body fits into one frame, the block and that frame's head up to its stream →
    (head, bytes of its frame, of the body, of the whole reply).
    """

    def __init__(self, plan: Plan, method: str, *, has_rules: bool = False):
        """`has_rules`: the step asks for more than a status."""
        self._plan = plan
        self._method = method
        self._has_rules = has_rules
        self.heads: dict[bytes, Head] = {}
        self.servers: dict[str, None] = {}
        self.fits: dict[int, bool] = {}
        self.usual: dict[bytes, tuple[Head, int, int, int]] = {}

    def parse(self, block: bytes) -> Head:
        """Raises StreamBroken, ConnectionBroken."""
        head = parse_head(block, self._method)
        if len(self.heads) >= MEMO_CAP:
            self.heads.clear()
            self.usual.clear()
        self.heads[block] = head
        size = head.body_bytes
        if size and size <= FRAME_BYTES and 200 <= head.status < OFTEN_A_FAILURE:
            head_bytes = HEAD_BYTES + len(block)
            body = frame(DATA, END_STREAM, 0, bytes(size))
            self.usual[block + body[:STREAM_AT]] = head, head_bytes, size, head_bytes + len(body)
        is_expected = self._plan.status_is_expected(head.status)
        self.fits[head.status] = is_expected and not self._has_rules
        if len(self.servers) < SERVERS_CAP:
            self.servers.update(dict.fromkeys(header_values(head.headers, "server")[:1]))
        return head


def parse_head(block: bytes, method: str) -> Head:
    """`body_bytes` is None if only the stream's end delimits the body."""
    fields = decode(block)
    if not fields or fields[0][0] != ":status" or not _STATUS.fullmatch(fields[0][1]):
        raise _protocol_fault("a reply without a status")
    # RFC 9113 forbids spaces around a value; servers send them, and clients take them off.
    headers = [(name, value.strip(" \t")) for name, value in fields[1:]]
    check_fields(headers)
    status = int(fields[0][1])
    if status == 101:
        raise _protocol_fault("101, which HTTP/2 does not have")
    return Head(
        status=status,
        size_bytes=len(block),
        body_bytes=_body_bytes(status, method, headers),
        is_chunked=False,
        is_reusable=True,
        reason="",
        headers=tuple(headers),
        coding=coding_of(headers),
        charset=charset_of(headers),
    )


def check_fields(fields: Sequence[Field]) -> None:
    """Headers behind the status, or trailers. Raises StreamBroken."""
    if len(fields) > HEADER_CAP_COUNT:
        detail = f"{len(fields)} header lines"
        raise StreamBroken(Code.ENHANCE_YOUR_CALM, detail, Kind.HEADER_CAP)
    for name, value in fields:
        if not _NAME.fullmatch(name) or _FORBIDDEN_IN_VALUE.search(value):
            raise _protocol_fault(f"not a header: {name[:40]!r}: {value[:40]!r}")
        if name in _OF_A_CONNECTION:
            raise _protocol_fault(f"{name}, which HTTP/2 does not have")


def _body_bytes(status: int, method: str, headers: Sequence[Field]) -> int | None:
    lengths = set(header_values(headers, "content-length"))
    if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise _protocol_fault("not a content-length")
    if method == "HEAD" or status in {204, 304}:
        return 0
    if not lengths:
        return None
    size = int(lengths.pop())
    if size > BODY_CAP_BYTES:
        detail = f"a body of {size} bytes"
        raise StreamBroken(Code.CANCEL, detail, Kind.BODY_CAP)
    return size


def _protocol_fault(detail: str) -> StreamBroken:
    return StreamBroken(Code.PROTOCOL_ERROR, detail)
