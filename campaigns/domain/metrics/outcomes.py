"""The possible outcomes of an attempt. Kinds are disjoint: every attempt has exactly one."""

from enum import StrEnum
from typing import Self


class Kind(StrEnum):
    """The error kinds, with their `words` as pages show them; an attempt without one is ok."""

    words: str

    def __new__(cls, kind: str, words: str) -> Self:
        member = str.__new__(cls, kind)
        member._value_, member.words = kind, words
        return member

    DNS_FAILED = "dns_failed", "the name could not be resolved"
    ADDRESS_REFUSED = "address_refused", "the address is not in an allowed network"
    CONNECT_REFUSED = "connect_refused", "connection refused"
    CONNECT_TIMEOUT = "connect_timeout", "no connection within the limit"
    CONNECT_UNREACHABLE = "connect_unreachable", "host or network unreachable"
    CLIENT_FD_EXHAUSTED = "client_fd_exhausted", "the injector process ran out of file descriptors"
    CLIENT_FILE_TABLE = "client_file_table", "the injector host ran out of open files"
    CLIENT_PORTS = "client_ports", "the injector host ran out of local ports"
    CLIENT_OTHER = "client_other", "an error of the injector itself"
    TLS_HANDSHAKE = "tls_handshake", "TLS handshake failed"
    TLS_VERIFY = "tls_verify", "certificate rejected"
    TLS_NAME = "tls_name", "certificate name mismatch"
    TLS_EXPIRED = "tls_expired", "expired certificate"
    TLS_NOT_YET_VALID = "tls_not_yet_valid", "certificate not yet valid"
    TLS_SELF_SIGNED = "tls_self_signed", "self-signed certificate"
    TLS_UNKNOWN_ISSUER = "tls_unknown_issuer", "unknown certificate issuer"
    TLS_FINGERPRINT = "tls_fingerprint", "another certificate than the accepted one"
    TLS_TIMEOUT = "tls_timeout", "no TLS session within the limit"
    WRITE_ERROR = "write_error", "the request could not be written"
    WRITE_TIMEOUT = "write_timeout", "the request could not be sent within the limit"
    RESET = "reset", "connection reset"
    EOF_BEFORE_REPLY = "eof_before_reply", "connection closed before a reply"
    FIRST_BYTE_TIMEOUT = "first_byte_timeout", "no first byte within the limit"
    BODY_TIMEOUT = "body_timeout", "the reply did not end within the limit"
    EOF_MID_BODY = "eof_mid_body", "connection closed in the middle of the reply"
    HTTP_PARSE = "http_parse", "not an HTTP reply"
    HEADER_CAP = "header_cap", "the reply's header is too large"
    BODY_CAP = "body_cap", "the reply's body is too large"
    STATUS_UNEXPECTED = "status_unexpected", "unexpected status"
    REDIRECT_FAILED = "redirect_failed", "a redirect that cannot be followed"
    CHECK_FAILED = "check_failed", "check failed"
    VALUE_MISSING = "value_missing", "no value for later requests"
    BODY_MISMATCH = "body_mismatch", "the reply is not the expected one"
    WS_UPGRADE_REJECTED = "ws_upgrade_rejected", "the server did not switch to WebSocket"
    WS_PROTOCOL = "ws_protocol", "WebSocket protocol violated"
    WS_CLOSE_TIMEOUT = "ws_close_timeout", "the WebSocket did not close within the limit"
    H2_NOT_SPOKEN = "h2_not_spoken", "the server does not speak HTTP/2"
    H2_PROTOCOL = "h2_protocol", "HTTP/2 protocol violated"
    H2_STREAM_RESET = "h2_stream_reset", "the server reset the HTTP/2 stream"
    H2_GOAWAY = "h2_goaway", "the server ended the HTTP/2 connection"
    ABORTED_BY_STOP = "aborted_by_stop", "in flight when the run was stopped"


class Detail(StrEnum):
    """How details of failures begin that have a remedy of their own."""

    PLAIN_HTTP = "plain HTTP on this port"
    NO_TLS = "no TLS on this port"
    NO_VERSION = "no TLS version in common"
    NO_CIPHER = "no cipher, group or signature in common"
    UNKNOWN_NAME = "the server does not know this name"
    WANTS_CERTIFICATE = "the server wants a client certificate"
    TLS = "TLS on this port"
    NOT_HTTP = "not HTTP"
    NO_MESSAGE = "no message was the reply"
    EXPIRED = "expired"
    NOT_YET_VALID = "not yet valid"


# Before the second thing that is wrong with a certificate.
ALSO = ", also "


# Faults of the injector's machine, never of the target: such a measurement has no answer.
CLIENT_KINDS = frozenset(
    {Kind.CLIENT_FD_EXHAUSTED, Kind.CLIENT_FILE_TABLE, Kind.CLIENT_PORTS, Kind.CLIENT_OTHER}
)
# The server's certificate is not accepted; TLS_VERIFY for causes without a kind of their own, and
# of injectors that cannot tell.
CERTIFICATE_KINDS = frozenset(
    {
        Kind.TLS_VERIFY,
        Kind.TLS_NAME,
        Kind.TLS_EXPIRED,
        Kind.TLS_NOT_YET_VALID,
        Kind.TLS_SELF_SIGNED,
        Kind.TLS_UNKNOWN_ISSUER,
        Kind.TLS_FINGERPRINT,
    }
)
TIMEOUT_KINDS = frozenset(
    {
        Kind.CONNECT_TIMEOUT,
        Kind.TLS_TIMEOUT,
        Kind.WRITE_TIMEOUT,
        Kind.FIRST_BYTE_TIMEOUT,
        Kind.BODY_TIMEOUT,
        Kind.WS_CLOSE_TIMEOUT,
    }
)

WORDS: dict[Kind, str] = {kind: kind.words for kind in Kind}
