"""Real servers of HTTP/2, each a program that writes a line of its log for each request."""

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin"
LARGE_BYTES, SMALL = 300_000, "some forty bytes for the reply to be of..."


@dataclass(frozen=True)
class Line:
    """`sent_bytes`, `received_bytes`: of the stream's frames, as the server counts them; 0 where it
    does not. `body_bytes` of the reply."""

    status: str
    connection: str
    protocol: str
    body_bytes: int
    sent_bytes: int = 0
    received_bytes: int = 0


class LoggingServer:
    """`begin` forgets what was logged so far; `lines` waits for so many since then."""

    port: int
    tls_port: int

    def __init__(self, log: Path):
        self._log = log
        self._begun_at = 0

    def begin(self) -> None:
        self._begun_at = len(self._texts())

    def lines(self, count: int) -> list[Line]:
        until = time.monotonic() + 20
        while len(texts := self._texts()[self._begun_at :]) < count and time.monotonic() < until:
            time.sleep(0.01)
        return [self.line_of(text.split()) for text in texts]

    def line_of(self, words: list[str]) -> Line:
        raise NotImplementedError

    def _texts(self) -> list[str]:
        """Whole lines."""
        return self._log.read_text().split("\n")[:-1] if self._log.exists() else []


class Nginx(LoggingServer):
    def line_of(self, words: list[str]) -> Line:
        status, sent, n_received, connection, protocol, body = words
        return Line(status, connection, protocol, int(body), int(sent), int(n_received))


class Apache(LoggingServer):
    def line_of(self, words: list[str]) -> Line:
        status, body, tag, protocol = words
        # The connection's number and the stream's.
        return Line(status, tag.rpartition("-")[0], protocol, int(body.replace("-", "0")))


class Node(LoggingServer):
    def line_of(self, words: list[str]) -> Line:
        status, body, connection, protocol = words
        return Line(status, connection, protocol, int(body))


def find(name: str) -> str | None:
    return shutil.which(name, path=SBIN)


@contextlib.contextmanager
def nginx(
    folder: Path, certificate: tuple[str, str], per_connection: int = 100_000
) -> Iterator[Nginx]:
    (folder / "large").write_bytes(b"x" * LARGE_BYTES)
    ports = free_ports(3)
    config = folder / "nginx.conf"
    config.write_text(
        (HERE / "nginx.conf").read_text() % {
            # Or its workers could not read the folder of a test that root runs.
            "user": "user root;" if os.geteuid() == 0 else "",
            "folder": folder,
            "port": ports[0],
            "tls_port": ports[1],
            "plain_port": ports[2],
            "certificate": certificate[0],
            "key": certificate[1],
            "small": SMALL,
            "per_connection": per_connection,
        }
    )  # fmt: skip
    command = [find("nginx"), "-c", str(config), "-p", str(folder), "-e", f"{folder}/error.log"]
    with _running(command, Nginx(folder / "access.log"), *ports[:2]) as server:
        yield server


@contextlib.contextmanager
def apache(folder: Path, certificate: tuple[str, str]) -> Iterator[Apache]:
    (folder / "large").write_bytes(b"x" * LARGE_BYTES)
    (folder / "index").write_text(SMALL)
    ports = free_ports(2)
    config = folder / "apache.conf"
    config.write_text(
        (HERE / "apache.conf").read_text() % {
            "user": "User www-data" if os.geteuid() == 0 else "",
            "folder": folder,
            "port": ports[0],
            "tls_port": ports[1],
            "certificate": certificate[0],
            "key": certificate[1],
        }
    )  # fmt: skip
    command = [find("apache2"), "-X", "-f", str(config)]
    with _running(command, Apache(folder / "access.log"), *ports) as server:
        yield server


@contextlib.contextmanager
def node(folder: Path, certificate: tuple[str, str]) -> Iterator[Node]:
    ports = free_ports(2)
    log = folder / "access.log"
    settings = [str(port) for port in ports], [*certificate, str(log), str(LARGE_BYTES), SMALL]
    command = [find("node"), str(HERE / "node_server.mjs"), *settings[0], *settings[1]]
    with _running(command, Node(log), *ports) as server:
        yield server


@contextlib.contextmanager
def _running(command: list[str], server: LoggingServer, *ports: int) -> Iterator[LoggingServer]:
    server.port, server.tls_port = ports
    process = subprocess.Popen(command)
    try:
        for port in ports:
            _wait_for(port, process)
        yield server
    finally:
        process.terminate()
        process.wait(5)


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        listeners = [
            stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)
        ]
        return [each.getsockname()[1] for each in listeners]


def _wait_for(port: int, process: subprocess.Popen) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError(f"{process.args[0]} does not listen")
