"""Small scripted servers on real sockets, and a call that measures them."""

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from campaigns.domain.analysis.criteria import CRITERIA, Aspect
from campaigns.domain.analysis.judgement import JudgementReason, judge
from campaigns.domain.analysis.observations import observe
from campaigns.domain.metrics.snapshot import Timing, Total
from workers.injector.summary import LocalRun, run_here

Script = Callable[[socket.socket, "Scripted"], None]
OK_REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class Scripted:
    """A listener whose connections are served by a script, each in a thread of its own."""

    port: int
    n_connections: int = 0
    n_requests: int = 0
    # Its own ledger: the replies that it gave properly, as its script says.
    n_answered: int = 0
    server_names: list[str | None] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)
    # By connection: what came with the request before it, from a client that does not wait.
    _came_early: dict[socket.socket, bytes] = field(default_factory=dict)

    def read_request(self, sock: socket.socket) -> bytes | None:
        """The head and body of one request; None when the client has closed."""
        data = self._came_early.pop(sock, b"")
        while b"\r\n\r\n" not in data:
            more = sock.recv(65536)
            if not more:
                return None
            data += more
        head = data.partition(b"\r\n\r\n")[0].lower()
        length = (
            int(head.split(b"content-length:")[1].split()[0]) if b"content-length" in head else 0
        )
        size = len(head) + 4 + length
        while len(data) < size:
            data += sock.recv(65536)
        if len(data) > size:
            self._came_early[sock] = data[size:]
        self.n_requests += 1
        self.requests.append(data[:size])
        return data[:size]


@contextlib.contextmanager
def scripted(
    script: Script, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1", port: int = 0
) -> Iterator[Scripted]:
    """A server on a port of this machine, a free one if none is named, for a `with` block."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.create_server((address, port), family=family, backlog=512)
    server = Scripted(listener.getsockname()[1])

    def serve(sock: socket.socket) -> None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls is not None:
                sock = shake_hands(sock, tls)
            script(sock, server)
        except OSError:
            pass  # the client left, as it may
        finally:
            sock.close()

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = listener.accept()
                server.n_connections += 1
                threading.Thread(target=serve, args=(sock,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield server
    # close() alone does not wake a thread that waits in accept().
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def shake_hands(sock: socket.socket, tls: ssl.SSLContext) -> ssl.SSLSocket:
    """Raises OSError; an alert goes a moment before the reset that unread bytes would cause."""
    connection = tls.wrap_socket(
        sock, server_side=True, suppress_ragged_eofs=True, do_handshake_on_connect=False
    )
    try:
        connection.do_handshake()
    except OSError as error:
        if isinstance(error, ssl.SSLError):
            time.sleep(0.2)
        connection.close()
        raise
    return connection


def after(delay_s: float, reply: bytes = OK_REPLY) -> Script:
    """Answer every request after this time. A load without a rate asks for less of the processor
    than of `always`."""

    def script(sock: socket.socket, server: Scripted) -> None:
        while server.read_request(sock) is not None:
            time.sleep(delay_s)
            sock.sendall(reply)

    return script


def always(*replies: bytes, then_close: bool = False) -> Script:
    """Answer every request with these bytes, each in a write of its own."""

    def script(sock: socket.socket, server: Scripted) -> None:
        while server.read_request(sock) is not None:
            for reply in replies:
                sock.sendall(reply)
            if then_close:
                return

    return script


def reset(sock: socket.socket) -> None:
    """Close with a TCP reset instead of an orderly end."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


class LateReader:
    """Reads nothing until the client has gone, and then all that still comes."""

    def __init__(self, greeting: bytes = b""):
        self._greeting = greeting
        self._may_read, self._has_read = threading.Event(), threading.Event()
        self._error: OSError | None = None

    def script(self, sock: socket.socket, _: Scripted) -> None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.sendall(self._greeting)
        self._may_read.wait(20)
        try:
            while socket.socket.recv(sock, 65536):  # what TCP carries, also under TLS
                pass
        except OSError as error:
            self._error = error
        self._has_read.set()

    def how_it_ended(self) -> type[OSError] | None:
        """The error after all that still came; None: the end of the stream."""
        self._may_read.set()
        assert self._has_read.wait(20)
        return type(self._error) if self._error else None


def make_order(port: int, **fields: Any) -> dict[str, Any]:
    """An order for 127.0.0.1; what is given replaces what is usual."""
    load = fields.pop("load", {"model": "sequential", "requests": 1})
    step = {"method": fields.pop("method", "GET"), "path": fields.pop("path", "/")}
    step["body"] = fields.pop("body", "")
    plan = {
        "steps": fields.pop("steps", [step]),
        "load": load,
        # Long enough that a busy machine ends no attempt.
        "timeouts": fields.pop("timeouts", {"connect_s": 10, "tls_s": 10, "total_s": 20}),
        "warm_up_s": fields.pop("warm_up_s", 0),
        **fields.pop("plan", {}),
    }
    endpoint = {
        "scheme": fields.pop("scheme", "http"),
        "host": fields.pop("host", "127.0.0.1"),
        "port": port,
        "verify_tls": fields.pop("verify_tls", False),
        "tls": fields.pop("tls", {}),
        "address": fields.pop("address", ""),
    }
    return {
        "protocol": 1,
        "run": "1.1",
        "plan": plan,
        "endpoint": endpoint,
        "connection_mode": fields.pop("mode", "keep-alive"),
        "secrets": {"client_key": fields.pop("client_key_pem", "")},
        "policy": {"allow": fields.pop("allow", ["127.0.0.0/8"])},
    } | fields


def probe_order(port: int, **fields: Any) -> dict[str, Any]:
    """The order of a single request instead."""
    order = make_order(port, **fields)
    return order | {"probe": True, "step": order.pop("plan")["steps"][0]}


def measure(port: int, **fields: Any) -> LocalRun:
    """Run such an order in this process."""
    return run_here(make_order(port, **fields), lambda second: None)


def against(script: Script, tls: Any = None, **fields: Any) -> tuple[LocalRun, Scripted]:
    """What a load on such a server came to, and the server's own account."""
    with scripted(script, tls) as server:
        return measure(server.port, **fields), server


def tally(script: Script, tls: Any = None, **fields: Any) -> tuple[Total, Scripted]:
    """The same of the run's total alone."""
    result, server = against(script, tls, **fields)
    return result.total, server


def target_reasons(result: LocalRun) -> dict[str, JudgementReason]:
    """What a run says of its target, by code.

    A judgement does not say it while the injector is in doubt, as it may be on a busy machine.
    """
    observations = observe(result.measurement, is_co_located=True)
    targets = {
        code: each
        for code, each in observations.items()
        if (row := CRITERIA.get(code)) and row.aspect == Aspect.TARGET
    }
    return {reason.code: reason for reason in judge(targets, Timing()).target.reasons}


def closed(requests: int, connections: int = 1) -> dict[str, Any]:
    return {"model": "closed", "connections": connections, "requests": requests}
