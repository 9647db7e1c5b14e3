"""OpenSSL on one connection, called through the binding that pyOpenSSL uses itself.

pyOpenSSL's own `send` and `recv` allocate a buffer and build a context manager for each call, which
costs twice what the call does, and its `Connection` is a thirtieth of a full handshake. Everything
that calls OpenSSL directly is in this file.

How a call of TLS ends that does not do what it is for.

Secrets of TLS connections in the format that Wireshark reads (SSLKEYLOGFILE).

Whoever has the file can read the traffic. It is written only for who sits at the command line: an
order cannot ask for it, and nothing of it leaves the process in any other way."""

import errno
import os
from collections.abc import Callable
from typing import Any

from cryptography.hazmat.bindings.openssl.binding import Binding
from OpenSSL import SSL

from campaigns.domain.metrics.outcomes import Detail, Kind
from campaigns.domain.plan.tls_options import group_name

# X509_V_ERR_… of OpenSSL's x509_vfy.h, which the binding does not name.
_CAUSES = {
    2: Kind.TLS_UNKNOWN_ISSUER,  # UNABLE_TO_GET_ISSUER_CERT
    9: Kind.TLS_NOT_YET_VALID,  # CERT_NOT_YET_VALID
    10: Kind.TLS_EXPIRED,  # CERT_HAS_EXPIRED
    18: Kind.TLS_SELF_SIGNED,  # DEPTH_ZERO_SELF_SIGNED_CERT
    19: Kind.TLS_UNKNOWN_ISSUER,  # SELF_SIGNED_CERT_IN_CHAIN
    20: Kind.TLS_UNKNOWN_ISSUER,  # UNABLE_TO_GET_ISSUER_CERT_LOCALLY
    21: Kind.TLS_UNKNOWN_ISSUER,  # UNABLE_TO_VERIFY_LEAF_SIGNATURE
    62: Kind.TLS_NAME,  # HOSTNAME_MISMATCH
    64: Kind.TLS_NAME,  # IP_ADDRESS_MISMATCH
}

# SSL_R_… of OpenSSL's sslerr.h. An alert's reason is its number and this.
_ALERT = 1000
NO_RECORD = 267  # WRONG_VERSION_NUMBER, of what is no record of TLS
_DETAILS = {
    NO_RECORD: Detail.NO_TLS,
    181: Detail.NO_CIPHER,  # NO_CIPHERS_AVAILABLE
    258: Detail.NO_VERSION,  # UNSUPPORTED_PROTOCOL
    _ALERT + 40: Detail.NO_CIPHER,  # handshake_failure
    _ALERT + 70: Detail.NO_VERSION,  # protocol_version
    _ALERT + 71: Detail.NO_CIPHER,  # insufficient_security
    _ALERT + 112: Detail.UNKNOWN_NAME,  # unrecognized_name
    _ALERT + 116: Detail.WANTS_CERTIFICATE,  # certificate_required
}
# Bad, unsupported, revoked, expired, unknown, of an unknown authority, access denied, required.
_REFUSALS = {_ALERT + number for number in (42, 43, 44, 45, 46, 48, 49, 116)}


class TlsError(OSError):
    """The server broke the rules of TLS, or refused something; `reason` is OpenSSL's SSL_R_…"""

    def __init__(self, detail: str, reason: int = 0):
        super().__init__(_DETAILS.get(reason, detail))
        self.reason = reason

    @property
    def is_refusal(self) -> bool:
        """Whether it is our certificate that the server refuses, or misses."""
        return self.reason in _REFUSALS


class CertificateRefused(TlsError):
    """The server's certificate does not verify; `code` is OpenSSL's X509_V_ERR_…"""

    def __init__(self, detail: str, code: int):
        super().__init__(detail)
        self.kind = _CAUSES.get(code, Kind.TLS_VERIFY)


class RaggedEnd(TlsError):
    """TCP ended without a close_notify."""


class WantRead(BlockingIOError):
    """Nothing can be done before bytes have arrived."""


class WantWrite(BlockingIOError):
    """Nothing can be done before there is room to write."""


_lib, _ffi = Binding.lib, Binding.ffi
_read, _write = _lib.SSL_read, _lib.SSL_write
_new, _free = _lib.SSL_new, _lib.SSL_free
_set_fd, _set_connect_state = _lib.SSL_set_fd, _lib.SSL_set_connect_state
# OpenSSL reads one record at a time, and this is the most that one may hold.
_RECORD_BYTES = 16 * 1024
# SSL_R_CERTIFICATE_VERIFY_FAILED, which the binding does not name.
_VERIFY_FAILED = 134
# Where an error's code has the number of the library that it is of, and the number of libssl.
_LIBRARY_BITS, _SSL = 23, 20
_CLOSED = _lib.SSL_SENT_SHUTDOWN | _lib.SSL_RECEIVED_SHUTDOWN
# Without its date.
VERSION = " ".join(SSL.OpenSSL_version(SSL.OPENSSL_VERSION).decode().split()[:2])


class ReadBuffer:
    """Where OpenSSL puts what it has decrypted; one for all connections of a thread."""

    __slots__ = ("memory", "window")

    def __init__(self) -> None:
        self.memory = _ffi.new("char[]", _RECORD_BYTES)
        self.window = _ffi.buffer(self.memory)


class Tls:
    """The client's side of TLS on a connected, non-blocking socket. Call `close` before the
    socket's.

    Every call raises WantRead or WantWrite where it would block, RaggedEnd, another TlsError, or
    the OSError that ended TCP.
    """

    __slots__ = ("_bare_session", "_buffer", "_ssl")

    def __init__(self, context: SSL.Context, sock: Any, name: bytes | None, buffer: ReadBuffer):
        """`name` is announced to the server; None announces none."""
        ssl = self._ssl = _ffi.gc(_new(context._context), _free)
        _set_fd(ssl, sock.fileno())
        _set_connect_state(ssl)
        self._buffer = buffer
        self._bare_session: Any = _ffi.NULL
        if name is not None:
            _lib.SSL_set_tlsext_host_name(ssl, name)

    def shake_hands(self) -> None:
        """Raises CertificateRefused, too."""
        result = _lib.SSL_do_handshake(self._ssl)
        if result != 1:
            self._end(result)
            raise RaggedEnd("the server ended the connection")

    def read(self, size: int) -> bytes:
        """At most `size` bytes of the next record; b"" after the server's close_notify."""
        buffer = self._buffer
        most = size if size < _RECORD_BYTES else _RECORD_BYTES
        n_bytes = _read(self._ssl, buffer.memory, most)
        return buffer.window[:n_bytes] if n_bytes > 0 else self._end(n_bytes)

    @property
    def has_rest(self) -> bool:
        """Whether the latest record was read only in part."""
        return _lib.SSL_pending(self._ssl) > 0

    def write(self, data: bytes | memoryview) -> int:
        """How many bytes were written: not all where the socket is full."""
        buffer = data if type(data) is bytes else _ffi.from_buffer(data)
        n_bytes = _write(self._ssl, buffer, len(data))
        if n_bytes > 0 or not data:
            return n_bytes
        self._end(n_bytes)
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def close(self) -> None:
        """Send nothing and read nothing from now on, as the socket's number may soon be another's.

        Without this, OpenSSL would take the connection's session for one that must not be resumed.
        """
        _lib.SSL_set_shutdown(self._ssl, _CLOSED)

    # --- sessions --------------------------------------------------------------------------------
    def offer(self, session: Any) -> None:
        """Before the handshake: the session to resume."""
        _lib.SSL_set_session(self._ssl, session)

    @property
    def is_resumed(self) -> bool:
        return bool(_lib.SSL_session_reused(self._ssl))

    def mark_bare_session(self) -> None:
        """Right after the handshake: in TLS 1.3, the session so far is worth nothing without a
        ticket, and each ticket replaces it."""
        if _lib.SSL_version(self._ssl) == _lib.TLS1_3_VERSION and not self.is_resumed:
            self._bare_session = self._present_session()

    def take_session(self) -> Any:
        """The session, to be offered by other connections; None where no ticket has arrived."""
        session = self._present_session()
        return None if session == self._bare_session else session

    def _present_session(self) -> Any:
        # A reference, not a copy.
        return _ffi.gc(_lib.SSL_get1_session(self._ssl), _lib.SSL_SESSION_free)

    def stop_writing(self) -> None:
        """From now on only read. An end without close_notify then does not spoil the session."""
        _lib.SSL_set_shutdown(self._ssl, _lib.SSL_SENT_SHUTDOWN)

    # --- what was negotiated ---------------------------------------------------------------------
    def terms(self) -> tuple[Any, ...]:
        """What was negotiated as OpenSSL's own objects, which can be compared; see `in_words`."""
        ssl = self._ssl
        return (
            _lib.SSL_version(ssl), _lib.SSL_get_current_cipher(ssl), _lib.SSL_get0_group_name(ssl),
        )  # fmt: skip

    def in_words(self) -> tuple[str, str, int, str | None]:
        """(version, cipher, its bits, group); no group where none was negotiated."""
        _, cipher, group = self.terms()
        return (
            _text(_lib.SSL_get_version(self._ssl)),
            _text(_lib.SSL_CIPHER_get_name(cipher)),
            _lib.SSL_CIPHER_get_bits(cipher, _ffi.NULL),
            group_name(_text(group)) or None,
        )

    @property
    def alpn(self) -> str | None:
        start, n_bytes = _ffi.new("unsigned char **"), _ffi.new("unsigned int *")
        _lib.SSL_get0_alpn_selected(self._ssl, start, n_bytes)
        return bytes(_ffi.buffer(start[0], n_bytes[0])).decode("latin-1") or None

    @property
    def certificate(self) -> bytes | None:
        """The server's certificate as DER."""
        return next(iter(self.chain()), None)

    def chain(self) -> list[bytes]:
        """The certificates that the server sent, its own first, as DER."""
        chain = _lib.SSL_get_peer_cert_chain(self._ssl)
        # Without a chain the number is -1.
        return [_as_der(_lib.sk_X509_value(chain, n)) for n in range(_lib.sk_X509_num(chain))]

    # --- why a call did nothing ------------------------------------------------------------------
    def _end(self, result: int) -> bytes:
        """b"" after a proper end; raises everything else."""
        number = _ffi.errno
        error = _lib.SSL_get_error(self._ssl, result)
        if error == _lib.SSL_ERROR_WANT_READ:
            raise WantRead
        if error == _lib.SSL_ERROR_WANT_WRITE:
            raise WantWrite
        if error == _lib.SSL_ERROR_ZERO_RETURN:
            return b""
        code = _take_error()
        if error == _lib.SSL_ERROR_SYSCALL and number:
            raise OSError(number, os.strerror(number))
        reason = _lib.ERR_GET_REASON(code)
        if not code or reason == _lib.SSL_R_UNEXPECTED_EOF_WHILE_READING:
            raise RaggedEnd("The connection ended without a close_notify.")
        detail = _text(_lib.ERR_reason_error_string(code)) or f"OpenSSL's error {code:#x}"
        if reason == _VERIFY_FAILED:
            code = _lib.SSL_get_verify_result(self._ssl)
            why = _text(_lib.X509_verify_cert_error_string(code))
            raise CertificateRefused(why or detail, code)
        raise TlsError(detail, reason)


class ServerTls(Tls):
    """The server's side. pyOpenSSL finds its `Connection` in the callback that chooses by ALPN."""

    __slots__ = ("_connection",)

    def __init__(self, context: SSL.Context, sock: Any, buffer: ReadBuffer):
        self._connection = SSL.Connection(context, sock)
        self._connection.set_accept_state()
        self._ssl = self._connection._ssl
        self._buffer = buffer
        self._bare_session = _ffi.NULL


def log_secrets(context: SSL.Context, write: Callable[[bytes], None]) -> None:
    """Call `write` with a line of the key log for each secret of the context's connections, as
    long as which it must be kept."""

    @_ffi.callback("void (*)(const SSL *, const char *)")
    def write_line(_: Any, line: Any) -> None:
        write(_ffi.string(line))

    # Where pyOpenSSL keeps its own: it has to live as long as the context.
    context._keylog_callback = write_line
    _lib.SSL_CTX_set_keylog_callback(context._context, write_line)


def expect_name(context: SSL.Context, name: str, address: bytes | None) -> None:
    """Have certificates verified for a name or, if it is one, for an address as its bytes."""
    param = _lib.SSL_CTX_get0_param(context._context)
    if address is not None:
        is_set = _lib.X509_VERIFY_PARAM_set1_ip(param, address, len(address))
    else:
        _lib.X509_VERIFY_PARAM_set_hostflags(param, _lib.X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)
        is_set = _lib.X509_VERIFY_PARAM_set1_host(param, name.encode("ascii"), len(name))
    if not is_set:
        _take_error()
        raise ValueError(f"{name!r} cannot be verified")


def offer_groups(context: SSL.Context, groups: str) -> None:
    """Key exchange groups in the order of preference, in OpenSSL's words: with a `*` before it, the
    first message already has a key share of that group. Raises ValueError."""
    if not _lib.SSL_CTX_set1_curves_list(context._context, groups.encode("ascii")):
        _take_error()
        raise ValueError(f"OpenSSL does not know these groups: {groups}")


def offer_signatures(context: SSL.Context, names: str) -> None:
    """Signature algorithms in the order of preference, joined by colons. Raises ValueError."""
    if not _lib.SSL_CTX_set1_sigalgs_list(context._context, names.encode("ascii")):
        _take_error()
        raise ValueError(f"OpenSSL does not know these signature algorithms: {names}")


def write_as_much_as_fits(context: SSL.Context) -> None:
    """Let a write be a part of the data, and repeated from another place in memory; keep no buffers
    for idle connections."""
    context.set_mode(
        _lib.SSL_MODE_ENABLE_PARTIAL_WRITE
        | _lib.SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
        | _lib.SSL_MODE_RELEASE_BUFFERS
    )


def _take_error() -> int:
    """The first error of TLS, or else the first, in this thread's queue, which is then empty; 0 if
    there is none.

    A broken connection adds the system's error: OpenSSL cannot send its alert over it any more.
    """
    codes = list(iter(_lib.ERR_get_error, 0))
    of_tls = (code for code in codes if code >> _LIBRARY_BITS & 0xFF == _SSL)
    return next(of_tls, codes[0] if codes else 0)


def _as_der(certificate: Any) -> bytes:
    memory = _ffi.gc(_lib.BIO_new(_lib.BIO_s_mem()), _lib.BIO_free)
    _lib.i2d_X509_bio(memory, certificate)
    start = _ffi.new("char **")
    n_bytes = _lib.BIO_get_mem_data(memory, start)
    return bytes(_ffi.buffer(start[0], n_bytes))


def _text(pointer: Any) -> str:
    return "" if pointer == _ffi.NULL else _ffi.string(pointer).decode("latin-1")


class KeyLog:
    """A file that only its owner may read; what it had is kept. Raises OSError."""

    def __init__(self, path: str):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        try:
            os.fchmod(self._file, 0o600)
        except OSError:
            self.close()
            raise

    def write(self, line: bytes) -> None:
        """One secret, as OpenSSL calls back with it."""
        os.write(self._file, line + b"\n")

    def close(self) -> None:
        os.close(self._file)
