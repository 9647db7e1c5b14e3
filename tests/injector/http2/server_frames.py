"""What a server says, as bytes; and a client that was told it."""

from campaigns.domain.plan.plan import Plan
from workers.injector.http2 import frames
from workers.injector.http2.client import Http2Client, request_data
from workers.injector.http2.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PADDED,
    BlockMemo,
    encode,
    frame,
    settings,
)

SETTINGS = settings({})
ACK = frame(frames.SETTINGS, frames.ACK, 0)
OK = [(":status", "200"), ("server", "scripted")]
HEAD_AND_END = END_HEADERS | END_STREAM
NOW = 1_000

PLAN = Plan.from_json({"steps": [{"path": "/"}], "load": {"requests": 1, "connections": 1}})


def head(*headers, stream_id=1, flags=END_HEADERS):
    return frame(HEADERS, flags, stream_id, encode(headers or OK))


def body(data, stream_id=1, flags=END_STREAM):
    return frame(DATA, flags, stream_id, data)


def pad(kind, flags, payload, n_padding, stream_id=1):
    return frame(kind, flags | PADDED, stream_id, bytes([n_padding]) + payload + bytes(n_padding))


def in_pieces(*headers, size=1, stream_id=1, flags=0):
    """HEADERS with so many bytes of the block, the others in CONTINUATION frames."""
    block = encode(headers or OK)
    parts = [block[at : at + size] for at in range(0, len(block), size)]
    first = frame(HEADERS, flags, stream_id, parts[0])
    middle = [frame(CONTINUATION, 0, stream_id, part) for part in parts[1:-1]]
    return b"".join([first, *middle, frame(CONTINUATION, END_HEADERS, stream_id, parts[-1])])


def reply(data=b"ok", stream_id=1, *headers):
    return head(*headers, stream_id=stream_id) + body(data, stream_id)


def start(n_streams=1, method="GET", path="/", text="", keep_bytes=0):
    """(a client that has written so many requests, their streams)."""
    client = Http2Client()
    step = Plan.from_json(
        {
            "steps": [{"method": method, "path": path, "body": text}],
            "load": {"requests": 1, "connections": 1},
        }
    ).steps[0]
    data = request_data(step, "http", "shop.test")
    memo = BlockMemo(PLAN, method)
    return client, [client.begin(data, memo, None, keep_bytes) for _ in range(n_streams)]


def flush(client):
    """What the client has to send, which is now sent."""
    data = bytes(client.out)
    client.out.clear()
    return data


def feed_by(client, data, step):
    for at in range(0, len(data), step):
        client.feed(data[at : at + step], NOW)
