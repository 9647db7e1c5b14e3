"""What Python's ssl module costs a connection, call by call: CPU time of this thread, in µs.

One blocking client opens connections one after the other to the same server as the other cases, as
the injector does it, with full and with resumed handshakes in turns. `read session` and `offer
session` are calls that a C program has for nothing: Python copies the session by writing it out and
parsing it again, with the server's certificate in it. The injector reads one only when it needs it.
"""

import socket
import ssl
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.figures import GoalRow
from benchmarks.servers import Server

CONNECTIONS = 400
_READ_SESSION = "read session"
_REQUEST = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
TITLE = f"What Python's ssl costs a connection, call by call, mean of {CONNECTIONS}"


class _Socket(socket.SocketType):
    __slots__ = ("__weakref__",)


class _Stopwatch:
    def __init__(self) -> None:
        self.spent_s: dict[str, float] = defaultdict(float)

    def time(self, name: str, call: Callable[[], Any]) -> Any:
        began = time.thread_time()
        result = call()
        self.spent_s[name] += time.thread_time() - began
        return result


def measure(server: Server) -> Iterator[GoalRow]:
    """A line for each call: its cost with a full handshake, and with a resumed one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    session = _connect(context, server.https_port, None, _Stopwatch())
    full, resumed = _Stopwatch(), _Stopwatch()
    for _ in range(CONNECTIONS):
        _connect(context, server.https_port, None, full)
        _connect(context, server.https_port, session, resumed)
    for name in resumed.spent_s:
        yield _line(name, full.spent_s[name], resumed.spent_s[name])
    without = (
        sum(watch.spent_s.values()) - watch.spent_s[_READ_SESSION] for watch in (full, resumed)
    )
    yield _line(f"all but {_READ_SESSION}", *without)


def _line(name: str, full_s: float, resumed_s: float) -> GoalRow:
    full_us, resumed_us = (spent_s / CONNECTIONS * 1e6 for spent_s in (full_s, resumed_s))
    return GoalRow(name, f"full {full_us:6.1f} µs, resumed {resumed_us:6.1f} µs")


def _connect(context: ssl.SSLContext, port: int, session: Any, watch: _Stopwatch) -> Any:
    """One connection with one request; its session."""
    sock = watch.time("socket", lambda: _Socket(socket.AF_INET, socket.SOCK_STREAM))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    watch.time("connect", lambda: sock.connect(("127.0.0.1", port)))
    tls = watch.time("OpenSSL's object", lambda: context._wrap_socket(sock, False, "127.0.0.1"))
    if session is not None:
        watch.time("offer session", lambda: setattr(tls, "session", session))
    watch.time("handshake", tls.do_handshake)
    assert bool(tls.session_reused) == (session is not None)
    watch.time("write", lambda: tls.write(_REQUEST))
    watch.time("read, tickets too", lambda: tls.read(4096))
    taken = watch.time(_READ_SESSION, lambda: tls.session)
    watch.time("close", sock.close)
    return taken
