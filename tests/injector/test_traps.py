"""Traps that other tools fall into: Nagle, names, resumption, bytes on the wire."""

import ssl
import time

import pytest

from tests.injector.authority import authority, issue, server_context
from tests.injector.servers import OK_REPLY, always, closed, measure, measured, scripted

HEAD = b"HTTP/1.1 200 OK\r\n"


def test_the_wait_for_a_late_end_of_the_chunks_is_receive_and_not_wait():
    def nagle(sock, server):
        while server.read_request(sock) is not None:
            sock.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")
            time.sleep(0.04)
            sock.sendall(b"0\r\n\r\n")

    total, _ = measured(nagle, load=closed(10))
    assert total.timing("receive").percentile_us(50_000) >= 39_000
    assert total.timing("wait").percentile_us(50_000) < 39_000


def test_our_own_request_is_not_held_back_by_nagle():
    body = "x" * 100_000
    total, _ = measured(always(OK_REPLY), method="POST", body=body, load=closed(20))
    assert total.timing("response").percentile_us(50_000) < 40_000


def test_without_resumption_every_handshake_is_a_full_one():
    with scripted(always(OK_REPLY), server_context(issue())) as server:
        total = measure(server.port, scheme="https", mode="new", load=closed(20)).total
    assert (total.count("tls_full"), total.count("tls_resumed")) == (20, 0)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_server_that_forgets_its_sessions_is_greeted_in_full_again(version):
    contexts = [server_context(issue(), newest=version) for _ in range(2)]

    def script(sock, server):
        context = contexts[server.n_connections > 10]
        with context.wrap_socket(sock, server_side=True) as tls:
            server.read_request(tls)
            tls.sendall(OK_REPLY)

    total, _ = measured(script, scheme="https", mode="resumed", load=closed(20))
    assert (total.count("ok"), total.errors) == (20, {})
    assert total.count("tls_full") == 2


@pytest.mark.parametrize("mode", ["new", "keep-alive"])
def test_plain_http_carries_what_http_says(mode):
    total, server = measured(always(OK_REPLY), mode=mode, load=closed(10))
    assert total.count("wire_sent") == total.count("bytes_sent") == sum(map(len, server.requests))
    assert total.count("wire_received") == total.count("bytes_received") == 10 * len(OK_REPLY)
    assert total.count("segments_sent") >= 10
    assert total.count("segments_resent") <= total.count("segments_sent") / 10


@pytest.mark.parametrize("mode", ["new", "keep-alive"])
def test_tls_carries_the_same_http_and_more(mode):
    reply = HEAD + b"Content-Length: 4075\r\n\r\n" + b"x" * 4075
    with scripted(always(reply), server_context(issue(authority()))) as server:
        total = measure(server.port, scheme="https", mode=mode, load=closed(10)).total
    assert total.count("bytes_received") == 10 * len(reply)
    # A record's header and tag are 22 bytes; a handshake brings a certificate, too.
    handshakes = 10 if mode == "new" else 1
    more = total.count("wire_received") - total.count("bytes_received")
    assert 10 * 22 + handshakes * 500 < more < 10 * 50 + handshakes * 5000
    assert total.count("wire_sent") > total.count("bytes_sent") + 10 * 22 + handshakes * 100
