"""Traps that other tools fall into: Nagle, names, resumption, and bytes by the kernel's account."""

import ssl
import struct
import time
from contextlib import suppress

import pytest

from tests.injector.authority import authority, issue, server_context
from tests.injector.servers import OK_REPLY, always, closed, measure, scripted, tally
from tests.waiting import eventually
from workers.injector.wire import carried_bytes, has_undelivered, sent_with_data

HEAD = b"HTTP/1.1 200 OK\r\n"


def test_the_wait_for_a_late_end_of_the_chunks_is_receive_and_not_wait():
    def nagle(sock, server):
        while server.read_request(sock) is not None:
            sock.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")
            time.sleep(0.04)
            sock.sendall(b"0\r\n\r\n")

    total, _ = tally(nagle, load=closed(10))
    assert total.timing("receive").percentile_us(50_000) >= 39_000
    assert total.timing("wait").percentile_us(50_000) < 39_000


def test_our_own_request_is_not_held_back_by_nagle():
    body = "x" * 100_000
    total, _ = tally(always(OK_REPLY), method="POST", body=body, load=closed(20))
    assert total.timing("response").percentile_us(50_000) < 40_000


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_server_that_forgets_its_sessions_is_greeted_in_full_again(version):
    contexts = [server_context(issue(), newest=version) for _ in range(2)]

    def script(sock, server):
        context = contexts[server.n_connections > 10]
        with context.wrap_socket(sock, server_side=True) as tls:
            server.read_request(tls)
            tls.sendall(OK_REPLY)

    total, _ = tally(script, scheme="https", mode="resumed", load=closed(20))
    assert (total.count("ok"), total.errors) == (20, {})
    assert total.count("tls_full") == 2


def test_tls_carries_the_same_http_and_more():
    for mode in ["new", "keep-alive"]:
        reply = HEAD + b"Content-Length: 4075\r\n\r\n" + b"x" * 4075
        with scripted(always(reply), server_context(issue(authority()))) as server:
            total = measure(server.port, scheme="https", mode=mode, load=closed(10)).total
        assert total.count("bytes_received") == 10 * len(reply)
        # A record's header and tag are 22 bytes; a handshake brings a certificate, too.
        handshakes = 10 if mode == "new" else 1
        more = total.count("wire_received") - total.count("bytes_received")
        assert 10 * 22 + handshakes * 500 < more < 10 * 50 + handshakes * 5000
        assert total.count("wire_sent") > total.count("bytes_sent") + 10 * 22 + handshakes * 100


def test_what_was_sent_and_read_counts_and_not_what_still_waits(ends):
    client, server = ends
    client.sendall(b"x" * 30)
    server.sendall(b"y" * 100)
    assert len(client.recv(40)) == 40
    eventually(lambda: carried_bytes(server, set()) == (100, 0), 5, "the reply has left")
    sizes = set()
    assert carried_bytes(client, sizes) == (30, 40)
    assert not sizes
    assert len(client.recv(1000)) == 60
    assert carried_bytes(client, sizes) == (30, 100)
    assert sizes == {100}


def test_as_many_as_were_read_whole_before_are_not_asked_about_again(ends):
    client, server = ends
    server.sendall(b"y" * 100)
    eventually(lambda: carried_bytes(server, set())[0] == 100, 5, "the reply has left")
    assert carried_bytes(client, {99, 101}) == (0, 0)
    assert carried_bytes(client, {100}) == (0, 100)


def test_what_was_written_has_arrived_or_is_undelivered(ends):
    client, _ = ends
    client.sendall(b"x" * 30)
    eventually(lambda: not has_undelivered(client), 5, "it has arrived")
    client.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            client.send(bytes(100_000))
    assert has_undelivered(client), "the other side reads nothing"


def test_what_was_sent_again_is_no_request():
    """On a busy machine the kernel sends again what the other side is too slow to acknowledge."""
    info = bytearray(216)
    for kind, at, value in (("I", 100, 5), ("I", 156, 207), ("Q", 200, 20_800), ("Q", 208, 520)):
        struct.pack_into(f"={kind}", info, at, value)

    class Asked:
        def getsockopt(self, *_):
            return bytes(info)

    assert sent_with_data(Asked()) == (202, 20_280)


def test_the_kernel_tells_how_many_segments_and_bytes_were_sent(ends):
    client, _ = ends
    for _ in range(3):
        client.sendall(b"x" * 30)
    assert sent_with_data(client) == (3, 90)


def test_what_connections_carried_is_counted_whenever_the_load_ends():
    """Connections that are kept are open until the end, after the last second with a request."""
    for load in [
        {"model": "over", "requests": 40, "over_s": 1},
        {"model": "over", "requests": 10, "over_s": 0.5},
        {"model": "open", "rate_per_s": 50, "duration_s": 1},
        closed(40, 4),
        {"model": "sequential", "requests": 3},
        {"model": "window", "low": 1, "high": 2, "requests": 10},
    ]:
        for mode in ["keep-alive", "new"]:
            mode = "new" if load["model"] == "window" else mode
            total, server = tally(always(OK_REPLY), load=load, mode=mode)
            assert total.count("ok") == len(server.requests)
            assert total.count("wire_sent") == sum(map(len, server.requests))
            assert total.count("wire_received") == server.n_requests * len(OK_REPLY)
