"""Maps failures of the operating system and of TLS to error kinds."""

import errno

from campaigns.domain.metrics.outcomes import CLIENT_KINDS, Kind
from workers.injector.tls_library import CertificateRefused, RaggedEnd, TlsError

_CONNECT = {
    errno.ECONNREFUSED: Kind.CONNECT_REFUSED,
    errno.ETIMEDOUT: Kind.CONNECT_TIMEOUT,
    errno.ENETUNREACH: Kind.CONNECT_UNREACHABLE,
    errno.EHOSTUNREACH: Kind.CONNECT_UNREACHABLE,
    errno.ENETDOWN: Kind.CONNECT_UNREACHABLE,
    errno.ECONNRESET: Kind.RESET,
    # Of the first write: the server has reset the connection already.
    errno.ECONNABORTED: Kind.RESET,
    errno.EPIPE: Kind.RESET,
    errno.EMFILE: Kind.CLIENT_FD_EXHAUSTED,
    errno.ENFILE: Kind.CLIENT_FILE_TABLE,
    errno.EADDRNOTAVAIL: Kind.CLIENT_PORTS,
    errno.EADDRINUSE: Kind.CLIENT_PORTS,
}
_RESETS = {errno.ECONNRESET, errno.ECONNABORTED}
TRY_NEXT_ADDRESS = frozenset({Kind.CONNECT_REFUSED, Kind.CONNECT_UNREACHABLE})
ABOUT_TO_SPIN = CLIENT_KINDS | TRY_NEXT_ADDRESS | {Kind.ADDRESS_REFUSED, Kind.DNS_FAILED}


class AttemptFailed(Exception):
    """Ends an attempt, with an error kind and a detail for people; `errno` where the kernel's."""

    def __init__(self, kind: Kind, detail: str = "", errno: int = 0):
        self.kind = kind
        self.errno = errno
        super().__init__(detail)


def forget_frames(error: BaseException) -> None:
    """Frames refer to connections, and these to errors. Nothing collects such cycles in a run."""
    error.__traceback__ = error.__context__ = error.__cause__ = None


def of_connect(code: int) -> Kind:
    """The kind of an errno of socket(), of connect() or of the first write that waits for it."""
    return _CONNECT.get(code, Kind.CLIENT_OTHER)


def of_handshake(error: OSError) -> Kind:
    if isinstance(error, CertificateRefused):
        return error.kind
    return Kind.RESET if error.errno in _RESETS else Kind.TLS_HANDSHAKE


def detail_of(error: Exception, kind: Kind) -> str:
    """What an error says beyond its kind; "" of what the kernel says, which is the kind."""
    if kind == Kind.CLIENT_OTHER:
        return str(error)
    if kind == Kind.EOF_BEFORE_REPLY:
        return ""
    if isinstance(error, OSError):
        return str(error) if isinstance(error, TlsError) and not is_ragged(error) else ""
    return "" if getattr(error, "errno", 0) else str(error)


def is_socket_timeout(error: Exception, kind: Kind) -> bool:
    """Whether TCP gave up, rather than one of the plan's limits: httperf's socket-timo."""
    return kind == Kind.CONNECT_TIMEOUT and getattr(error, "errno", 0) == errno.ETIMEDOUT


def is_ragged(error: BaseException) -> bool:
    """Whether TCP ended without a TLS close_notify."""
    return isinstance(error, RaggedEnd)


def of_write(error: OSError) -> Kind:
    return Kind.RESET if error.errno in _RESETS else Kind.WRITE_ERROR


def of_read(error: OSError) -> Kind:
    """An unreadable TLS record counts as an invalid reply.

    In TLS 1.3 a server rejects our certificate only after our side of the handshake is over.
    """
    if isinstance(error, TlsError):
        return Kind.TLS_HANDSHAKE if error.is_refusal else Kind.HTTP_PARSE
    return Kind.CONNECT_TIMEOUT if error.errno == errno.ETIMEDOUT else Kind.RESET
