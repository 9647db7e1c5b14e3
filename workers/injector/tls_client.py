"""TLS for the connections of one endpoint: handshakes, session resumption, negotiated values."""

import socket
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from ipaddress import ip_address
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from OpenSSL import SSL

from campaigns.domain.metrics.certificates import key_words, refusal_words
from campaigns.domain.metrics.injector_end import TlsHandshakes
from campaigns.domain.metrics.outcomes import CERTIFICATE_KINDS, Detail, Kind
from campaigns.domain.plan.addresses import is_address
from campaigns.domain.plan.target import Origin
from campaigns.domain.plan.tls_options import USUAL_GROUPS, with_key_shares
from workers.injector import faults, tls_library
from workers.injector.faults import AttemptFailed
from workers.injector.order import Refusal
from workers.injector.read_delay import unread_for_ns
from workers.injector.tls_library import (
    NO_RECORD,
    VERSION,
    KeyLog,
    ReadBuffer,
    Tls,
    WantRead,
    WantWrite,
)
from workers.injector.wire import carried_bytes

_PEEKED_BYTES = 200
_VERSIONS = {"1.2": SSL.TLS1_2_VERSION, "1.3": SSL.TLS1_3_VERSION}
_OLDEST = "1.2"


def make_tls_context(
    endpoint: Origin, name: str, key_log: KeyLog | None = None, protocol: str = "http/1.1"
) -> SSL.Context:
    """A client context; without verification it accepts any certificate, and with a fingerprint
    TlsClient compares it after the handshake. `name`: the name or address to verify, as ASCII.
    `key_log`: gets the secrets of all connections. `protocol`: what ALPN offers. Raises Refusal.

    Without verification it loads no authorities, which take longer than a handshake.
    """
    try:
        context = _make(endpoint, name, protocol)
    except (OSError, TypeError, ValueError, SSL.Error, UnsupportedAlgorithm) as error:
        words = str(error)
        if isinstance(error, SSL.Error):  # with a list of (library, function, reason)
            entries = error.args[0] if error.args else ()
            reasons = "; ".join(entry[-1] for entry in entries if entry[-1])
            words = reasons or "OpenSSL does not say why"
        raise Refusal("bad_order", f"TLS cannot be set up with these options: {words}.") from None
    if key_log is not None:
        tls_library.log_secrets(context, key_log.write)
    return context


def _make(endpoint: Origin, name: str, protocol: str) -> SSL.Context:
    options = endpoint.tls
    context = SSL.Context(SSL.TLS_CLIENT_METHOD)
    tls_library.write_as_much_as_fits(context)
    tls_library.offer_groups(context, with_key_shares(options.groups or USUAL_GROUPS))
    if options.signatures:
        tls_library.offer_signatures(context, options.signatures)
    if endpoint.verify_tls and not options.fingerprint:
        context.set_verify(SSL.VERIFY_PEER)
        if options.ca_pem:
            with _as_file(options.ca_pem) as path:
                context.load_verify_locations(path)
        elif (paths := ssl.get_default_verify_paths()).cafile or paths.capath:
            # Those that the rest of the machine trusts.
            context.load_verify_locations(paths.cafile, paths.capath)
        address = ip_address(name).packed if is_address(name) else None
        tls_library.expect_name(context, name, address)
    else:
        context.set_verify(SSL.VERIFY_NONE)
    context.set_min_proto_version(_VERSIONS[options.min_version or _OLDEST])
    if options.max_version:
        context.set_max_proto_version(_VERSIONS[options.max_version])
    if options.ciphers:
        context.set_cipher_list(options.ciphers.encode())
    if options.ciphersuites:
        context.set_tls13_ciphersuites(options.ciphersuites.encode())
    if options.alpn:
        context.set_alpn_protos([protocol.encode()])
    if options.client_certificate_pem:
        with _as_file(options.client_certificate_pem) as path:
            context.use_certificate_chain_file(path)
        try:
            key = load_pem_private_key(endpoint.client_key_pem.strip().encode(), None)
        except TypeError:
            detail = "the client key is encrypted; use one without a passphrase"
            raise ValueError(detail) from None
        context.use_privatekey(key)
    return context


@contextmanager
def _as_file(pem: str) -> Iterator[str]:
    """OpenSSL reads several certificates only from a file; this one has no name and is deleted at
    once."""
    with tempfile.TemporaryFile() as file:
        file.write(f"{pem.strip()}\n".encode())
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"


class _LikeHandshakes:
    """The handshakes with the same outcome; `tls` was the first of them."""

    __slots__ = (
        "bits", "bytes_received", "bytes_sent", "certificate", "chain_bytes", "cipher", "count",
        "group", "is_measured", "read_whole", "resumed", "version",
    )  # fmt: skip

    def __init__(self, tls: Tls, *, resumed: bool):
        self.version, self.cipher, self.bits, self.group = tls.in_words()
        self.resumed = resumed
        chain = [] if resumed else tls.chain()
        self.certificate = key_words(chain[0]) if chain else None
        self.chain_bytes = sum(map(len, chain)) if chain else None
        self.count = self.bytes_sent = self.bytes_received = 0
        self.is_measured = True
        self.read_whole: set[int] = set()


class TlsTally:
    def __init__(self) -> None:
        self._groups: dict[tuple[Any, ...], _LikeHandshakes] = {}

    def add(self, tls: Tls, sock: Any, *, is_resumed: bool) -> None:
        """Right after a handshake, before anything else is sent."""
        key = (*tls.terms(), is_resumed)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _LikeHandshakes(tls, resumed=is_resumed)
        group.count += 1
        sizes = carried_bytes(sock, group.read_whole)
        if sizes is None:
            group.is_measured = False
        else:
            group.bytes_sent += sizes[0]
            group.bytes_received += sizes[1]

    def handshakes(self) -> list[TlsHandshakes]:
        return [
            TlsHandshakes(
                each.version,
                each.cipher,
                each.count,
                each.bits,
                each.resumed,
                each.group,
                each.certificate,
                each.chain_bytes,
                each.bytes_sent if each.is_measured else None,
                each.bytes_received if each.is_measured else None,
            )
            for each in self._groups.values()
        ]


class Sessions:
    """The same session is offered as long as the server accepts it, so that what a connection does
    depends on no other one under way. Servers that accept each session only once get a new one each
    time.
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
        session = tls.take_session()
        if session is not None:
            self._session, self._was_taken = session, False


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
        name = endpoint.tls.sni or endpoint.host
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError as error:
            words = f"{name!r} cannot be a server's name in TLS: {error}."
            raise Refusal("bad_order", words) from None
        self._context = make_tls_context(endpoint, name, key_log, protocol)
        self._name = name
        self._sni = None if is_address(name) else name.encode("ascii")
        self._buffer = ReadBuffer()
        self._fingerprint = endpoint.tls.fingerprint
        self._sessions = Sessions() if resumes else None
        self.tally = TlsTally()
        self.certificate: bytes | None = None

    def secure(self, worker: Any, connection: Any) -> None:
        """Do the handshake on an open connection. Raises AttemptFailed."""
        tls = Tls(self._context, connection.sock, self._sni, self._buffer)
        connection.tls = tls
        if self._sessions is not None:
            connection.offered = self._sessions.offer()
            if connection.offered is not None:
                tls.offer(connection.offered)
        try:
            _shake_hands(worker, connection, tls)
        except OSError as error:
            kind = faults.of_handshake(error)
            detail = self._detail(kind, error, connection)
            raise AttemptFailed(kind, detail, error.errno or 0) from None
        if self._fingerprint:
            fingerprint = sha256(tls.certificate or b"").hexdigest()
            if fingerprint != self._fingerprint:
                detail = f"its SHA-256 is {fingerprint}"
                raise AttemptFailed(Kind.TLS_FINGERPRINT, detail)
        connection.send, connection.recv = tls.write, tls.read

    def _detail(self, kind: Kind, error: OSError, connection: Any) -> str:
        if getattr(error, "reason", 0) == NO_RECORD and _answers_in_http(connection.sock):
            return Detail.PLAIN_HTTP
        chain = connection.tls.chain()
        if kind in CERTIFICATE_KINDS:
            return refusal_words(kind, chain, self._name, datetime.now(UTC)) or str(error)
        if chain and str(error) == Detail.NO_CIPHER:
            # Cipher and group were agreed on; before TLS 1.3 the alert for both is the same.
            return Detail.WANTS_CERTIFICATE
        return str(error)

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


def _answers_in_http(sock: Any) -> bool:
    """Whether what is left of an answer is that of "HTTP/1.1 400", or of a page: OpenSSL has read
    five bytes of it, as the head of a record."""
    try:
        rest = sock.recv(_PEEKED_BYTES, socket.MSG_PEEK)
    except OSError:
        return False
    return rest.startswith((b"1.0 ", b"1.1 ")) or b"HTML" in rest.upper()


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
