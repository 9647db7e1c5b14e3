"""When bytes arrived, by the kernel's stamp, and what is made of a stamp that cannot be right."""

import socket
import sys
import time

import pytest

from workers.echo.arrival import enable_receive_timestamps, receive

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux stamps what arrives")


@pytest.fixture
def ends():
    """The target's end of a connection, and its client's."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        enable_receive_timestamps(listener)
        with socket.create_connection(listener.getsockname()) as client:
            accepted, _ = listener.accept()
            with accepted:
                yield accepted, client


def test_bytes_that_wait_to_be_read_have_arrived_before(ends):
    target, client = ends
    before_ns = time.monotonic_ns()
    client.sendall(b"x")
    sent_ns = time.monotonic_ns()
    time.sleep(0.1)
    data, arrived_ns = receive(target)
    assert data == b"x"
    # The two clocks are read one after the other.
    assert before_ns - 20_000_000 <= arrived_ns <= sent_ns + 20_000_000


def test_a_clock_set_forward_puts_no_arrival_before_the_one_before(ends, monkeypatch):
    target, client = ends
    client.sendall(b"x")
    since_ns = time.monotonic_ns()
    ahead_ns = time.time_ns() + 300 * 10**9
    monkeypatch.setattr("workers.echo.arrival.time.time_ns", lambda: ahead_ns)
    assert receive(target, since_ns) == (b"x", since_ns)


def test_a_clock_set_back_puts_no_arrival_after_the_look(ends, monkeypatch):
    target, client = ends
    client.sendall(b"x")
    back_ns = time.time_ns() - 300 * 10**9
    monkeypatch.setattr("workers.echo.arrival.time.time_ns", lambda: back_ns)
    assert receive(target)[1] <= time.monotonic_ns()
