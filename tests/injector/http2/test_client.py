"""The client's side of a connection: what servers may say, held against `h2`, and may not."""

import time
import tracemalloc

import h2.config
import h2.connection
import h2.events
import pytest

from campaigns.domain.measured.outcomes import Kind
from tests.injector.http2.server_frames import (
    ACK,
    HEAD_AND_END,
    NOW,
    OK,
    SETTINGS,
    begun,
    body,
    feed_by,
    head,
    in_pieces,
    padded,
    reply,
    written,
)
from workers.injector.http2 import frames
from workers.injector.http2.broken import ConnectionBroken, NotProcessed
from workers.injector.http2.client import (
    CONNECTION_WINDOW_BYTES,
    CONTINUATION_CAP,
    IDLE_FRAMES_CAP,
    LET_GO_CAP,
    OPENING,
)
from workers.injector.http2.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HAS_PRIORITY,
    HEADERS,
    PADDED,
    frame,
    goaway,
    rst_stream,
    settings,
    window_update,
)
from workers.injector.http2.header_block import encode
from workers.injector.http2.stream import WINDOW_BYTES

pytestmark = pytest.mark.pure

PING = frame(frames.PING, 0, 0, bytes(8))
STATUS = (":status", "200")
H2, CAP = Kind.H2_PROTOCOL, Kind.HEADER_CAP
SPOKEN, RESET = Kind.H2_NOT_SPOKEN, Kind.H2_STREAM_RESET


def many(one, n=IDLE_FRAMES_CAP + 1):
    return one * n


# After SETTINGS, one request on stream 1: what must end the whole connection, and why.
CONNECTION = {
    "a frame larger than we take": (frame(DATA, 0, 1, bytes(16_385)), H2, "FRAME_SIZE_ERROR"),
    "a frame of 2^24 - 1 bytes": (b"\xff\xff\xff" + bytes(6), H2, "FRAME_SIZE_ERROR"),
    "DATA on stream 0": (body(b"x", 0), H2, "PROTOCOL_ERROR"),
    "DATA on an even stream": (body(b"x", 2), H2, "PROTOCOL_ERROR"),
    "DATA on a stream of the future": (body(b"x", 3), H2, "PROTOCOL_ERROR"),
    "DATA with padding that is all": (frame(DATA, PADDED, 1, b"\x01"), H2, "PROTOCOL_ERROR"),
    "DATA with padding but no length": (frame(DATA, PADDED, 1), H2, "PROTOCOL_ERROR"),
    "DATA after the end": (reply() + body(b"more"), H2, "STREAM_CLOSED"),
    "a second reply": (reply() + head(), H2, "STREAM_CLOSED"),
    "HEADERS on stream 0": (head(stream_id=0), H2, "PROTOCOL_ERROR"),
    "HEADERS on an even stream": (head(stream_id=2), H2, "PROTOCOL_ERROR"),
    "HEADERS on a stream of the future": (head(stream_id=3), H2, "PROTOCOL_ERROR"),
    "HEADERS without their priority": (
        frame(HEADERS, END_HEADERS | HAS_PRIORITY, 1, b"\x00\x00"),
        H2,
        "FRAME_SIZE_ERROR",
    ),
    "HEADERS with padding that is all": (
        frame(HEADERS, END_HEADERS | PADDED, 1, b"\x02\x88"),
        H2,
        "PROTOCOL_ERROR",
    ),
    "a block that cannot be read": (
        frame(HEADERS, END_HEADERS, 1, b"\xff\xff"),
        H2,
        "COMPRESSION_ERROR",
    ),
    "a block of another table": (
        frame(HEADERS, END_HEADERS, 1, b"\x88\xbe"),
        H2,
        "COMPRESSION_ERROR",
    ),
    "a table that we did not allow": (
        frame(HEADERS, END_HEADERS, 1, b"\x3f\xe1\x1f\x88"),
        H2,
        "COMPRESSION_ERROR",
    ),
    "trailers that cannot be read": (
        head() + frame(HEADERS, HEAD_AND_END, 1, b"\x80"),
        H2,
        "COMPRESSION_ERROR",
    ),
    "DATA within a block": (head(flags=0) + body(b"x"), H2, "PROTOCOL_ERROR"),
    "PING within a block": (head(flags=0) + PING, H2, "PROTOCOL_ERROR"),
    "an unknown frame within a block": (head(flags=0) + frame(77, 0, 1), H2, "PROTOCOL_ERROR"),
    "another stream within a block": (
        head(flags=0) + frame(CONTINUATION, END_HEADERS, 3),
        H2,
        "PROTOCOL_ERROR",
    ),
    "CONTINUATION of nothing": (frame(CONTINUATION, END_HEADERS, 1), H2, "PROTOCOL_ERROR"),
    "CONTINUATION of a whole block": (head() + frame(CONTINUATION, 4, 1), H2, "PROTOCOL_ERROR"),
    "CONTINUATION without end": (
        head(flags=0) + many(frame(CONTINUATION, 0, 1), CONTINUATION_CAP),
        CAP,
        "ENHANCE_YOUR_CALM",
    ),
    "CONTINUATION of a block without end": (
        head(flags=0) + many(frame(CONTINUATION, 0, 1, bytes(16_000)), 5),
        CAP,
        "ENHANCE_YOUR_CALM",
    ),
    "a push": (frame(frames.PUSH_PROMISE, END_HEADERS, 1, bytes(4)), H2, "PROTOCOL_ERROR"),
    "SETTINGS on a stream": (frame(frames.SETTINGS, 0, 1), H2, "PROTOCOL_ERROR"),
    "SETTINGS of five bytes": (frame(frames.SETTINGS, 0, 0, bytes(5)), H2, "FRAME_SIZE_ERROR"),
    "an acknowledgement with settings": (
        frame(frames.SETTINGS, frames.ACK, 0, bytes(6)),
        H2,
        "FRAME_SIZE_ERROR",
    ),
    "push allowed by a server": (settings({frames.ENABLE_PUSH: 1}), H2, "PROTOCOL_ERROR"),
    "push allowed twice by a server": (settings({frames.ENABLE_PUSH: 2}), H2, "PROTOCOL_ERROR"),
    "an initial window of 2^31": (
        settings({frames.INITIAL_WINDOW_SIZE: 1 << 31}),
        H2,
        "FLOW_CONTROL_ERROR",
    ),
    "frames of 16,383 bytes": (settings({frames.MAX_FRAME_SIZE: 16_383}), H2, "PROTOCOL_ERROR"),
    "frames of 2^24 bytes": (settings({frames.MAX_FRAME_SIZE: 1 << 24}), H2, "PROTOCOL_ERROR"),
    "a window of 2^31 for all": (
        window_update(0, (1 << 31) - 65_536) + window_update(0, 1),
        H2,
        "FLOW_CONTROL_ERROR",
    ),
    "a window that does not grow": (window_update(0, 0), H2, "PROTOCOL_ERROR"),
    "WINDOW_UPDATE of three bytes": (
        frame(frames.WINDOW_UPDATE, 0, 0, bytes(3)),
        H2,
        "FRAME_SIZE_ERROR",
    ),
    "WINDOW_UPDATE of the future": (window_update(3, 1), H2, "PROTOCOL_ERROR"),
    "RST_STREAM on stream 0": (rst_stream(0, 8), H2, "PROTOCOL_ERROR"),
    "RST_STREAM of the future": (rst_stream(5, 8), H2, "PROTOCOL_ERROR"),
    "RST_STREAM of five bytes": (
        frame(frames.RST_STREAM, 0, 1, bytes(5)),
        H2,
        "FRAME_SIZE_ERROR",
    ),
    "PING on a stream": (frame(frames.PING, 0, 1, bytes(8)), H2, "PROTOCOL_ERROR"),
    "PING of seven bytes": (frame(frames.PING, 0, 0, bytes(7)), H2, "FRAME_SIZE_ERROR"),
    "PRIORITY of four bytes": (frame(frames.PRIORITY, 0, 1, bytes(4)), H2, "FRAME_SIZE_ERROR"),
    "PRIORITY on stream 0": (frame(frames.PRIORITY, 0, 0, bytes(5)), H2, "PROTOCOL_ERROR"),
    "GOAWAY on a stream": (frame(frames.GOAWAY, 0, 1, bytes(8)), H2, "PROTOCOL_ERROR"),
    "GOAWAY of seven bytes": (frame(frames.GOAWAY, 0, 0, bytes(7)), H2, "FRAME_SIZE_ERROR"),
    "a GOAWAY that takes more": (goaway(1, 0) + goaway(3, 0), H2, "PROTOCOL_ERROR"),
    "a PING flood": (many(PING), H2, "ENHANCE_YOUR_CALM"),
    "a flood of answers to no PING": (many(frame(6, 1, 0, bytes(8))), H2, "ENHANCE_YOUR_CALM"),
    "a SETTINGS flood": (many(SETTINGS), H2, "ENHANCE_YOUR_CALM"),
    "a flood of acknowledgements": (many(ACK), H2, "ENHANCE_YOUR_CALM"),
    "a WINDOW_UPDATE flood": (many(window_update(0, 1)), H2, "ENHANCE_YOUR_CALM"),
    "a PRIORITY flood": (many(frame(frames.PRIORITY, 0, 9, bytes(5))), H2, "ENHANCE_YOUR_CALM"),
    "a flood of unknown frames": (many(frame(99, 0xFF, 1, b"x")), H2, "ENHANCE_YOUR_CALM"),
    "a flood of empty DATA": (head() + many(body(b"", flags=0)), H2, "ENHANCE_YOUR_CALM"),
    "a flood of DATA that is padding": (
        head() + many(padded(DATA, 0, b"", 255)),
        H2,
        "ENHANCE_YOUR_CALM",
    ),
    "an RST flood on what has ended": (reply() + many(rst_stream(1, 0)), H2, "ENHANCE_YOUR_CALM"),
    "a GOAWAY flood": (many(goaway(1, 0)), H2, "ENHANCE_YOUR_CALM"),
}
# What must end the stream only; the server is told why.
STREAM = {
    "a reply without a status": (head(("server", "x")), H2, "PROTOCOL_ERROR"),
    "a reply without headers": (frame(HEADERS, END_HEADERS, 1), H2, "PROTOCOL_ERROR"),
    "the status behind a header": (head(("a", "b"), STATUS), H2, "PROTOCOL_ERROR"),
    "two statuses": (head(STATUS, STATUS), H2, "PROTOCOL_ERROR"),
    "a status of two digits": (head((":status", "20")), H2, "PROTOCOL_ERROR"),
    "status 600": (head((":status", "600")), H2, "PROTOCOL_ERROR"),
    "a status with a reason": (head((":status", "200 OK")), H2, "PROTOCOL_ERROR"),
    "a path in a reply": (head(STATUS, (":path", "/")), H2, "PROTOCOL_ERROR"),
    "status 101": (head((":status", "101")), H2, "PROTOCOL_ERROR"),
    "a name in capitals": (head(STATUS, ("Server", "x")), H2, "PROTOCOL_ERROR"),
    "an empty name": (head(STATUS, ("", "x")), H2, "PROTOCOL_ERROR"),
    "a name with a space": (head(STATUS, ("a b", "x")), H2, "PROTOCOL_ERROR"),
    "a value with a line feed": (head(STATUS, ("a", "b\nc: d")), H2, "PROTOCOL_ERROR"),
    "a value with a zero byte": (head(STATUS, ("a", "b\0")), H2, "PROTOCOL_ERROR"),
    "a value that begins with a space": (head(STATUS, ("a", " b")), H2, "PROTOCOL_ERROR"),
    "a Connection header": (head(STATUS, ("connection", "close")), H2, "PROTOCOL_ERROR"),
    "a Transfer-Encoding": (head(STATUS, ("transfer-encoding", "chunked")), H2, "PROTOCOL_ERROR"),
    "101 headers": (head(STATUS, *[("a", "b")] * 101), CAP, "ENHANCE_YOUR_CALM"),
    "headers of more than 64 KiB": (
        in_pieces(STATUS, *[("a", "0" * 9000)] * 9, size=16_000),
        CAP,
        "ENHANCE_YOUR_CALM",
    ),
    "a bomb of static headers": (
        frame(HEADERS, END_HEADERS, 1, b"\x88" + b"\x90" * 16_000),
        CAP,
        "ENHANCE_YOUR_CALM",
    ),
    "a length that is none": (head(STATUS, ("content-length", "-1")), H2, "PROTOCOL_ERROR"),
    "two lengths": (
        head(STATUS, ("content-length", "1"), ("content-length", "2")),
        H2,
        "PROTOCOL_ERROR",
    ),
    "a body shorter than its length": (
        head(STATUS, ("content-length", "3")) + body(b"ok"),
        H2,
        "PROTOCOL_ERROR",
    ),
    "a body longer than its length": (
        head(STATUS, ("content-length", "1")) + body(b"ok"),
        H2,
        "PROTOCOL_ERROR",
    ),
    "no body where one was announced": (
        head(STATUS, ("content-length", "1"), flags=HEAD_AND_END),
        H2,
        "PROTOCOL_ERROR",
    ),
    "a length of more than we take": (
        head(STATUS, ("content-length", str((64 << 20) + 1))),
        Kind.BODY_CAP,
        "CANCEL",
    ),
    "a body without a head": (body(b"ok"), H2, "PROTOCOL_ERROR"),
    "a body behind an interim reply": (
        head((":status", "103")) + body(b"ok"),
        H2,
        "PROTOCOL_ERROR",
    ),
    "nothing but an interim reply": (
        head((":status", "103"), flags=HEAD_AND_END),
        H2,
        "PROTOCOL_ERROR",
    ),
    "interim replies without end": (head((":status", "103")) * 21, H2, "ENHANCE_YOUR_CALM"),
    "trailers that are not the end": (head() + head(("a", "b")), H2, "PROTOCOL_ERROR"),
    "a status in the trailers": (head() + head(flags=HEAD_AND_END), H2, "PROTOCOL_ERROR"),
    "trailers in capitals": (head() + head(("A", "b"), flags=HEAD_AND_END), H2, "PROTOCOL_ERROR"),
    "a window of the stream that does not grow": (window_update(1, 0), H2, "PROTOCOL_ERROR"),
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
    "the head alone says the end": head() + body(b"ok", flags=0) + body(b""),
    "a body in pieces": head() + body(b"o", flags=0) + body(b"k"),
    "padding around all": padded(HEADERS, END_HEADERS, encode(OK), 255)
    + padded(DATA, END_STREAM, b"ok", 0),
    "priority of a head": frame(HEADERS, END_HEADERS | HAS_PRIORITY, 1, bytes(5) + encode(OK))
    + body(b"ok"),
    "padding and priority of a head": padded(
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


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
@pytest.mark.parametrize("name", CONNECTION)
def test_what_ends_the_connection(name, step):
    data, kind, code = CONNECTION[name]
    client, _ = begun()
    client.feed(SETTINGS, NOW)
    with pytest.raises(ConnectionBroken) as caught:
        feed_by(client, data, step if len(data) < 5000 else 1 << 20)
    assert (caught.value.kind, caught.value.code.name) == (kind, code)


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
@pytest.mark.parametrize("name", STREAM)
def test_what_ends_the_stream_leaves_the_others(name, step):
    data, kind, code = STREAM[name]
    client, (stream, other) = begun(2)
    client.feed(SETTINGS, NOW)
    written(client)
    feed_by(client, data, step if len(data) < 5000 else 1 << 20)
    assert client.ended == [stream]
    assert (stream.is_complete, stream.failure.kind) == (False, kind)
    assert rst_stream(1, frames.Code[code]) in written(client)
    client.feed(reply(stream_id=3), NOW)
    assert other.is_complete


@pytest.mark.parametrize("name", ENDED)
def test_how_a_server_ends_a_stream(name):
    data, kind, words = ENDED[name]
    client, (stream,) = begun()
    client.feed(SETTINGS + data, NOW)
    assert (client.ended, stream.failure.kind) == ([stream], kind)
    assert words in str(stream.failure)
    may_go_again = name == "refused" or "GOAWAY" in name
    assert isinstance(stream.failure, NotProcessed) == may_go_again


@pytest.mark.parametrize("step", [1, 7, 1 << 20])
@pytest.mark.parametrize("name", ALLOWED)
def test_what_servers_may_do(name, step):
    client, (stream,) = begun(keep_bytes=100)
    feed_by(client, SETTINGS + ALLOWED[name], step)
    assert (stream.is_complete, stream.failure, stream.kept) == (True, None, b"ok")
    assert (stream.head.status, stream.body_bytes, stream.end) == (200, 2, NOW)


@pytest.mark.parametrize("name", FIRST)
def test_a_server_begins_with_settings(name):
    data, kind = FIRST[name]
    client, _ = begun()
    with pytest.raises(ConnectionBroken) as caught:
        client.feed(data, NOW)
    assert caught.value.kind == kind


def test_there_are_more_than_eighty_hostile_cases():
    assert len(CONNECTION) + len(STREAM) + len(ENDED) + len(FIRST) > 100


def test_no_flood_takes_memory_or_time():
    for data, *_ in CONNECTION.values():
        client, _ = begun()
        client.feed(SETTINGS, NOW)
        tracemalloc.start()
        began = time.process_time()
        with pytest.raises(ConnectionBroken):
            client.feed(data, NOW)
        took_s, (_, peak_bytes) = time.process_time() - began, tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert took_s < 1
        assert peak_bytes < 1 << 20


# --- sizes ---------------------------------------------------------------------------------------
def test_bytes_are_counted_by_what_they_are():
    client, (stream,) = begun()
    trailers = head(("a", "b"), flags=HEAD_AND_END)
    first = head((":status", "103"))
    data = padded(DATA, 0, b"ok", 5)
    client.feed(SETTINGS + PING + first + head() + data + trailers, NOW)
    assert stream.head_bytes == len(first + head())
    assert stream.body_bytes == 2
    assert stream.received_bytes == len(first + head() + data + trailers)


# --- flow control --------------------------------------------------------------------------------
def test_room_is_given_back_before_it_is_used_up():
    client, (stream,) = begun()
    client.feed(SETTINGS + head(), NOW)
    written(client)
    n_frames = WINDOW_BYTES // 2 // 16_000 + 1
    for _ in range(n_frames):
        client.feed(body(bytes(16_000), flags=0), NOW)
    assert written(client) == window_update(1, n_frames * 16_000)
    assert stream.failure is None


def test_more_than_the_window_is_refused():
    client, (stream,) = begun()
    client.feed(SETTINGS + head(), NOW)
    stream.their_room = 10
    client.feed(body(bytes(11), flags=0), NOW)
    assert stream.failure.code.name == "FLOW_CONTROL_ERROR"
    assert CONNECTION_WINDOW_BYTES < 1 << 31


def test_a_body_is_sent_as_the_windows_allow():
    client, (stream,) = begun(method="POST", text="x" * 100_000)
    first = written(client)
    assert stream.sent_bytes == len(first) - len(OPENING)
    client.feed(SETTINGS + window_update(1, 10), NOW)
    assert written(client) == ACK
    client.feed(window_update(0, 4), NOW)
    assert written(client) == body(b"xxxx", flags=0)
    client.feed(window_update(0, 100_000), NOW)
    assert written(client) == body(b"x" * 6, flags=0)
    client.feed(settings({frames.INITIAL_WINDOW_SIZE: 100_000}), NOW)
    sent = written(client)
    assert sent.endswith(ACK)
    assert (stream.unsent, client.written) == (b"", [stream])


def test_a_smaller_window_may_be_below_nothing():
    client, (stream,) = begun(method="POST", text="x" * 100_000)
    client.feed(settings({frames.INITIAL_WINDOW_SIZE: 0}), NOW)
    assert stream.room < 0
    written(client)
    client.feed(window_update(0, 1000) + window_update(1, 65_535), NOW)
    assert written(client) == b""
    client.feed(window_update(1, 5), NOW)
    assert written(client) == body(b"x" * 5, flags=0)


def test_a_stream_window_of_2_31_ends_the_stream():
    client, (stream,) = begun(method="POST", text="x" * 100_000)
    client.feed(SETTINGS + window_update(1, (1 << 31) - 1) * 2, NOW)
    assert stream.failure.code.name == "FLOW_CONTROL_ERROR"


def test_an_upload_in_many_pieces_is_no_flood():
    client, (stream,) = begun(method="POST", text="x" * 200_000)
    client.feed(SETTINGS + window_update(1, 200_000), NOW)
    for _ in range(3 * IDLE_FRAMES_CAP):
        client.feed(window_update(0, 10), NOW)
    assert stream.failure is None


def test_a_reply_before_the_whole_request_ends_the_upload():
    client, (stream,) = begun(method="POST", text="x" * 100_000)
    client.feed(SETTINGS + head((":status", "413"), flags=HEAD_AND_END), NOW)
    assert (stream.is_complete, stream.head.status) == (True, 413)
    assert written(client).endswith(rst_stream(1, 0))
    client.feed(window_update(0, 100_000), NOW)
    assert written(client) == b""


# --- streams that nobody waits for ----------------------------------------------------------------
def test_what_comes_of_a_stream_that_was_given_up_is_skipped():
    client, (stream, other) = begun(2)
    client.feed(SETTINGS + head(), NOW)
    client.give_up(stream)
    assert written(client).endswith(rst_stream(1, 8))
    client.feed(body(b"x", flags=0) + body(b"y") + reply(stream_id=3), NOW)
    assert client.ended == [other]
    with pytest.raises(ConnectionBroken):
        client.feed(body(b"z"), NOW)


def test_a_connection_that_was_given_up_on_often_takes_no_more():
    client, streams = begun(LET_GO_CAP)
    for stream in streams[1:]:
        client.give_up(stream)
    assert not client.is_draining
    client.give_up(streams[0])
    assert client.is_draining


def test_the_end_of_the_connection_ends_every_stream():
    client, (done, begun_to_come, silent) = begun(3)
    client.feed(SETTINGS + reply() + head(stream_id=3), NOW)
    client.end_of_input()
    assert client.ended == [done, begun_to_come, silent]
    kinds = [each.failure and each.failure.kind for each in client.ended]
    assert kinds == [None, Kind.EOF_MID_BODY, Kind.EOF_BEFORE_REPLY]


def test_a_goodbye_with_an_error_says_why_the_rest_was_lost():
    client, (stream,) = begun()
    client.feed(SETTINGS + goaway(1, 2), NOW)
    assert not client.ended
    client.end_of_input()
    assert (stream.failure.kind, "INTERNAL_ERROR" in str(stream.failure)) == (Kind.H2_GOAWAY, True)


def test_only_what_is_behind_a_goodbye_goes_again():
    client, (first, second) = begun(2)
    client.feed(SETTINGS + goaway(1, 0), NOW)
    assert (client.ended, client.is_draining) == ([second], True)
    client.feed(reply(), NOW)
    assert first.is_complete


# --- the other implementation ---------------------------------------------------------------------
def other_server():
    config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
    server = h2.connection.H2Connection(config)
    server.initiate_connection()
    return server


def answer(server, data, headers=(("content-length", "3"),)):
    """What h2 says when it has read this and answers each request with "abc"."""
    for event in server.receive_data(data):
        if isinstance(event, h2.events.DataReceived):
            server.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        if isinstance(event, h2.events.StreamEnded):
            server.send_headers(event.stream_id, [(":status", "200"), *headers])
            server.send_data(event.stream_id, b"abc", end_stream=True)
    return server.data_to_send()


@pytest.mark.parametrize("text", ["", "x", "x" * 300_000])
@pytest.mark.parametrize("path", ["/", "/a?b=" + "c" * 40_000])
def test_h2_understands_every_request(path, text):
    server = other_server()
    client, streams = begun(3, method="POST", path=path[:8000], text=text, keep_bytes=10)
    for _ in range(200):
        if said := answer(server, written(client)):
            client.feed(said, NOW)
        client.write_bodies()
    assert [stream.kept for stream in streams] == [b"abc"] * 3
    assert not client.out


def test_a_block_longer_than_a_frame_is_continued():
    long = frame(HEADERS, END_HEADERS | END_STREAM, 0, encode([("a", "\x01" * 50_000)]))
    split = frames.header_frames(long, 5)
    assert split.count(b"\x09\x00\x00\x00\x00\x05") + split.count(b"\x09\x04\x00\x00\x00\x05") == 3
    kinds = []
    at = 0
    while at < len(split):
        high, low, kind, flags, stream_id = frames.HEAD.unpack_from(split, at)
        kinds.append((kind, flags, stream_id))
        at += frames.HEAD_BYTES + (high << 8 | low)
    assert kinds == [(HEADERS, END_STREAM, 5), *[(CONTINUATION, 0, 5)] * 2, (CONTINUATION, 4, 5)]
