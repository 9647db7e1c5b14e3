"""Frames, held against wsproto, a second implementation, and against what RFC 6455 forbids."""

import random

import pytest
from wsproto import events
from wsproto.connection import Connection, ConnectionType

from campaigns.domain.metrics.outcomes import Kind
from workers.injector.http1 import BadReply
from workers.injector.websocket import frames
from workers.injector.websocket.frames import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    FrameReader,
    MaskingKeys,
    apply_mask,
    close_payload,
    encode_frame,
    masked_copies,
)  # fmt: skip

pytestmark = pytest.mark.pure

SIZES = (0, 1, 2, 3, 4, 5, 125, 126, 127, 511, 512, 513, 4095, 65535, 65536, 100_001)
TAKES_8_BYTES = 6_554  # the length of as many times ten bytes, in a frame's head
KEY = b"\x01\x80\xff\x7e"


def take_all(reader: FrameReader, data: bytes, step: int) -> list[frames.Event]:
    return [
        event for at in range(0, len(data), step) for event in reader.feed(data[at : at + step])
    ]


def read(data: bytes) -> list[frames.Event]:
    return FrameReader().feed(data)


def test_masking_is_the_definition_and_its_own_inverse():
    for size in SIZES:
        data = random.Random(size).randbytes(size)
        frame = apply_mask(data, KEY)
        assert frame == bytes(byte ^ KEY[i % 4] for i, byte in enumerate(data))
        assert apply_mask(frame, KEY) == data


def test_copies_of_a_frame_say_the_same_each_under_a_key_of_its_own():
    for size in [0, 2, 4, 5, 125]:
        payload = bytes(range(size))
        copies = masked_copies(encode_frame(BINARY, payload, bytes(4)), size, 1000)
        assert len({frame[2:6] for frame in copies}) > 990
        assert all(frame == encode_frame(BINARY, payload, frame[2:6]) for frame in copies)


def test_masking_keys_are_fresh_for_every_frame():
    keys = MaskingKeys()
    masks = [keys.take() for _ in range(3000)]
    assert {len(key) for key in masks} == {4}
    assert len(set(masks)) > 2990


def test_wsproto_reads_the_messages_that_a_client_sends():
    for opcode in [TEXT, BINARY]:
        for size in SIZES:
            payload = b"x" * size
            server = Connection(ConnectionType.SERVER)
            server.receive_data(encode_frame(opcode, payload, KEY))
            pieces = list(server.events())
            assert pieces[-1].message_finished
            whole = pieces[0].data[:0].join(each.data for each in pieces)
            assert (whole.encode() if opcode == TEXT else bytes(whole)) == payload


def test_wsproto_reads_the_control_frames_that_a_client_sends():
    for opcode in [PING, PONG]:
        server = Connection(ConnectionType.SERVER)
        server.receive_data(encode_frame(opcode, b"mark", KEY))
        (event,) = server.events()
        assert isinstance(event, events.Ping if opcode == PING else events.Pong)
        assert event.payload == b"mark"


def test_wsproto_reads_the_close_that_a_client_sends():
    server = Connection(ConnectionType.SERVER)
    server.receive_data(encode_frame(CLOSE, close_payload(3999, "über"), KEY))
    (event,) = server.events()
    assert (event.code, event.reason) == (3999, "über")


def test_it_reads_what_wsproto_sends_however_the_bytes_are_cut():
    for seed in range(20):
        dice = random.Random(seed)
        server = Connection(ConnectionType.SERVER)
        sent, messages = b"", []
        kinds = [dice.choice([TEXT, BINARY]), *dice.choices([TEXT, BINARY, PING, PONG], k=29)]
        for number, kind in enumerate(kinds):
            if kind in (PING, PONG):
                payload = dice.randbytes(dice.randrange(126))
                sent += server.send((events.Ping if kind == PING else events.Pong)(payload))
                messages.append((kind, payload))
                continue
            lengths = (
                dice.choices([0, 1, 40], k=dice.randrange(1, 4)) if number else [TAKES_8_BYTES]
            )
            pieces = ["ä€😀x" * length for length in lengths]
            data = pieces if kind == TEXT else [each.encode() for each in pieces]
            event = events.TextMessage if kind == TEXT else events.BytesMessage
            for piece in data[:-1]:
                sent += server.send(event(piece, message_finished=False))
            sent += server.send(event(data[-1], message_finished=True))
            messages.append((kind, "".join(pieces).encode()))
        sent += server.send(events.CloseConnection(1001, "bye"))
        messages.append((CLOSE, 1001))
        step = dice.choice([1, 2, 3, 7, 1000, 65536, len(sent)])
        assert take_all(FrameReader(), sent, step) == messages


def test_a_server_reads_what_wsproto_sends_as_a_client():
    for size in SIZES:
        client = Connection(ConnectionType.CLIENT)
        sent = client.send(events.BytesMessage(b"q" * size))
        assert take_all(FrameReader(expects_mask=True), sent, 977) == [(BINARY, b"q" * size)]


def test_a_character_may_be_cut_in_two_by_fragments():
    euro = "€".encode()
    data = encode_frame(TEXT, euro[:1], is_final=False) + encode_frame(CONTINUATION, euro[1:])
    assert read(data) == [(TEXT, euro)]


def test_control_frames_come_between_fragments():
    data = encode_frame(TEXT, b"a", is_final=False) + encode_frame(PING, b"?")
    assert read(data + encode_frame(CONTINUATION, b"b")) == [(PING, b"?"), (TEXT, b"ab")]


def test_nothing_is_read_after_a_close():
    reader = FrameReader()
    assert reader.feed(encode_frame(CLOSE, b"") + b"\xff\xff\xff") == [(CLOSE, frames.NO_CODE)]
    assert reader.feed(b"\xff") == []


def test_it_reads_the_codes_that_may_be_sent():
    for code in [1000, 1001, 1002, 1003, 1007, 1011, 1014, 3000, 4999]:
        assert read(encode_frame(CLOSE, close_payload(code))) == [(CLOSE, code)]


FORBIDDEN = {
    "first reserved bit": b"\xc1\x00",
    "second reserved bit": b"\xa1\x00",
    "third reserved bit": b"\x91\x00",
    **{f"opcode {n:#x}": bytes([0x80 | n, 0]) for n in (*range(3, 8), *range(0xB, 0x10))},
    "a masked frame": encode_frame(TEXT, b"hello", KEY),
    "a continuation of nothing": encode_frame(CONTINUATION, b"x"),
    "a message within a message": encode_frame(TEXT, b"x", is_final=False) + b"\x81\x00",
    "a ping in fragments": b"\x09\x00",
    "a close in fragments": b"\x08\x00",
    "a long ping": b"\x89\x7e\x00\x7e" + b"x" * 126,
    "a length of 2^63": b"\x82\x7f\x80" + bytes(7),
    "a length of 2^64-1": b"\x82\x7f" + b"\xff" * 8,
    "a short length in two bytes": b"\x82\x7e\x00\x05hello",
    "a short length in eight bytes": b"\x82\x7f" + (300).to_bytes(8, "big") + b"x" * 300,
    "text that is not UTF-8": encode_frame(TEXT, b"\xff"),
    "text with a surrogate": encode_frame(TEXT, b"\xed\xa0\x80"),
    "text with an overlong character": encode_frame(TEXT, b"\xc0\xaf"),
    "text that ends within a character": encode_frame(TEXT, "€".encode()[:2]),
    "fragments that are not UTF-8": encode_frame(TEXT, b"\xe2", is_final=False)
    + encode_frame(CONTINUATION, b"(", is_final=False),
    "half a close code": encode_frame(CLOSE, b"\x03"),
    "a close reason that is not UTF-8": encode_frame(CLOSE, b"\x03\xe8\xff"),
    **{
        f"close code {n}": encode_frame(CLOSE, close_payload(n))
        for n in (0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535)
    },
}


def test_it_refuses_what_the_protocol_forbids():
    for step in [1, 1000]:
        for name in FORBIDDEN:
            with pytest.raises(BadReply) as failure:
                take_all(FrameReader(), FORBIDDEN[name], step)
            assert failure.value.kind == Kind.WS_PROTOCOL


def test_a_message_may_have_a_mebibyte_and_no_more():
    cap = frames.MESSAGE_CAP_BYTES
    assert read(encode_frame(BINARY, bytes(cap))) == [(BINARY, bytes(cap))]
    too_long = encode_frame(BINARY, bytes(cap + 1))[:10]
    with pytest.raises(BadReply) as failure:
        read(too_long)
    assert failure.value.kind == Kind.BODY_CAP


def test_the_cap_holds_over_fragments():
    half = frames.MESSAGE_CAP_BYTES // 2
    data = encode_frame(BINARY, bytes(half), is_final=False)
    data += encode_frame(CONTINUATION, bytes(half + 1))
    with pytest.raises(BadReply) as failure:
        read(data)
    assert failure.value.kind == Kind.BODY_CAP


def test_endless_empty_fragments_end():
    reader = FrameReader()
    reader.feed(encode_frame(BINARY, b"", is_final=False))
    with pytest.raises(BadReply) as failure:
        reader.feed(b"\x00\x00" * frames.FRAGMENT_CAP)
    assert failure.value.kind == Kind.BODY_CAP
