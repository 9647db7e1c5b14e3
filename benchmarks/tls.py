"""What TLS costs a connection, call by call: CPU time of this thread, in µs.

One blocking client opens connections one after the other to the same server as the other cases, as
the injector does it, with full and with resumed handshakes in turns. Beside it Python's ssl, in
turns as well: it copies a session when one is read from a connection and when one is offered, and
it is built on the machine's OpenSSL.
"""

import socket
import ssl
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.figures import GoalRow
from benchmarks.servers import Server
from campaigns.domain.plan.target import Origin
from workers.injector.tls_client import make_tls_context
from workers.injector.tls_library import VERSION, ReadBuffer, Tls

CONNECTIONS = 400
_REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
# The library's own work; the rest of a connection is the kernel's.
_WITHIN_OPENSSL = ("OpenSSL's object", "offer session", "handshake", "write", "read, tickets too")
TITLE = f"What TLS costs a connection, call by call, mean of {CONNECTIONS}"


class _Stopwatch:
    def __init__(self) -> None:
        self.spent_s: dict[str, float] = defaultdict(float)

    def time(self, name: str, call: Callable[..., Any], *arguments: Any) -> Any:
        began = time.thread_time()
        result = call(*arguments)
        self.spent_s[name] += time.thread_time() - began
        return result

    @property
    def mean_us(self) -> float:
        return sum(self.spent_s.values()) / CONNECTIONS * 1e6


class _Ours:
    """The injector's TLS."""

    name = f"ours, {VERSION}"

    def __init__(self, port: int):
        self._context = make_tls_context(Origin("https", "127.0.0.1", port, False), "127.0.0.1")
        self._buffer = ReadBuffer()

    def connect(self, sock: Any, session: Any, watch: _Stopwatch) -> Any:
        tls = watch.time("OpenSSL's object", Tls, self._context, sock, None, self._buffer)
        if session is not None:
            watch.time("offer session", tls.offer, session)
        watch.time("handshake", tls.shake_hands)
        assert tls.is_resumed == (session is not None)
        watch.time("write", tls.write, _REQUEST)
        watch.time("read, tickets too", tls.read, 4096)
        watch.time("close", tls.close)
        return tls

    def session_of(self, tls: Any) -> Any:
        return tls.take_session()


class _Pythons:
    """Python's ssl."""

    name = f"Python's ssl, {ssl.OPENSSL_VERSION}"

    def __init__(self, _: int):
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        self._context.set_alpn_protocols(["http/1.1"])

    def connect(self, sock: Any, session: Any, watch: _Stopwatch) -> Any:
        tls = watch.time("OpenSSL's object", self._context._wrap_socket, sock, False, "127.0.0.1")
        if session is not None:
            watch.time("offer session", setattr, tls, "session", session)
        watch.time("handshake", tls.do_handshake)
        assert bool(tls.session_reused) == (session is not None)
        watch.time("write", tls.write, _REQUEST)
        watch.time("read, tickets too", tls.read, 4096)
        return tls

    def session_of(self, tls: Any) -> Any:
        return tls.session


class _Socket(socket.SocketType):
    """Python's ssl holds a weak reference to it."""

    __slots__ = ("__weakref__",)


def measure(server: Server) -> Iterator[GoalRow]:
    """A line for each call of ours: its cost with a full handshake, and with a resumed one. Then
    all of them together, beside Python's ssl."""
    clients = [_Ours(server.https_port), _Pythons(server.https_port)]
    watches = [(_Stopwatch(), _Stopwatch()) for _ in clients]
    sessions = [
        client.session_of(_connect(client, server, None, _Stopwatch())) for client in clients
    ]
    for _ in range(CONNECTIONS):
        for client, session, (full, resumed) in zip(clients, sessions, watches, strict=True):
            _connect(client, server, None, full)
            _connect(client, server, session, resumed)
    full, resumed = watches[0]
    for name in resumed.spent_s:
        costs = (watch.spent_s[name] / CONNECTIONS * 1e6 for watch in (full, resumed))
        yield _line(name, *costs)
    means = [(full.mean_us, resumed.mean_us) for full, resumed in watches]
    for client, costs in zip(clients, means, strict=True):
        yield _line(client.name, *costs)
    ours, pythons = means
    shares = (one / other for one, other in zip(ours, pythons, strict=True))
    yield GoalRow("ours / Python's", "full {:6.2f}, resumed {:6.2f}".format(*shares))
    yield GoalRow("our resumed / our full", f"{ours[1] / ours[0]:.2f}", "≤ 0.55")
    within = [sum(watch.spent_s[name] for name in _WITHIN_OPENSSL) for watch in watches[0]]
    measured = f"{within[1] / within[0]:.2f}: the least that any client of this library can have"
    yield GoalRow("the same of OpenSSL's calls alone", measured)


def _line(name: str, full_us: float, resumed_us: float) -> GoalRow:
    return GoalRow(name, f"full {full_us:6.1f} µs, resumed {resumed_us:6.1f} µs")


def _connect(client: Any, server: Server, session: Any, watch: _Stopwatch) -> Any:
    """One connection with one request; its TLS."""
    sock = watch.time("socket", _Socket, socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    watch.time("connect", sock.connect, ("127.0.0.1", server.https_port))
    tls = client.connect(sock, session, watch)
    watch.time("close", sock.close)
    return tls
