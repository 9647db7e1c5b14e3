"""HTTP/2 frames as bytes, without I/O: their numbers, and how they are written."""

import struct
from enum import IntEnum

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
