"""TLS of the demo target, by the same OpenSSL as the injector's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gevent import get_hub
from gevent.socket import timeout, wait
from OpenSSL import SSL

from workers.injector.connection import READ, WRITE
from workers.injector.tls_errors import RaggedEnd, WantRead, WantWrite
from workers.injector.tls_library import ReadBuffer, ServerTls, write_as_much_as_fits

_SPOKEN = frozenset({b"h2", b"http/1.1"})


def make_tls_context(*certificates: tuple[Path, Path]) -> SSL.Context:
    """`certificates`: (certificate, key) as PEM files, one of each kind of key; the client's
    signature algorithms decide which one it is shown."""
    context = SSL.Context(SSL.TLS_SERVER_METHOD)
    context.set_min_proto_version(SSL.TLS1_2_VERSION)
    write_as_much_as_fits(context)
    for certificate, key in certificates:
        context.use_certificate_chain_file(str(certificate))
        context.use_privatekey_file(str(key))
    context.set_alpn_select_callback(_select)
    return context


def _select(_: SSL.Connection, offered: list[bytes]) -> Any:
    """What the client prefers."""
    return next((each for each in offered if each in _SPOKEN), SSL.NO_OVERLAPPING_PROTOCOLS)


class TlsSocket:
    """A connection of the demo target over TLS, with those calls of a socket that it uses. All
    raise OSError."""

    def __init__(self, sock: Any, context: SSL.Context, buffer: ReadBuffer):
        """`buffer` may be the same for all connections of a thread."""
        self._sock = sock
        self._tls = ServerTls(context, sock, buffer)
        loop = get_hub().loop
        self._readable = loop.io(sock.fileno(), READ)
        self._writable = loop.io(sock.fileno(), WRITE)
        self._timeout_s: float | None = None
        self.setsockopt = sock.setsockopt

    def shake_hands(self) -> None:
        self._wait_for(self._tls.shake_hands)

    def recv(self, size: int) -> bytes:
        """b"" after the end of TLS, and of TCP."""
        try:
            return self._wait_for(self._tls.read, size)
        except RaggedEnd:
            return b""

    def sendall(self, data: bytes) -> None:
        unsent = memoryview(data)
        while unsent:
            unsent = unsent[self._wait_for(self._tls.write, unsent) :]

    def settimeout(self, seconds: float | None) -> None:
        self._timeout_s = seconds

    def close(self) -> None:
        """Ends TCP without ending TLS, as many servers do."""
        for watcher in (self._readable, self._writable):
            watcher.stop()
            watcher.close()
        self._tls.close()
        self._sock.close()

    def _wait_for(self, call: Callable[..., Any], *arguments: Any) -> Any:
        while True:
            try:
                return call(*arguments)
            except WantRead:
                watcher = self._readable
            except WantWrite:
                watcher = self._writable
            wait(watcher, self._timeout_s, timeout("timed out"))
