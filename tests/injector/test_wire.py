"""What a connection has carried so far, by the kernel's account."""

import socket
import struct
from contextlib import suppress

import pytest

from tests.injector.servers import OK_REPLY, always, closed, measured
from tests.waiting import eventually
from workers.injector.wire import carried_bytes, has_undelivered, sent_with_data


@pytest.fixture
def ends():
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
    ):
        server, _ = listener.accept()
        with server:
            yield client, server


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


@pytest.mark.parametrize("mode", ["keep-alive", "new"])
@pytest.mark.parametrize(
    "load",
    [
        {"model": "over", "requests": 40, "over_s": 1},
        {"model": "over", "requests": 10, "over_s": 0.5},
        {"model": "open", "rate_per_s": 50, "duration_s": 1},
        closed(40, 4),
        {"model": "sequential", "requests": 3},
        {"model": "window", "low": 1, "high": 2, "requests": 10},
    ],
    ids=lambda load: load["model"],
)
def test_what_connections_carried_is_counted_whenever_the_load_ends(load, mode):
    """Connections that are kept are open until the end, after the last second with a request."""
    mode = "new" if load["model"] == "window" else mode
    total, server = measured(always(OK_REPLY), load=load, mode=mode)
    assert total.count("ok") == len(server.requests)
    assert total.count("wire_sent") == sum(map(len, server.requests))
    assert total.count("wire_received") == server.n_requests * len(OK_REPLY)
