"""A single request over HTTP/2, as somebody tries it from a page."""

import time

import pytest

from tests.injector.http2.h2_server import h2_server
from tests.injector.http2.server_frames import SETTINGS, head
from tests.injector.servers import always, reset, scripted
from workers.injector import probe
from workers.injector.http2.frames import goaway
from workers.injector.order import Order


def answer_of(port, scheme="http", **given):
    order = {
        "protocol": 1,
        "probe": True,
        "step": {"method": "GET", "path": "/", "headers": [["Accept", "text/html"]]},
        "http_version": "2",
        "timeouts": {"connect_s": 1, "tls_s": 1, "total_s": 2},
        "endpoint": {"scheme": scheme, "host": "127.0.0.1", "port": port, "verify_tls": False},
        "policy": {"allow": ["127.0.0.0/8"]},
    }
    return probe.run(Order.from_json(order | given))


def page(headers, body):
    return 200, [("server", "h2"), ("content-type", "text/html")], b"<p>" * 10_000


def test_the_reply_is_shown_with_the_protocol_that_was_agreed_on(server_tls):
    with h2_server(page, server_tls) as (server, answers):
        answer = answer_of(server.port, "https")
    assert (answer["status"], answer["error"], answer["body_bytes"]) == (200, None, 30_000)
    assert answer["headers"] == [["server", "h2"], ["content-type", "text/html"]]
    assert answer["snippet"] == ("<p>" * 10_000)[:2048]
    assert answer["tls"]["alpn"] == "h2"
    assert list(answer["parts_us"]) == ["connect", "tls", "send", "wait", "receive"]
    assert sum(answer["parts_us"].values()) == answer["response_us"]
    assert answers.seen[0]["accept"] == "text/html"


def test_a_server_of_http_1_is_named():
    with scripted(always(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) as server:
        answer = answer_of(server.port)
    assert (answer["status"], answer["error"]) == (None, "h2_not_spoken")
    assert "HTTP/1" in answer["detail"]


def test_the_handshake_says_that_the_server_has_no_http_2(server_tls):
    with scripted(always(b"x"), server_tls) as server:
        answer = answer_of(server.port, "https")
    assert answer["error"] == "h2_not_spoken"
    assert answer["detail"] == "in the TLS handshake the server chose no protocol"
    assert answer["certificates_der_b64"]


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (SETTINGS, "first_byte_timeout"),
        (SETTINGS + head(), "body_timeout"),
        (SETTINGS + head(("a", "b")), "h2_protocol"),
        (SETTINGS + head(flags=0) * 2, "h2_protocol"),
    ],
)
def test_what_goes_wrong_has_its_kind(said, error):
    def script(sock, server):
        sock.recv(65536)
        sock.sendall(said)
        while sock.recv(65536):
            pass

    with scripted(script) as server:
        assert answer_of(server.port)["error"] == error


def read_on(sock):
    while sock.recv(65536):
        pass


@pytest.mark.parametrize("leave", [reset, read_on])
def test_why_the_server_left_is_what_it_said_and_not_how_it_left(leave):
    def script(sock, server):
        sock.recv(65536)
        sock.sendall(SETTINGS + goaway(1, 2))
        time.sleep(0.1)
        leave(sock)

    with scripted(script) as server:
        answer = answer_of(server.port)
    assert (answer["error"], "INTERNAL_ERROR" in answer["detail"]) == ("h2_goaway", True)
