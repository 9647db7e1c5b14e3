"""The native server that handshakes are measured against is a proper one, and so is the client."""

import contextlib
import json
import shutil
import socket
import subprocess

import pytest

from benchmarks.servers import free_ports, wait_for
from benchmarks.websocket import CLIENT, SERVER, build
from tests.injector.servers import closed
from tests.injector.websocket.peers import measure
from workers.injector.websocket.frames import CLOSE, FrameReader, close_payload, encode_frame
from workers.injector.websocket.upgrade import accept_of

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler here")
KEY = b"dGhlIHNhbXBsZSBub25jZQ=="
REQUEST = (
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nsec-websocket-key: " + KEY + b"\r\n\r\n"
)
GOODBYE = encode_frame(CLOSE, close_payload(1001, "bye"), b"abcd")


@pytest.fixture(scope="module", params=[(), ("awake",)], ids=["asleep", "awake"])
def port(request, tmp_path_factory):
    (port,) = free_ports(1)
    path = build(SERVER, tmp_path_factory.mktemp("server"))
    process = subprocess.Popen([path, str(port), *request.param])
    wait_for(port)
    yield port
    process.terminate()
    process.wait()


def said(port, *parts):
    """What the server says until it ends the connection."""
    with socket.create_connection(("127.0.0.1", port), 10) as sock:
        for part in parts:
            sock.sendall(part)
        return b"".join(iter(lambda: sock.recv(65536), b""))


def test_it_opens_and_closes_as_the_injector_wants_it(port):
    patient = {"connect_s": 10, "tls_s": 10, "total_s": 10}
    exchange = {"close_code": 4001, "close_timeout_s": 10}
    total = measure(port, closed(100, 10), exchange, timeouts=patient).total
    assert (total.errors, total.count("ok")) == ({}, 100)
    assert total.count("close_code_4001") == 100


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_it_takes_the_bytes_as_they_come(port, size):
    data = REQUEST + GOODBYE
    parts = (data[at : at + size] for at in range(0, len(data), size))
    head, _, rest = said(port, *parts).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101 ")
    assert head.endswith(accept_of(KEY))
    assert rest == encode_frame(CLOSE, close_payload(1001, "bye"))


@pytest.mark.parametrize(
    "data",
    [b"hello\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"x" * 5000, REQUEST.replace(KEY, b"short")],
)
def test_it_hangs_up_on_what_is_no_handshake(port, data):
    # With bytes unread it ends in a reset.
    with contextlib.suppress(ConnectionResetError):
        assert said(port, data) == b""


def test_it_hangs_up_on_frames_that_do_not_close(port):
    assert said(port, REQUEST, encode_frame(1, b"hi", b"abcd")).endswith(b"\r\n\r\n")


def test_the_client_in_c_opens_and_closes_what_it_counts(port, tmp_path):
    command = [build(CLIENT, tmp_path), str(port), "0.2", "10"]
    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert said["handshakes"] >= 10
    assert said["cpu_us"] > 0


def test_the_client_in_c_says_what_a_handshake_says(tmp_path):
    client = build(CLIENT, tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [client, str(listener.getsockname()[1]), "0", "1"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL):
            sock, _ = listener.accept()
            with sock:
                head = sock.recv(4096)
                sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
                (closing,) = FrameReader(expects_mask=True).feed(sock.recv(100))
    assert head.startswith(b"GET / HTTP/1.1\r\n")
    assert b"Sec-WebSocket-Key: " + KEY + b"\r\n" in head
    assert closing == (CLOSE, 1000)


def test_the_client_in_c_waits_for_a_server_whose_queue_is_full(tmp_path):
    client = build(CLIENT, tmp_path)
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        waiting = [stack.enter_context(socket.socket()) for _ in range(3)]
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(listener.getsockname())
        command = [client, str(listener.getsockname()[1]), "0", "1"]
        process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.2)
        for sock in waiting:
            sock.close()
        while not _shakes_hands(listener):
            pass
        assert json.loads(process.stdout.read())["handshakes"] == 1


def _shakes_hands(listener):
    """Accept a connection; whether its other side asked for something, and was answered."""
    sock, _ = listener.accept()
    with sock:
        if not sock.recv(4096):
            return False
        sock.sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
        return bool(sock.recv(100))
