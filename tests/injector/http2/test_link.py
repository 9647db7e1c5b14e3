"""How a connection ends when a write fails; header blocks, held against `hpack`."""

import contextlib
from types import SimpleNamespace

import gevent
import hpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.metrics.outcomes import Kind
from tests.injector.http2.server_frames import PLAN, SETTINGS, body, reply
from workers.injector.connection import now
from workers.injector.http1 import BadReply
from workers.injector.http2.client import request_data
from workers.injector.http2.frames import (
    SECRET,
    BlockMemo,
    ConnectionBroken,
    NotProcessed,
    StreamBroken,
    decode,
    encode,
    goaway,
)
from workers.injector.http2.link import Link

pytestmark = pytest.mark.pure


_CLOSED = BrokenPipeError(32, "Broken pipe")
_RESET = ConnectionResetError(104, "Connection reset by peer")


class LeftConnection:
    """The server has left: nothing can be written, but what it said can be read."""

    tls = None
    sock = SimpleNamespace(getsockopt=lambda *_: b"")  # of a kernel that does not tell

    def __init__(self, *words, to_a_write):
        self._words = list(words)
        self._to_a_write = to_a_write

    def send(self, data):
        raise self._to_a_write

    def recv(self, size):
        if not self._words:
            raise _RESET
        return self._words.pop(0)


class Worker:
    def __init__(self):
        self.request = SimpleNamespace(
            data=request_data(PLAN.steps[0], "http", "shop.test"),
            memo=BlockMemo(PLAN, "GET"),
            keep_bytes=0,
            may_replay=True,
        )
        self.streams = []

    def end(self, stream):
        self.streams.append(stream)


def ended_on(*words, n_requests=1, to_a_write=_CLOSED):
    """The streams of so many requests on a connection that the server has left with these words."""
    hung_up = []
    link = Link(SimpleNamespace(hang_up=hung_up.append), 4, None, lambda link: None)
    link.connection = LeftConnection(*words, to_a_write=to_a_write)
    link._client.feed(SETTINGS, now())
    worker = Worker()
    for _ in range(n_requests):
        link.begin(worker, worker.request)
    gevent.sleep(0)
    gevent.sleep(0)
    assert (link.is_over, len(hung_up)) == (True, 1)
    return worker.streams


def test_a_goodbye_that_lay_unread_says_that_the_request_was_not_taken():
    (stream,) = ended_on(goaway(0, 0))
    assert isinstance(stream.failure, NotProcessed)


def test_a_reply_that_lay_unread_is_one():
    first, second = ended_on(reply(b"ok", 1), n_requests=2)
    assert first.is_complete
    assert isinstance(second.failure, NotProcessed)


def test_without_a_word_it_is_the_failure_of_the_write():
    (stream,) = ended_on()
    assert isinstance(stream.failure, BrokenPipeError)


def test_a_reset_of_which_the_write_was_told_is_no_close():
    (stream,) = ended_on(b"", to_a_write=_RESET)
    assert stream.failure is _RESET


def test_the_end_of_input_after_a_failed_write_is_a_close():
    (stream,) = ended_on(b"")
    assert stream.failure.kind == Kind.EOF_BEFORE_REPLY


def test_nonsense_that_lay_unread_is_what_ended_it():
    (stream,) = ended_on(b"\x00" * 100)
    assert stream.failure.kind == Kind.H2_PROTOCOL


def test_a_server_that_never_stops_sending_is_left_too():
    endless = body(bytes(16_000))
    (stream,) = ended_on(*[endless[at : at + 1] for at in range(1000)])
    assert isinstance(stream.failure, BrokenPipeError)


UNREADABLE = {
    "index 0": "80",
    "an index of no field": "be",
    "a name of no field": "7f00 0161",
    "a number without end": "ff80 8080 8080 8080 80",
    "a number of 2^28": "ffff ffff ff7f",
    "half a number": "ff",
    "a name without its text": "4005 61",
    "a value without its text": "4101",
    "no value": "41",
    "a value of 2^27 bytes": "417f 80ff ff3f",
    "a larger table": "3fe1 1f82",
    "a table of one byte": "21 82",
    "a table size behind a header": "8220",
    "padding of zeros": "4181 00",
    "more than seven bits of padding": "4182 1fff",
    "the end of a string within it": "4184 ffff ffff",
}


def test_what_cannot_be_read_ends_the_connection():
    for text in UNREADABLE.values():
        with pytest.raises(ConnectionBroken) as failure:
            decode(bytes.fromhex(text))
        assert (failure.value.kind, failure.value.code.name) == (
            Kind.H2_PROTOCOL,
            "COMPRESSION_ERROR",
        )


def test_a_table_of_no_bytes_may_be_said():
    assert decode(bytes.fromhex("2020 88")) == [(":status", "200")]


NAMES = st.text("abcdefghijklmnopqrstuvwxyz-0123456789", min_size=1, max_size=40)
VALUES = st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=300)
HEADERS = st.lists(
    st.tuples(st.one_of(NAMES, st.sampled_from([":path", "server", "cookie", "date"])), VALUES)
)


@given(HEADERS)
def test_the_other_implementation_reads_what_we_write(headers):
    read = hpack.Decoder(max_header_list_size=1 << 30).decode(encode(headers), raw=True)
    assert [(name.decode("latin-1"), value.decode("latin-1")) for name, value in read] == headers


@given(HEADERS.filter(bool), st.booleans())
def test_we_read_what_the_other_implementation_writes(headers, is_packed):
    encoder = hpack.Encoder()
    encoder.header_table_size = 0
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    assert decode(encoder.encode(pairs, huffman=is_packed)) == headers


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(block):
    with contextlib.suppress(BadReply):
        decode(block)


def test_no_proxy_may_keep_a_secret():
    for name in sorted(SECRET):
        block = encode([(name, "s3cret")])
        assert block[0] & 0xF0 == 0x10
        assert isinstance(hpack.Decoder().decode(block, raw=True)[0], hpack.NeverIndexedHeaderTuple)


def test_nothing_is_ever_put_into_the_servers_table():
    """Or a header block would mean something else on each connection."""
    other = hpack.Decoder()
    other.decode(encode([(":path", "/a"), ("x-a", "1"), ("user-agent", "benchsite")]))
    assert not other.header_table.dynamic_entries


def test_a_bomb_of_headers_ends_the_stream_within_its_limit():
    with pytest.raises(StreamBroken) as failure:
        decode(bytes([0x84]) * 60_000)
    assert failure.value.kind == Kind.HEADER_CAP
