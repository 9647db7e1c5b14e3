"""Each opened connection has exactly one close code, whatever becomes of it."""

import pytest

from tests.injector.servers import closed, reset, scripted
from tests.injector.websocket.peers import after_opening, hang, measure
from workers.injector.websocket.frames import CLOSE, TEXT, close_payload, encode_frame

GOING_AWAY = encode_frame(CLOSE, close_payload(1001))


def say(*frames):
    def script(sock):
        sock.sendall(b"".join(frames))
        hang(sock)

    return script


@pytest.mark.parametrize(
    ("script", "exchange", "code"),
    [
        (say(GOING_AWAY), {"messages": 3, "rate_per_s": 5}, 1001),
        (say(encode_frame(CLOSE, b"")), {}, 1005),
        (say(encode_frame(TEXT, b"x", b"abcd")), {}, 1006),
        (say(encode_frame(TEXT, b"unasked")), {"messages": 3, "rate_per_s": 5}, 1006),
        (lambda sock: None, {}, 1006),
        (reset, {}, 1006),
        (hang, {}, 1006),
    ],
    ids=["going away", "no code", "masked", "unasked", "leaves", "resets", "never closes"],
)
def test_it_is_counted_once(script, exchange, code):
    with scripted(after_opening(script)) as server:
        total = measure(server.port, closed(2), exchange).total
    codes = {name: n for name, n in total.counters.items() if name.startswith("close_code")}
    assert codes == {f"close_code_{code}": 2}


def test_what_was_never_opened_has_none():
    with scripted(lambda sock, server: sock.sendall(b"HTTP/1.1 403 No\r\n\r\n")) as server:
        total = measure(server.port, closed(2), {}).total
    assert not any(name.startswith("close_code") for name in total.counters)
