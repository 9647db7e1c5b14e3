"""What a connection has carried so far, by the kernel's account."""

import socket

import pytest

from tests.waiting import eventually
from workers.injector.wire import carried_bytes


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
    eventually(lambda: carried_bytes(server) == (100, 0), 5, "the reply has left")
    assert carried_bytes(client) == (30, 40)
    assert len(client.recv(1000)) == 60
    assert carried_bytes(client) == (30, 100)
