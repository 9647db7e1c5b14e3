"""Header blocks, held against `hpack`, a second implementation."""

import contextlib

import hpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.measured.outcomes import Kind
from workers.injector.http1 import BadReply
from workers.injector.http2.header_block import (
    SECRET,
    ConnectionBroken,
    StreamBroken,
    decode,
    encode,
)

pytestmark = pytest.mark.pure

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


@pytest.mark.parametrize("text", UNREADABLE.values())
def test_what_cannot_be_read_ends_the_connection(text):
    with pytest.raises(ConnectionBroken) as caught:
        decode(bytes.fromhex(text))
    assert (caught.value.kind, caught.value.code.name) == (Kind.H2_PROTOCOL, "COMPRESSION_ERROR")


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


@pytest.mark.parametrize("name", sorted(SECRET))
def test_no_proxy_may_keep_a_secret(name):
    encoded = encode([(name, "s3cret")])
    assert encoded[0] & 0xF0 == 0x10
    assert isinstance(hpack.Decoder().decode(encoded, raw=True)[0], hpack.NeverIndexedHeaderTuple)


def test_nothing_is_ever_put_into_the_servers_table():
    """Or a header block would mean something else on each connection."""
    other = hpack.Decoder()
    other.decode(encode([(":path", "/a"), ("x-a", "1"), ("user-agent", "benchsite")]))
    assert not other.header_table.dynamic_entries


def test_a_bomb_of_headers_ends_the_stream_within_its_limit():
    with pytest.raises(StreamBroken) as caught:
        decode(bytes([0x84]) * 60_000)
    assert caught.value.kind == Kind.HEADER_CAP
