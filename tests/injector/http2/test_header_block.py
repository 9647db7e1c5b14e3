"""Header blocks, held against `hpack`, a second implementation, and RFC 7541's own examples."""

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

# Appendix C, as far as no table is needed that we do not allow.
EXAMPLES = {
    "C.2.1": (
        "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
        [("custom-key", "custom-header")],
    ),
    "C.2.2": ("040c 2f73 616d 706c 652f 7061 7468", [(":path", "/sample/path")]),
    "C.2.3": ("1008 7061 7373 776f 7264 0673 6563 7265 74", [("password", "secret")]),
    "C.2.4": ("82", [(":method", "GET")]),
    "C.3.1": (
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        [
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/"),
            (":authority", "www.example.com"),
        ],
    ),
    "C.4.1": (
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        [
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/"),
            (":authority", "www.example.com"),
        ],
    ),
    "C.5.1": (
        "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a "
        "3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        [
            (":status", "302"),
            ("cache-control", "private"),
            ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
            ("location", "https://www.example.com"),
        ],
    ),
    "C.6.1": (
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e "
        "919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        [
            (":status", "302"),
            ("cache-control", "private"),
            ("date", "Mon, 21 Oct 2013 20:13:21 GMT"),
            ("location", "https://www.example.com"),
        ],
    ),
}
# The later ones of Appendix C refer to what the first ones put into a table.
NEED_A_TABLE = {
    "C.3.2": "8286 84be 5808 6e6f 2d63 6163 6865",
    "C.3.3": "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
    "C.4.2": "8286 84be 5886 a8eb 1064 9cbf",
    "C.4.3": "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
    "C.5.2": "4803 3330 37c1 c0bf",
    "C.6.2": "4883 640e ffc1 c0bf",
}
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


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_the_rfc_are_read(name):
    text, headers = EXAMPLES[name]
    assert decode(bytes.fromhex(text)) == headers


@pytest.mark.parametrize("text", [*NEED_A_TABLE.values(), *UNREADABLE.values()])
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
