"""TLS for the connections of one endpoint: handshakes, session resumption, negotiated values."""

from hashlib import sha256
from typing import Any

from campaigns.domain.measured.certificates import names_of_der
from campaigns.domain.measured.outcomes import Kind
from campaigns.domain.plan.addresses import is_address
from campaigns.domain.plan.target import Origin
from workers.injector import faults
from workers.injector.faults import AttemptFailed
from workers.injector.key_log import KeyLog
from workers.injector.order import Refusal
from workers.injector.read_delay import unread_for_ns
from workers.injector.tls import make_tls_context
from workers.injector.tls_errors import WantRead, WantWrite
from workers.injector.tls_library import VERSION, ReadBuffer, Tls
from workers.injector.tls_sessions import Sessions
from workers.injector.tls_tally import TlsTally

_MOST_NAMES = 5


class TlsClient:
    """`tally`: what the handshakes agreed on."""

    library = VERSION

    def __init__(
        self,
        endpoint: Origin,
        protocol: str = "http/1.1",
        *,
        resumes: bool,
        key_log: KeyLog | None = None,
    ):
        """`protocol`: what ALPN offers."""
        name = _encoded(endpoint.tls.sni or endpoint.host)
        self._context = make_tls_context(endpoint, name, key_log, protocol)
        self._name = name
        self._announced = None if is_address(name) else name.encode("ascii")
        self._buffer = ReadBuffer()
        self._fingerprint = endpoint.tls.fingerprint
        self._sessions = Sessions() if resumes else None
        self.tally = TlsTally()
        self.certificate: bytes | None = None

    def secure(self, worker: Any, connection: Any) -> None:
        """Do the handshake on an open connection. Raises AttemptFailed."""
        tls = Tls(self._context, connection.sock, self._announced, self._buffer)
        connection.tls = tls
        if self._sessions is not None:
            connection.offered = self._sessions.offer()
            if connection.offered is not None:
                tls.offer(connection.offered)
        try:
            _shake_hands(worker, connection, tls)
        except OSError as error:
            kind = faults.of_handshake(error)
            detail = self._both_names(tls) if kind == Kind.TLS_NAME else str(error)
            raise AttemptFailed(kind, detail) from None
        if self._fingerprint:
            self._compare_fingerprint(tls)
        connection.send, connection.recv = tls.write, tls.read

    def _both_names(self, tls: Tls) -> str:
        names = ", ".join(names_of_der(tls.certificate or b"")[:_MOST_NAMES]) or "no name"
        return f"The certificate is for {names}, not for {self._name}."

    def _compare_fingerprint(self, tls: Tls) -> None:
        shown = sha256(tls.certificate or b"").hexdigest()
        if shown != self._fingerprint:
            detail = f"The server shows another certificate than the accepted one: {shown}."
            raise AttemptFailed(Kind.TLS_FINGERPRINT, detail)

    def note(self, connection: Any) -> bool:
        """Count what a handshake negotiated; whether it resumed a session."""
        tls = connection.tls
        resumed = tls.is_resumed
        if self._sessions is not None:
            tls.mark_bare_session()
        if connection.offered is not None:
            self._sessions.learn(connection.offered, was_taken=resumed)
            connection.offered = None
        self.tally.add(tls, connection.sock, is_resumed=resumed)
        if self.certificate is None:
            self.certificate = tls.certificate
        return resumed

    def keep_session(self, connection: Any) -> None:
        """After a connection's last reply: a TLS 1.3 session can be resumed only once its ticket
        has been read."""
        if self._sessions is not None and connection.tls is not None:
            self._sessions.keep(connection.tls)
            connection.tls.stop_writing()


def _shake_hands(worker: Any, connection: Any, tls: Tls) -> None:
    while True:
        try:
            tls.shake_hands()
            return
        except WantRead:
            worker.park(Kind.TLS_TIMEOUT)
            if connection.unread_ns is not None:
                connection.unread_ns += unread_for_ns(connection.sock)
        except WantWrite:
            worker.wait_writable(connection.sock.fileno(), Kind.TLS_TIMEOUT)


def _encoded(name: str) -> str:
    """A server name as it is sent on the wire. Raises Refusal."""
    try:
        return name.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise Refusal("bad_order", f"{name!r} cannot be a server's name in TLS: {error}.") from None
