"""Header compression (RFC 7541), without a dynamic table in either direction; and what breaks a
stream or a connection.

Our SETTINGS_HEADER_TABLE_SIZE is 0. So a server can put nothing into its table, no block depends on
an earlier one, and equal bytes mean equal headers. Requests use the static table only: a step is
encoded once, whatever connection it is sent on. Tables and Huffman code are those of `hpack`.
"""

from collections.abc import Iterable

from hpack.exceptions import HPACKDecodingError
from hpack.huffman import HuffmanEncoder
from hpack.huffman_constants import REQUEST_CODES, REQUEST_CODES_LENGTH
from hpack.huffman_table import decode_huffman
from hpack.table import HeaderTable

from campaigns.domain.metrics.outcomes import Kind
from workers.injector.http1 import HEADER_CAP_BYTES, BadReply
from workers.injector.http2.frames import Code


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
    named = b"" if index else _encode_string(name)
    return _encode_integer(index, _LITERAL_BITS, form) + named + _encode_string(value)


def _encode_integer(number: int, n_bits: int, form: int) -> bytes:
    most = (1 << n_bits) - 1
    if number < most:
        return bytes((form | number,))
    encoded = bytearray((form | most,))
    number -= most
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _encode_string(text: str) -> bytes:
    """Huffman-coded where that is shorter."""
    plain = text.encode("latin-1")
    packed = _huffman.encode(plain)
    if len(packed) < len(plain):
        return _encode_integer(len(packed), _LENGTH_BITS, _HUFFMAN) + packed
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
