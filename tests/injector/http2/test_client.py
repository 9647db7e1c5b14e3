"""The client's side of a connection: what servers may say, held against `h2`, and may not."""

import time
import tracemalloc

import h2.config
import h2.connection
import h2.events
import h2.settings
import pytest

from campaigns.domain.metrics.outcomes import Kind
from tests.injector.http2.client_cases import ALLOWED, CONNECTION, ENDED, FIRST, PING, STREAM
from tests.injector.http2.server_frames import (
    ACK,
    HEAD_AND_END,
    NOW,
    OK,
    PLAN,
    SETTINGS,
    body,
    feed_by,
    flush,
    head,
    pad,
    reply,
    start,
)
from workers.injector.http2 import frames
from workers.injector.http2.client import IDLE_FRAMES_CAP
from workers.injector.http2.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    BlockMemo,
    ConnectionBroken,
    NotProcessed,
    encode,
    frame,
    goaway,
    rst_stream,
    settings,
    window_update,
)
from workers.injector.http2.streams import (
    CONNECTION_WINDOW_BYTES,
    LET_GO_CAP,
    OPENING,
    WINDOW_BYTES,
)

pytestmark = pytest.mark.pure


def test_what_ends_the_connection():
    for name in CONNECTION:
        for step in [1, 7, 1 << 20]:
            data, kind, code = CONNECTION[name]
            client, _ = start()
            client.feed(SETTINGS, NOW)
            with pytest.raises(ConnectionBroken) as failure:
                feed_by(client, data, step if len(data) < 5000 else 1 << 20)
            assert (failure.value.kind, failure.value.code.name) == (kind, code)


def test_what_ends_the_stream_leaves_the_others():
    for name in STREAM:
        for step in [1, 7, 1 << 20]:
            data, kind, code = STREAM[name]
            client, (stream, other) = start(2)
            client.feed(SETTINGS, NOW)
            flush(client)
            feed_by(client, data, step if len(data) < 5000 else 1 << 20)
            assert client.ended_streams == [stream]
            assert (stream.is_complete, stream.failure.kind) == (False, kind)
            assert rst_stream(1, frames.Code[code]) in flush(client)
            client.feed(reply(stream_id=3), NOW)
            assert other.is_complete


def test_how_a_server_ends_a_stream():
    for name in ENDED:
        data, kind, words = ENDED[name]
        client, (stream,) = start()
        client.feed(SETTINGS + data, NOW)
        assert (client.ended_streams, stream.failure.kind) == ([stream], kind)
        assert words in str(stream.failure)
        may_go_again = name == "refused" or "GOAWAY" in name
        assert isinstance(stream.failure, NotProcessed) == may_go_again


def test_what_servers_may_do():
    for name in ALLOWED:
        for step in [1, 7, 1 << 20]:
            client, (stream,) = start(keep_bytes=100)
            feed_by(client, SETTINGS + ALLOWED[name], step)
            assert (stream.is_complete, stream.failure, stream.body_start) == (True, None, b"ok")
            assert (stream.head.status, stream.body_bytes, stream.end) == (200, 2, NOW)


def test_a_server_begins_with_settings():
    for name in FIRST:
        data, kind = FIRST[name]
        client, _ = start()
        with pytest.raises(ConnectionBroken) as failure:
            client.feed(data, NOW)
        assert failure.value.kind == kind


def test_no_flood_takes_memory_or_time():
    for data, *_ in CONNECTION.values():
        client, _ = start()
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
    client, (stream,) = start()
    trailers = head(("a", "b"), flags=HEAD_AND_END)
    first = head((":status", "103"))
    data = pad(DATA, 0, b"ok", 5)
    client.feed(SETTINGS + PING + first + head() + data + trailers, NOW)
    assert stream.head_bytes == len(first + head())
    assert stream.body_bytes == 2
    assert stream.received_bytes == len(first + head() + data + trailers)


# --- replies like earlier ones --------------------------------------------------------------------
SIZED = (*OK, ("content-length", "2"))
USUAL_HEAD = head(*SIZED, stream_id=3)


def figures(stream):
    sizes = (stream.head_bytes, stream.body_bytes, stream.received_bytes)
    return stream.is_complete, stream.head.status, *sizes, stream.first, stream.end


def test_a_reply_like_an_earlier_one_counts_like_it_however_it_arrives():
    for step in [*range(1, 60), 1 << 20]:
        client, streams = start(4)
        client.feed(SETTINGS, NOW)
        replies = [reply(b"ok", each.id, *SIZED) for each in streams]
        feed_by(client, b"".join(replies), step)
        sizes = len(USUAL_HEAD), 2, len(replies[0])
        assert list(map(figures, client.ended_streams)) == [(True, 200, *sizes, NOW, NOW)] * 4
        assert client.ended_streams == streams
        assert not client.streams


def test_behind_a_head_like_an_earlier_one_everything_else_may_come():
    for rest, is_complete in [
        (body(b"o", 3, flags=0) + body(b"k", 3), True),
        (pad(DATA, END_STREAM, b"ok", 4, 3), True),
        (PING + body(b"ok", 3), True),
        (reply(b"ok", 5, *SIZED) + body(b"ok", 3), True),
        (body(b"ok", 3, flags=0) + head(("a", "b"), stream_id=3, flags=HEAD_AND_END), True),
        (body(b"okk", 3), False),
        (body(b"o", 3), False),
    ]:
        client, (first, second, _) = start(3)
        client.feed(SETTINGS + reply(b"ok", 1, *SIZED) + USUAL_HEAD + rest, NOW)
        assert first.is_complete
        assert second in client.ended_streams
        assert (second.is_complete, second.failure is None) == (is_complete, is_complete)


def test_all_bodies_count_for_the_connections_window():
    client, _ = start(2)
    client.feed(SETTINGS, NOW)
    flush(client)
    client._their_room = CONNECTION_WINDOW_BYTES // 2 + 3
    client.feed(reply(b"ok", 1, *SIZED), NOW)
    assert flush(client) == b""
    client.feed(reply(b"ok", 3, *SIZED), NOW)
    assert flush(client) == window_update(0, CONNECTION_WINDOW_BYTES // 2 + 1)


def test_each_request_is_written_for_its_own_stream():
    client, _ = start(0)
    memo, texts = BlockMemo(PLAN, "GET"), [frame(HEADERS, HEAD_AND_END, 0, b) for b in (b"a", b"b")]
    flush(client)
    for text in (texts[0], texts[0], texts[1], texts[0]):
        client.begin(text, memo, None)
    sent = [(1, b"a"), (3, b"a"), (5, b"b"), (7, b"a")]
    assert flush(client) == b"".join(frame(HEADERS, HEAD_AND_END, *each) for each in sent)


def test_a_stream_that_is_begun_again_knows_nothing_of_its_reply_before():
    client, (stream,) = start(keep_bytes=9)
    interim = head((":status", "103"))
    client.feed(SETTINGS + interim + reply(b"a body that is kept"), NOW)
    flush(client)
    text, memo = frame(HEADERS, HEAD_AND_END, 0, b"a"), BlockMemo(PLAN, "GET")
    again = client.begin(text, memo, None, 0, stream)
    fresh = client.begin(text, memo, None)
    assert (again is stream, again.id, fresh.id) == (True, 3, 5)
    slots = [name for name in type(stream).__slots__ if name != "id"]
    assert [getattr(again, name) for name in slots] == [getattr(fresh, name) for name in slots]
    client.feed(reply(b"ok", 3) + reply(b"ok", 5), NOW)
    assert (again.body_bytes, fresh.body_bytes) == (2, 2)


def test_replies_are_awaited_only_of_requests_that_are_sent():
    client, _ = start(2)
    assert not client.awaits_replies
    client.written_streams.clear()
    assert client.awaits_replies
    client.feed(SETTINGS + reply(b"ok", 1, *SIZED), NOW)
    assert client.awaits_replies
    client.feed(reply(b"ok", 3, *SIZED), NOW)
    assert not client.awaits_replies


# --- flow control --------------------------------------------------------------------------------
def test_room_is_given_back_before_it_is_used_up():
    client, (stream,) = start()
    client.feed(SETTINGS + head(), NOW)
    flush(client)
    n_frames = WINDOW_BYTES // 2 // 16_000 + 1
    for _ in range(n_frames):
        client.feed(body(bytes(16_000), flags=0), NOW)
    assert flush(client) == window_update(1, n_frames * 16_000)
    assert stream.failure is None


def test_more_than_the_window_is_refused():
    client, (stream,) = start()
    client.feed(SETTINGS + head(), NOW)
    stream.their_room = 10
    client.feed(body(bytes(11), flags=0), NOW)
    assert stream.failure.code.name == "FLOW_CONTROL_ERROR"
    assert CONNECTION_WINDOW_BYTES < 1 << 31


def test_a_body_is_sent_as_the_windows_allow():
    client, (stream,) = start(method="POST", text="x" * 100_000)
    first = flush(client)
    assert stream.sent_bytes == len(first) - len(OPENING)
    client.feed(SETTINGS + window_update(1, 10), NOW)
    assert flush(client) == ACK
    client.feed(window_update(0, 4), NOW)
    assert flush(client) == body(b"xxxx", flags=0)
    client.feed(window_update(0, 100_000), NOW)
    assert flush(client) == body(b"x" * 6, flags=0)
    client.feed(settings({frames.INITIAL_WINDOW_SIZE: 100_000}), NOW)
    sent = flush(client)
    assert sent.endswith(ACK)
    assert (stream.unsent, client.written_streams) == (b"", [stream])


def test_a_smaller_window_may_be_below_nothing():
    client, (stream,) = start(method="POST", text="x" * 100_000)
    client.feed(settings({frames.INITIAL_WINDOW_SIZE: 0}), NOW)
    assert stream.room < 0
    flush(client)
    client.feed(window_update(0, 1000) + window_update(1, 65_535), NOW)
    assert flush(client) == b""
    client.feed(window_update(1, 5), NOW)
    assert flush(client) == body(b"x" * 5, flags=0)


def test_a_stream_window_of_2_31_ends_the_stream():
    client, (stream,) = start(method="POST", text="x" * 100_000)
    client.feed(SETTINGS + window_update(1, (1 << 31) - 1) * 2, NOW)
    assert stream.failure.code.name == "FLOW_CONTROL_ERROR"


def test_an_upload_in_many_pieces_is_no_flood():
    client, (stream,) = start(method="POST", text="x" * 200_000)
    client.feed(SETTINGS + window_update(1, 200_000), NOW)
    for _ in range(3 * IDLE_FRAMES_CAP):
        client.feed(window_update(0, 10), NOW)
    assert stream.failure is None


def test_a_reply_before_the_whole_request_ends_the_upload():
    client, (stream,) = start(method="POST", text="x" * 100_000)
    client.feed(SETTINGS + head((":status", "413"), flags=HEAD_AND_END), NOW)
    assert (stream.is_complete, stream.head.status) == (True, 413)
    assert flush(client).endswith(rst_stream(1, 0))
    client.feed(window_update(0, 100_000), NOW)
    assert flush(client) == b""


# --- streams that nobody waits for ----------------------------------------------------------------
def test_what_comes_of_a_stream_that_was_given_up_is_skipped():
    client, (stream, other) = start(2)
    client.feed(SETTINGS + head(), NOW)
    client.give_up(stream)
    assert flush(client).endswith(rst_stream(1, 8))
    client.feed(body(b"x", flags=0) + body(b"y") + reply(stream_id=3), NOW)
    assert client.ended_streams == [other]
    with pytest.raises(ConnectionBroken):
        client.feed(body(b"z"), NOW)


def test_much_that_was_on_its_way_of_streams_that_were_given_up_ends_no_other():
    client, (other, *late) = start(601)
    client.feed(SETTINGS + head(stream_id=3), NOW)
    for stream in late:
        client.give_up(stream)
    client.feed(body(b"x", 3, flags=0) * (IDLE_FRAMES_CAP + 1), NOW)
    client.feed(body(b"x", 3) + b"".join(reply(stream_id=each.id) for each in late[1:]), NOW)
    client.feed(reply(), NOW)
    assert (client.ended_streams, other.is_complete, client.has_let_go) == ([other], True, False)


def test_a_stream_that_goes_on_though_it_was_given_up_ends_the_connection():
    client, (stream,) = start()
    client.feed(SETTINGS + head(), NOW)
    client.give_up(stream)
    for _ in range(WINDOW_BYTES // 16_000):
        client.feed(body(bytes(16_000), flags=0), NOW)
    with pytest.raises(ConnectionBroken):
        client.feed(body(bytes(16_000), flags=0), NOW)
    client, (stream,) = start()
    client.feed(SETTINGS + head(), NOW)
    client.give_up(stream)
    with pytest.raises(ConnectionBroken):
        client.feed(body(b"", flags=0) * (IDLE_FRAMES_CAP + 1), NOW)


def test_a_connection_that_was_given_up_on_often_takes_no_more():
    client, streams = start(LET_GO_CAP)
    for stream in streams[1:]:
        client.give_up(stream)
    assert not client.is_draining
    client.give_up(streams[0])
    assert client.is_draining


def test_the_end_of_the_connection_ends_every_stream():
    client, (done, begun_to_come, silent) = start(3)
    client.feed(SETTINGS + reply() + head(stream_id=3), NOW)
    client.end_of_input()
    assert client.ended_streams == [done, begun_to_come, silent]
    kinds = [each.failure and each.failure.kind for each in client.ended_streams]
    assert kinds == [None, Kind.EOF_MID_BODY, Kind.EOF_BEFORE_REPLY]


def test_a_goodbye_with_an_error_says_why_the_rest_was_lost():
    client, (stream,) = start()
    client.feed(SETTINGS + goaway(1, 2), NOW)
    assert not client.ended_streams
    client.end_of_input()
    assert (stream.failure.kind, "INTERNAL_ERROR" in str(stream.failure)) == (Kind.H2_GOAWAY, True)


def test_a_reset_behind_a_goodbye_with_an_error_takes_nothing_back():
    for goodbye, kind in ((goaway(1, 2), Kind.H2_GOAWAY), (goaway(1, 0), None)):
        client, (stream,) = start()
        client.feed(SETTINGS + goodbye, NOW)
        client.end_all(ConnectionResetError(104, "Connection reset by peer"))
        assert getattr(stream.failure, "kind", None) == kind


def test_only_what_is_behind_a_goodbye_goes_again():
    client, (first, second) = start(2)
    client.feed(SETTINGS + goaway(1, 0), NOW)
    assert (client.ended_streams, client.is_draining) == ([second], True)
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


def test_h2_understands_every_request():
    for path in ["/", "/a?b=" + "c" * 40_000]:
        for text in ["", "x", "x" * 300_000]:
            server = other_server()
            client, streams = start(3, method="POST", path=path[:8000], text=text, keep_bytes=10)
            for _ in range(200):
                if answer_data := answer(server, flush(client)):
                    client.feed(answer_data, NOW)
                client.write_bodies()
            assert [stream.body_start for stream in streams] == [b"abc"] * 3
            assert not client.out


def test_a_server_that_makes_its_table_smaller_is_told_that_nothing_is_in_it():
    server = other_server()
    client, (first,) = start()
    usual = first.sent_bytes
    request = flush(client)[len(OPENING) :]
    client.feed(answer(server, OPENING + request), NOW)
    for table_bytes, n_more in [(0, 1), (4096, 0), (100, 1), (100, 0)]:
        server.update_settings({h2.settings.SettingCodes.HEADER_TABLE_SIZE: table_bytes})
        client.feed(server.data_to_send(), NOW)
        streams = [client.begin(request, first.memo, None) for _ in range(2)]
        client.feed(answer(server, flush(client)), NOW)
        assert [stream.is_complete for stream in streams] == [True, True]
        assert [stream.sent_bytes - usual for stream in streams] == [n_more, 0]


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
