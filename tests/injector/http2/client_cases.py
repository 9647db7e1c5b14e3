"""What a server may say and may not, as bytes: the tables of test_client.py."""

from campaigns.domain.metrics.outcomes import Kind
from tests.injector.http2.server_frames import (
    ACK,
    HEAD_AND_END,
    OK,
    SETTINGS,
    body,
    head,
    in_pieces,
    pad,
    reply,
)
from workers.injector.http2 import frames
from workers.injector.http2.client import CONTINUATION_CAP, IDLE_FRAMES_CAP
from workers.injector.http2.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HAS_PRIORITY,
    HEADERS,
    PADDED,
    encode,
    frame,
    goaway,
    rst_stream,
    settings,
    window_update,
)

PING = frame(frames.PING, 0, 0, bytes(8))
STATUS = (":status", "200")
H2, CAP = Kind.H2_PROTOCOL, Kind.HEADER_CAP
SPOKEN, RESET = Kind.H2_NOT_SPOKEN, Kind.H2_STREAM_RESET
PROTOCOL, SIZE, PACKING = "PROTOCOL_ERROR", "FRAME_SIZE_ERROR", "COMPRESSION_ERROR"
FLOW, CALM, CLOSED = "FLOW_CONTROL_ERROR", "ENHANCE_YOUR_CALM", "STREAM_CLOSED"


def many(one, n=IDLE_FRAMES_CAP + 1):
    return one * n


# After SETTINGS, one request on stream 1: what must end the whole connection, and why.
CONNECTION = {
    "a frame larger than we take": (frame(DATA, 0, 1, bytes(16_385)), H2, SIZE),
    "a frame of 2^24 - 1 bytes": (b"\xff\xff\xff" + bytes(6), H2, SIZE),
    "DATA on stream 0": (body(b"x", 0), H2, PROTOCOL),
    "DATA on an even stream": (body(b"x", 2), H2, PROTOCOL),
    "DATA on a stream of the future": (body(b"x", 3), H2, PROTOCOL),
    "DATA with padding that is all": (frame(DATA, PADDED, 1, b"\x01"), H2, PROTOCOL),
    "DATA with padding but no length": (frame(DATA, PADDED, 1), H2, PROTOCOL),
    "DATA after the end": (reply() + body(b"more"), H2, CLOSED),
    "a second reply": (reply() + head(), H2, CLOSED),
    "HEADERS on stream 0": (head(stream_id=0), H2, PROTOCOL),
    "HEADERS on an even stream": (head(stream_id=2), H2, PROTOCOL),
    "HEADERS on a stream of the future": (head(stream_id=3), H2, PROTOCOL),
    "HEADERS without their priority": (
        frame(HEADERS, END_HEADERS | HAS_PRIORITY, 1, b"\x00\x00"),
        H2,
        SIZE,
    ),
    "HEADERS with padding that is all": (
        frame(HEADERS, END_HEADERS | PADDED, 1, b"\x02\x88"),
        H2,
        PROTOCOL,
    ),
    "a block that cannot be read": (frame(HEADERS, END_HEADERS, 1, b"\xff\xff"), H2, PACKING),
    "a block of another table": (frame(HEADERS, END_HEADERS, 1, b"\x88\xbe"), H2, PACKING),
    "a table that we did not allow": (
        frame(HEADERS, END_HEADERS, 1, b"\x3f\xe1\x1f\x88"),
        H2,
        PACKING,
    ),
    "trailers that cannot be read": (
        head() + frame(HEADERS, HEAD_AND_END, 1, b"\x80"),
        H2,
        PACKING,
    ),
    "DATA within a block": (head(flags=0) + body(b"x"), H2, PROTOCOL),
    "PING within a block": (head(flags=0) + PING, H2, PROTOCOL),
    "an unknown frame within a block": (head(flags=0) + frame(77, 0, 1), H2, PROTOCOL),
    "another stream within a block": (
        head(flags=0) + frame(CONTINUATION, END_HEADERS, 3),
        H2,
        PROTOCOL,
    ),
    "CONTINUATION of nothing": (frame(CONTINUATION, END_HEADERS, 1), H2, PROTOCOL),
    "CONTINUATION of a whole block": (head() + frame(CONTINUATION, 4, 1), H2, PROTOCOL),
    "CONTINUATION without end": (
        head(flags=0) + many(frame(CONTINUATION, 0, 1), CONTINUATION_CAP),
        CAP,
        CALM,
    ),
    "CONTINUATION of a block without end": (
        head(flags=0) + many(frame(CONTINUATION, 0, 1, bytes(16_000)), 5),
        CAP,
        CALM,
    ),
    "a push": (frame(frames.PUSH_PROMISE, END_HEADERS, 1, bytes(4)), H2, PROTOCOL),
    "SETTINGS on a stream": (frame(frames.SETTINGS, 0, 1), H2, PROTOCOL),
    "SETTINGS of five bytes": (frame(frames.SETTINGS, 0, 0, bytes(5)), H2, SIZE),
    "an acknowledgement with settings": (frame(frames.SETTINGS, frames.ACK, 0, bytes(6)), H2, SIZE),
    "push allowed by a server": (settings({frames.ENABLE_PUSH: 1}), H2, PROTOCOL),
    "push allowed twice by a server": (settings({frames.ENABLE_PUSH: 2}), H2, PROTOCOL),
    "an initial window of 2^31": (settings({frames.INITIAL_WINDOW_SIZE: 1 << 31}), H2, FLOW),
    "frames of 16,383 bytes": (settings({frames.MAX_FRAME_SIZE: 16_383}), H2, PROTOCOL),
    "frames of 2^24 bytes": (settings({frames.MAX_FRAME_SIZE: 1 << 24}), H2, PROTOCOL),
    "a window of 2^31 for all": (
        window_update(0, (1 << 31) - 65_536) + window_update(0, 1),
        H2,
        FLOW,
    ),
    "a window that does not grow": (window_update(0, 0), H2, PROTOCOL),
    "WINDOW_UPDATE of three bytes": (frame(frames.WINDOW_UPDATE, 0, 0, bytes(3)), H2, SIZE),
    "WINDOW_UPDATE of the future": (window_update(3, 1), H2, PROTOCOL),
    "RST_STREAM on stream 0": (rst_stream(0, 8), H2, PROTOCOL),
    "RST_STREAM of the future": (rst_stream(5, 8), H2, PROTOCOL),
    "RST_STREAM of five bytes": (frame(frames.RST_STREAM, 0, 1, bytes(5)), H2, SIZE),
    "PING on a stream": (frame(frames.PING, 0, 1, bytes(8)), H2, PROTOCOL),
    "PING of seven bytes": (frame(frames.PING, 0, 0, bytes(7)), H2, SIZE),
    "PRIORITY of four bytes": (frame(frames.PRIORITY, 0, 1, bytes(4)), H2, SIZE),
    "PRIORITY on stream 0": (frame(frames.PRIORITY, 0, 0, bytes(5)), H2, PROTOCOL),
    "GOAWAY on a stream": (frame(frames.GOAWAY, 0, 1, bytes(8)), H2, PROTOCOL),
    "GOAWAY of seven bytes": (frame(frames.GOAWAY, 0, 0, bytes(7)), H2, SIZE),
    "a GOAWAY that takes more": (goaway(1, 0) + goaway(3, 0), H2, PROTOCOL),
    "a PING flood": (many(PING), H2, CALM),
    "a flood of answers to no PING": (many(frame(6, 1, 0, bytes(8))), H2, CALM),
    "a SETTINGS flood": (many(SETTINGS), H2, CALM),
    "a flood of acknowledgements": (many(ACK), H2, CALM),
    "a WINDOW_UPDATE flood": (many(window_update(0, 1)), H2, CALM),
    "a PRIORITY flood": (many(frame(frames.PRIORITY, 0, 9, bytes(5))), H2, CALM),
    "a flood of unknown frames": (many(frame(99, 0xFF, 1, b"x")), H2, CALM),
    "a flood of empty DATA": (head() + many(body(b"", flags=0)), H2, CALM),
    "a flood of DATA that is padding": (head() + many(pad(DATA, 0, b"", 255)), H2, CALM),
    "an RST flood on what has ended": (reply() + many(rst_stream(1, 0)), H2, CALM),
    "a GOAWAY flood": (many(goaway(1, 0)), H2, CALM),
}
# What must end the stream only; the server is told why.
STREAM = {
    "a reply without a status": (head(("server", "x")), H2, PROTOCOL),
    "a reply without headers": (frame(HEADERS, END_HEADERS, 1), H2, PROTOCOL),
    "the status behind a header": (head(("a", "b"), STATUS), H2, PROTOCOL),
    "two statuses": (head(STATUS, STATUS), H2, PROTOCOL),
    "a status of two digits": (head((":status", "20")), H2, PROTOCOL),
    "status 600": (head((":status", "600")), H2, PROTOCOL),
    "a status with a reason": (head((":status", "200 OK")), H2, PROTOCOL),
    "a path in a reply": (head(STATUS, (":path", "/")), H2, PROTOCOL),
    "status 101": (head((":status", "101")), H2, PROTOCOL),
    "a name in capitals": (head(STATUS, ("Server", "x")), H2, PROTOCOL),
    "an empty name": (head(STATUS, ("", "x")), H2, PROTOCOL),
    "a name with a space": (head(STATUS, ("a b", "x")), H2, PROTOCOL),
    "a value with a line feed": (head(STATUS, ("a", "b\nc: d")), H2, PROTOCOL),
    "a value with a zero byte": (head(STATUS, ("a", "b\0")), H2, PROTOCOL),
    "a Connection header": (head(STATUS, ("connection", "close")), H2, PROTOCOL),
    "a Transfer-Encoding": (head(STATUS, ("transfer-encoding", "chunked")), H2, PROTOCOL),
    "101 headers": (head(STATUS, *[("a", "b")] * 101), CAP, CALM),
    "headers of more than 64 KiB": (
        in_pieces(STATUS, *[("a", "0" * 9000)] * 9, size=16_000),
        CAP,
        CALM,
    ),
    "a bomb of static headers": (
        frame(HEADERS, END_HEADERS, 1, b"\x88" + b"\x90" * 16_000),
        CAP,
        CALM,
    ),
    "a length that is none": (head(STATUS, ("content-length", "-1")), H2, PROTOCOL),
    "two lengths": (head(STATUS, ("content-length", "1"), ("content-length", "2")), H2, PROTOCOL),
    "a body shorter than its length": (
        head(STATUS, ("content-length", "3")) + body(b"ok"),
        H2,
        PROTOCOL,
    ),
    "a body longer than its length": (
        head(STATUS, ("content-length", "1")) + body(b"ok"),
        H2,
        PROTOCOL,
    ),
    "no body where one was announced": (
        head(STATUS, ("content-length", "1"), flags=HEAD_AND_END),
        H2,
        PROTOCOL,
    ),
    "a length of more than we take": (
        head(STATUS, ("content-length", str((64 << 20) + 1))),
        Kind.BODY_CAP,
        "CANCEL",
    ),
    "a body without a head": (body(b"ok"), H2, PROTOCOL),
    "a body behind an interim reply": (head((":status", "103")) + body(b"ok"), H2, PROTOCOL),
    "nothing but an interim reply": (head((":status", "103"), flags=HEAD_AND_END), H2, PROTOCOL),
    "interim replies without end": (head((":status", "103")) * 21, H2, CALM),
    "trailers that are not the end": (head() + head(("a", "b")), H2, PROTOCOL),
    "a status in the trailers": (head() + head(flags=HEAD_AND_END), H2, PROTOCOL),
    "trailers in capitals": (head() + head(("A", "b"), flags=HEAD_AND_END), H2, PROTOCOL),
    "a window of the stream that does not grow": (window_update(1, 0), H2, PROTOCOL),
}
# Ends of the stream that the server wants; nobody is told.
ENDED = {
    "reset": (rst_stream(1, 2), RESET, "INTERNAL_ERROR"),
    "reset within the body": (head() + body(b"o", flags=0) + rst_stream(1, 8), RESET, "CANCEL"),
    "reset without an error": (rst_stream(1, 0), RESET, "NO_ERROR"),
    "reset for a reason of the future": (rst_stream(1, 99), RESET, "0x63"),
    "refused": (rst_stream(1, 7), RESET, "REFUSED_STREAM"),
    "HTTP/1.1 wanted": (rst_stream(1, 13), SPOKEN, "HTTP_1_1_REQUIRED"),
    "GOAWAY before it": (goaway(0, 0), Kind.H2_GOAWAY, "NO_ERROR"),
    "GOAWAY before it, with an error": (goaway(0, 11), Kind.H2_GOAWAY, "ENHANCE_YOUR_CALM"),
}
# What servers may do; all of it ends with the whole body "ok".
ALLOWED = {
    "a plain reply": reply(),
    "spaces and tabs around a value": head(STATUS, ("a", " \tb "), ("content-length", " 2 "))
    + body(b"ok"),
    "the head alone says the end": head() + body(b"ok", flags=0) + body(b""),
    "a body in pieces": head() + body(b"o", flags=0) + body(b"k"),
    "padding around all": pad(HEADERS, END_HEADERS, encode(OK), 255)
    + pad(DATA, END_STREAM, b"ok", 0),
    "priority of a head": frame(HEADERS, END_HEADERS | HAS_PRIORITY, 1, bytes(5) + encode(OK))
    + body(b"ok"),
    "padding and priority of a head": pad(
        HEADERS, END_HEADERS | HAS_PRIORITY, bytes(5) + encode(OK), 9
    )
    + body(b"ok"),
    "a head byte by byte": in_pieces() + body(b"ok"),
    "a head with empty pieces": head(flags=0) + frame(CONTINUATION, 0, 1) * 9
    + frame(CONTINUATION, END_HEADERS, 1) + body(b"ok"),
    "interim replies": head((":status", "100")) + head((":status", "103"), ("link", "x")) + reply(),
    "trailers": head() + body(b"ok", flags=0) + head(("grpc-status", "0"), flags=HEAD_AND_END),
    "trailers in pieces": head() + body(b"ok", flags=0) + in_pieces(("a", "b"), flags=END_STREAM),
    "a length that is right": head(STATUS, ("content-length", "2")) + body(b"ok"),
    "the same length twice": head(*[STATUS], *[("content-length", "2")] * 2) + body(b"ok"),
    "a table of no bytes": frame(HEADERS, END_HEADERS, 1, b"\x20" + encode(OK)) + body(b"ok"),
    "headers for a table that there is not": frame(HEADERS, END_HEADERS, 1, b"\x88\x40\x01a\x01b")
    + body(b"ok"),
    "a ping before it": PING + reply(),
    "settings before it": SETTINGS + ACK + reply(),
    "settings of the future": settings({0x77: 1 << 31}) + reply(),
    "frames of the future": frame(0xFA, 0xFF, 0, b"grease") + frame(0xBB, 0, 1) + reply(),
    "priorities": frame(frames.PRIORITY, 0, 7, bytes(5)) + reply(),
    "a goodbye before it": goaway((1 << 31) - 1, 0) + goaway(1, 0) + reply(),
    "the windows at their largest": window_update(0, (1 << 31) - 65_536)
    + settings({frames.INITIAL_WINDOW_SIZE: (1 << 31) - 1}) + reply(),
    "reserved bits": frame(HEADERS, END_HEADERS, 1 | 1 << 31, encode(OK)) + body(b"ok"),
    "reset behind it": reply() + rst_stream(1, 0),
    "windows behind it": reply() + window_update(1, 5),
    "a thousand frames that do nothing": many(PING, IDLE_FRAMES_CAP - 1) + reply(),
}  # fmt: skip
FIRST = {
    "HTTP/1.1": (b"HTTP/1.1 400 Bad Request\r\n\r\n", SPOKEN),
    "HTTP/1.1 in pieces": (b"HTT", SPOKEN),
    "a PING first": (PING, SPOKEN),
    "a reply first": (reply(), SPOKEN),
    "an acknowledgement first": (ACK, H2),
    "a GOAWAY first": (goaway(0, 0), SPOKEN),
    "zeros": (bytes(100), SPOKEN),
    "TLS": (b"\x15\x03\x03\x00\x02\x02\x50" + bytes(9), H2),
}
