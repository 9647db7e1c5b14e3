"""The possible outcomes of an attempt. Kinds are disjoint: every attempt has exactly one."""

from enum import StrEnum


class Kind(StrEnum):
    """The error kinds; an attempt without one is ok."""

    DNS_FAILED = "dns_failed"
    ADDRESS_REFUSED = "address_refused"
    CONNECT_REFUSED = "connect_refused"
    CONNECT_TIMEOUT = "connect_timeout"
    CONNECT_UNREACHABLE = "connect_unreachable"
    CLIENT_FD_EXHAUSTED = "client_fd_exhausted"
    CLIENT_FILE_TABLE = "client_file_table"
    CLIENT_PORTS = "client_ports"
    CLIENT_OTHER = "client_other"
    TLS_HANDSHAKE = "tls_handshake"
    TLS_VERIFY = "tls_verify"
    TLS_NAME = "tls_name"
    TLS_EXPIRED = "tls_expired"
    TLS_NOT_YET_VALID = "tls_not_yet_valid"
    TLS_SELF_SIGNED = "tls_self_signed"
    TLS_UNKNOWN_ISSUER = "tls_unknown_issuer"
    TLS_FINGERPRINT = "tls_fingerprint"
    TLS_TIMEOUT = "tls_timeout"
    WRITE_ERROR = "write_error"
    WRITE_TIMEOUT = "write_timeout"
    RESET = "reset"
    EOF_BEFORE_REPLY = "eof_before_reply"
    FIRST_BYTE_TIMEOUT = "first_byte_timeout"
    BODY_TIMEOUT = "body_timeout"
    EOF_MID_BODY = "eof_mid_body"
    HTTP_PARSE = "http_parse"
    HEADER_CAP = "header_cap"
    BODY_CAP = "body_cap"
    STATUS_UNEXPECTED = "status_unexpected"
    BODY_MISMATCH = "body_mismatch"
    WS_UPGRADE_REJECTED = "ws_upgrade_rejected"
    WS_PROTOCOL = "ws_protocol"
    WS_CLOSE_TIMEOUT = "ws_close_timeout"
    H2_NOT_SPOKEN = "h2_not_spoken"
    H2_PROTOCOL = "h2_protocol"
    H2_STREAM_RESET = "h2_stream_reset"
    H2_GOAWAY = "h2_goaway"
    ABORTED_BY_STOP = "aborted_by_stop"


# Faults of the injector's machine, never of the target: such a measurement is not usable.
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

# One sentence each, as shown on pages.
WORDS: dict[Kind, str] = {
    Kind.DNS_FAILED: "the name could not be resolved",
    Kind.ADDRESS_REFUSED: "the address is not in an allowed network",
    Kind.CONNECT_REFUSED: "connection refused",
    Kind.CONNECT_TIMEOUT: "no connection within the limit",
    Kind.CONNECT_UNREACHABLE: "host or network unreachable",
    Kind.CLIENT_FD_EXHAUSTED: "the injector process ran out of file descriptors",
    Kind.CLIENT_FILE_TABLE: "the injector host ran out of open files",
    Kind.CLIENT_PORTS: "the injector host ran out of local ports",
    Kind.CLIENT_OTHER: "an error of the injector itself",
    Kind.TLS_HANDSHAKE: "TLS handshake failed",
    Kind.TLS_VERIFY: "certificate rejected",
    Kind.TLS_NAME: "certificate name mismatch",
    Kind.TLS_EXPIRED: "expired certificate",
    Kind.TLS_NOT_YET_VALID: "certificate not yet valid",
    Kind.TLS_SELF_SIGNED: "self-signed certificate",
    Kind.TLS_UNKNOWN_ISSUER: "unknown certificate issuer",
    Kind.TLS_FINGERPRINT: "another certificate than the accepted one",
    Kind.TLS_TIMEOUT: "no TLS session within the limit",
    Kind.WRITE_ERROR: "the request could not be written",
    Kind.WRITE_TIMEOUT: "the request could not be sent within the limit",
    Kind.RESET: "connection reset",
    Kind.EOF_BEFORE_REPLY: "connection closed before a reply",
    Kind.FIRST_BYTE_TIMEOUT: "no first byte within the limit",
    Kind.BODY_TIMEOUT: "the reply did not end within the limit",
    Kind.EOF_MID_BODY: "connection closed in the middle of the reply",
    Kind.HTTP_PARSE: "not an HTTP reply",
    Kind.HEADER_CAP: "the reply's header is too large",
    Kind.BODY_CAP: "the reply's body is too large",
    Kind.STATUS_UNEXPECTED: "unexpected status",
    Kind.BODY_MISMATCH: "the reply is not the expected one",
    Kind.WS_UPGRADE_REJECTED: "the server did not switch to WebSocket",
    Kind.WS_PROTOCOL: "WebSocket protocol violated",
    Kind.WS_CLOSE_TIMEOUT: "the WebSocket did not close within the limit",
    Kind.H2_NOT_SPOKEN: "the server does not speak HTTP/2",
    Kind.H2_PROTOCOL: "HTTP/2 protocol violated",
    Kind.H2_STREAM_RESET: "the server reset the HTTP/2 stream",
    Kind.H2_GOAWAY: "the server ended the HTTP/2 connection",
    Kind.ABORTED_BY_STOP: "in flight when the run was stopped",
}
