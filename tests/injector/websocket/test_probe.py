"""One WebSocket tried by hand: what is shown of a good server, and of broken and hostile ones."""

import socket
import time

import gevent
import pytest

from tests.injector.servers import make_order, reset, scripted
from tests.injector.websocket.peers import after_opening, echo, hang, head, read_key
from workers.injector import probe
from workers.injector.order import Order
from workers.injector.websocket import probe as websocket_probe
from workers.injector.websocket.frames import BINARY, CLOSE, PING, TEXT, close_payload, encode_frame

BYE = encode_frame(CLOSE, close_payload(1000))


@pytest.fixture(autouse=True)
def _short_wait(monkeypatch):
    monkeypatch.setattr(websocket_probe, "ANSWER_WITHIN_S", 0.3)


def leave(sock):
    """End this side and read on: who closes with bytes unread resets the connection."""
    sock.shutdown(socket.SHUT_WR)
    while sock.recv(4096):
        pass


def try_one(port, message=None, scheme="ws", **exchange):
    order = make_order(port, scheme=scheme, mode="new")
    del order["plan"]
    order |= {"probe": True, "exchange": {"close_timeout_s": 0.5, **exchange}, "message": message}
    order["timeouts"] = {"connect_s": 1, "tls_s": 1, "total_s": 2}
    return probe.run(Order.from_json(order))


def test_it_opens_says_one_message_and_closes():
    with scripted(echo(subprotocol="chat")) as server:
        answer = try_one(server.port, "hëllo", path="/feed", subprotocols=["chat"])
    assert (answer["status"], answer["error"]) == (101, None)
    assert ["Upgrade", "WebSocket"] in answer["headers"] or ["upgrade", "websocket"] in [
        [name.lower(), value.lower()] for name, value in answer["headers"]
    ]
    facts = answer["websocket"]
    assert (facts["accept"], facts["subprotocol"], facts["close_code"]) == ("right", "chat", 1000)
    assert facts["message"] == {
        "kind": "text", "size_bytes": 6, "snippet": "hëllo", "is_echo": True
    }  # fmt: skip
    assert list(answer["parts_us"]) == ["connect", "handshake", "exchange", "close"]
    assert sum(answer["parts_us"].values()) == answer["response_us"]


def test_without_a_message_it_waits_for_none_and_still_shows_one_that_came():
    def greet(sock):
        sock.sendall(encode_frame(BINARY, b"\x00welcome"))
        sock.recv(65536)
        sock.sendall(BYE)

    with scripted(after_opening(greet)) as server:
        answer = try_one(server.port)
    assert answer["error"] is None
    assert (answer["websocket"]["message"]["kind"], answer["websocket"]["messages"]) == (
        "binary",
        1,
    )


def test_a_server_that_does_not_answer_messages_is_no_failure():
    def listen(sock):
        while sock.recv(65536)[:1] != b"\x88":
            pass
        sock.sendall(BYE)

    with scripted(after_opening(listen)) as server:
        answer = try_one(server.port, "anyone?")
    assert (answer["error"], answer["websocket"]["message"]) == (None, None)
    assert 250_000 < answer["parts_us"]["exchange"] < 1_500_000


def test_a_rejection_is_shown_with_its_headers_and_body():
    def reject(sock, server):
        server.read_request(sock)
        sock.sendall(b"HTTP/1.1 403 Forbidden\r\nServer: x\r\nContent-Length: 2\r\n\r\nno")

    with scripted(reject) as server:
        answer = try_one(server.port)
    assert (answer["status"], answer["error"]) == (403, "ws_upgrade_rejected")
    assert (answer["snippet"], answer["websocket"]["accept"]) == ("no", "")


def opening_with(change):
    def script(sock, server):
        sock.sendall(change(head(read_key(sock, server))))
        sock.recv(65536)

    return script


def test_an_accept_that_does_not_answer_the_key_is_said():
    for change, accept in [
        (lambda data: data.replace(b"Accept: ", b"Accept: x"), "wrong"),
        (lambda data: data.replace(b"Sec-WebSocket-Accept", b"X-Accept"), "missing"),
    ]:
        with scripted(opening_with(change)) as server:
            answer = try_one(server.port)
        assert (answer["status"], answer["error"]) == (101, "ws_protocol")
        assert answer["websocket"]["accept"] == accept


def instead_of_101(data):
    def script(sock, server):
        server.read_request(sock)
        sock.sendall(data)

    return script


def flood(frame):
    def script(sock):
        while True:
            sock.sendall(frame * 1000)

    return script


def test_what_is_wrong_has_its_kind_within_the_time():
    for script, kind in [
        (after_opening(hang), "ws_close_timeout"),
        (after_opening(leave), "eof_mid_body"),
        (after_opening(reset), "reset"),
        (after_opening(flood(encode_frame(PING, b""))), "ws_protocol"),
        (after_opening(flood(encode_frame(TEXT, b"x" * 100))), "ws_close_timeout"),
        (instead_of_101(b"HTTP/1.1 101 x\r\n" + b"a: b\r\n" * 20_000), "header_cap"),
        (lambda sock, server: hang(sock), "first_byte_timeout"),
    ]:
        began = time.monotonic()
        with scripted(script) as server:
            answer = try_one(server.port)
        assert answer["error"] == kind, answer["detail"]
        assert time.monotonic() - began < 4


def test_nothing_is_left_to_wait_for():
    """A watcher that outlives its socket makes libev abort the process."""
    for script in [echo(), after_opening(hang)]:
        loop = gevent.get_hub().loop
        n_waiting = loop.activecnt
        with scripted(script) as server:
            try_one(server.port)
        assert loop.activecnt == n_waiting


SCENARIO = ["send: join", "expect: text: join"]


def test_a_scenario_and_a_message_are_said_as_a_load_says_them():
    with scripted(echo()) as server:
        answer = try_one(server.port, scenario=SCENARIO, texts=["hi"], reply="text: hi")
    assert answer["error"] is None
    facts = answer["websocket"]
    assert (facts["messages"], facts["message"]["snippet"], facts["close_code"]) == (2, "hi", 1000)
    assert list(answer["parts_us"]) == ["connect", "handshake", "exchange", "close"]


def test_a_reply_that_never_comes_is_named_and_what_came_is_shown():
    with scripted(echo()) as server:
        answer = try_one(server.port, scenario=["send: join", "expect: text: welcome"])
    assert answer["error"] == "body_timeout"
    assert answer["detail"] == "no message was the reply (text: welcome)"
    assert answer["websocket"]["message"]["snippet"] == "join"
