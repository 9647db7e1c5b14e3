"""TLS for the connections of one endpoint: handshakes, session resumption, negotiated values."""

import _ssl
import ssl
from collections import Counter
from hashlib import sha256
from typing import Any

from campaigns.domain.measured.outcomes import Kind
from campaigns.domain.plan.target import Origin
from workers.injector import faults
from workers.injector.faults import AttemptFailed
from workers.injector.order import Refusal
from workers.injector.read_delay import unread_for_ns
from workers.injector.tls import make_tls_context


class TlsClient:
    """`handshakes`: how many there were per (version, cipher, bits, resumed)."""

    def __init__(self, endpoint: Origin, *, resumes: bool):
        self._context = make_tls_context(endpoint)
        self._name = _encoded(endpoint.tls.sni or endpoint.host)
        self._fingerprint = endpoint.tls.fingerprint
        self._sessions = Sessions() if resumes else None
        self.handshakes: Counter[tuple[str, str, int, bool]] = Counter()
        self.certificate: bytes | None = None

    def secure(self, worker: Any, connection: Any) -> None:
        """Do the handshake on an open connection. Raises AttemptFailed."""
        connection.offered = self._sessions.offer() if self._sessions else None
        try:
            # Not `wrap_socket`: its SSLSocket costs some 30 µs per connection and only passes
            # calls on here. gevent's own TLS sockets also use this method.
            tls = self._context._wrap_socket(
                connection.sock, False, self._name, session=connection.offered
            )
            connection.tls = tls
            _shake_hands(worker, connection, tls)
            if self._fingerprint:
                self._compare_fingerprint(tls)
        except (OSError, ValueError) as error:
            kind = faults.of_handshake(error) if isinstance(error, OSError) else Kind.TLS_HANDSHAKE
            raise AttemptFailed(kind, str(error)) from None
        connection.send, connection.recv = tls.write, tls.read

    def _compare_fingerprint(self, tls: Any) -> None:
        shown = sha256(tls.getpeercert(True) or b"").hexdigest()
        if shown != self._fingerprint:
            detail = f"The server shows another certificate than the accepted one: {shown}."
            raise AttemptFailed(Kind.TLS_VERIFY, detail)

    def note(self, connection: Any) -> bool:
        """Count what a handshake negotiated; whether it resumed a session."""
        tls = connection.tls
        resumed = bool(tls.session_reused)
        if connection.offered is not None:
            self._sessions.learn(connection.offered, was_taken=resumed)
            connection.offered = None
        name, _, bits = tls.cipher()
        self.handshakes[(tls.version(), name, bits, resumed)] += 1
        if self.certificate is None:
            self.certificate = tls.getpeercert(True)
        return resumed

    def keep_session(self, connection: Any) -> None:
        """After a reply: a TLS 1.3 session can be resumed only once its ticket has been read."""
        if self._sessions is not None and connection.tls is not None:
            self._sessions.keep(connection.tls)


class Sessions:
    """Which session the next handshake offers.

    Python copies a session whenever it is read from a connection, including the certificate, which
    costs a third of a handshake (docs/performance.md). So the same session is offered as long as
    the server accepts it. Servers that accept each session only once get a new one each time.
    """

    def __init__(self) -> None:
        self._session: Any = None
        self._was_taken = False
        self._are_single_use = False

    def offer(self) -> Any:
        return self._session

    def learn(self, session: Any, *, was_taken: bool) -> None:
        """Learn whether the server accepted the offered session."""
        if session is not self._session:
            return
        if was_taken:
            self._was_taken = True
            return
        self._are_single_use = self._are_single_use or self._was_taken
        self._session = None

    def keep(self, tls: Any) -> None:
        """Keep a connection's session, if one is needed and it can be resumed."""
        if self._session is not None and not self._are_single_use:
            return
        session = tls.session
        if session is not None and session.has_ticket:
            self._session, self._was_taken = session, False


def _shake_hands(worker: Any, connection: Any, tls: Any) -> None:
    while True:
        try:
            tls.do_handshake()
            return
        except ssl.SSLWantReadError:
            worker.park(Kind.TLS_TIMEOUT)
            if connection.unread_ns is not None:
                connection.unread_ns += unread_for_ns(connection.sock)
        except ssl.SSLWantWriteError:
            worker.wait_writable(connection.sock.fileno(), Kind.TLS_TIMEOUT)


def certificate_chain(tls: Any) -> list[bytes]:
    """The certificates the server sent on this connection, leaf first, as DER."""
    chain = tls.get_unverified_chain() or []
    return [certificate.public_bytes(_ssl.ENCODING_DER) for certificate in chain]


def _encoded(name: str) -> str:
    """A server name as it is sent on the wire. Raises Refusal."""
    try:
        return name.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise Refusal("bad_order", f"{name!r} cannot be a server's name in TLS: {error}.") from None
