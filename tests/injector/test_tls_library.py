"""OpenSSL on one connection: what its calls answer when there is nothing to do."""

import contextlib
import socket
import threading

import pytest
from OpenSSL import SSL

from tests.injector.authority import authority, issue, server_context
from workers.injector.tls_library import (
    RaggedEnd,
    ReadBuffer,
    Tls,
    WantRead,
    WantWrite,
    expect_name,
    write_as_much_as_fits,
)


@pytest.fixture
def ends():
    pair = socket.socketpair()
    yield pair
    for sock in pair:
        sock.close()


def client_of(sock, **names) -> Tls:
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    write_as_much_as_fits(context)
    if names:
        context.set_verify(SSL.VERIFY_PEER)
        expect_name(context, **names)
    return Tls(context, sock, None, ReadBuffer())


def shake_hands(ends) -> tuple[Tls, object]:
    """Both sides after their handshake; the client's does not block."""
    client, server = client_of(ends[0]), []

    def serve():
        context = server_context(issue(authority()))
        server.append(context.wrap_socket(ends[1], server_side=True))

    thread = threading.Thread(target=serve)
    thread.start()
    client.shake_hands()
    thread.join()
    ends[0].setblocking(False)
    return client, server[0]


def test_reading_waits_for_bytes_and_sees_a_proper_end(ends):
    client, server = shake_hands(ends)
    with pytest.raises(WantRead):
        client.read(100)
    server.sendall(b"hello")
    assert client.read(2) + client.read(100) == b"hello"
    thread = threading.Thread(target=end_properly, args=(server,))
    thread.start()
    ends[0].setblocking(True)
    assert client.read(100) == b""
    ends[0].close()
    thread.join()


def end_properly(server):
    with contextlib.suppress(OSError):
        server.unwrap()


def test_writing_stops_where_the_socket_is_full_and_goes_on_from_there(ends):
    client, server = shake_hands(ends)
    data, parts = b"x" * 3_000_000, []

    def receive():
        while sum(map(len, parts)) < len(data):
            parts.append(server.recv(1 << 16))

    n_written = write_until_full(client, data)
    assert 0 < n_written < len(data)
    thread = threading.Thread(target=receive)
    thread.start()
    ends[0].setblocking(True)
    while n_written < len(data):
        n_written += client.write(bytes(memoryview(data)[n_written:]))
    thread.join()
    assert b"".join(parts) == data


def write_until_full(client, data) -> int:
    n_written = 0
    with contextlib.suppress(WantWrite):
        while True:
            n_written += client.write(memoryview(data)[n_written:])
    return n_written


def test_an_end_of_tcp_alone_is_ragged(ends):
    client, server = shake_hands(ends)
    socket.socket(fileno=server.detach()).close()
    ends[0].setblocking(True)
    with pytest.raises(RaggedEnd):
        client.read(100)


def test_a_closed_connection_neither_reads_nor_writes_what_is_anothers_by_now(ends):
    client, server = shake_hands(ends)
    server.sendall(b"hello")
    client.close()
    assert client.read(100) == b""
    with pytest.raises(OSError, match="shutdown"):
        client.write(b"x")
    assert ends[0].recv(100, socket.MSG_PEEK)
