"""An error kind in words, and what to do about it: for the page of a single request."""

from campaigns.domain.measured.outcomes import WORDS, Kind

REMEDIES: dict[Kind, str] = {
    Kind.DNS_FAILED: "Check the spelling of the host. The injector host resolves "
    "the name and may use a different name server than yours.",
    Kind.ADDRESS_REFUSED: "This installation only sends load to the networks that "
    "BENCHSITE_ALLOWED_NETWORKS lists. The administrator can add the network.",
    Kind.CONNECT_REFUSED: "The machine is up, but nothing listens on this port. Check the port, "
    "and that the server listens on this address, not only on loopback.",
    Kind.CONNECT_TIMEOUT: "No answer at all. Usually a firewall drops the packets, or the "
    "address is wrong.",
    Kind.CONNECT_UNREACHABLE: "The injector host has no route to this address. Check the "
    "address, the VPN and the routing.",
    Kind.TLS_HANDSHAKE: "Often an HTTPS endpoint points to a plain HTTP port, or the server "
    "supports only TLS 1.1 or older.",
    Kind.TLS_VERIFY: "The certificate is self-signed, expired, or issued for another name. For a "
    "test server, turn off “verify certificate” on the endpoint.",
    Kind.TLS_TIMEOUT: "The port accepts connections, but TLS did not finish in time. Perhaps it "
    "is a plain HTTP port, or the server is overloaded.",
    Kind.RESET: "The server or a device in between reset the connection: an overload limit, a "
    "firewall, or a port that expects HTTPS.",
    Kind.EOF_BEFORE_REPLY: "The server closed the connection without a reply. Often the port "
    "expects HTTPS, or the process crashed.",
    Kind.FIRST_BYTE_TIMEOUT: "The request was sent but nothing came back. Check the path, and "
    "whether the server's log shows the request.",
    Kind.BODY_TIMEOUT: "The reply started and then stalled. Compare the length that the "
    "server announces with what it sends.",
    Kind.EOF_MID_BODY: "The server announced more than it sent, or crashed while replying.",
    Kind.HTTP_PARSE: "The answer is not HTTP/1.1. Perhaps an HTTP endpoint points to an HTTPS "
    "port, or to a different kind of service.",
    Kind.HEADER_CAP: "The response header is larger than any server should send.",
    Kind.BODY_CAP: "Measure a path with a smaller response.",
    Kind.BODY_MISMATCH: "The server's answer is not an echo of the message. Check that the path "
    "echoes messages, or verify only the length.",
    Kind.WS_UPGRADE_REJECTED: "The server answered with plain HTTP. Check the path, the "
    "subprotocol, and whether a proxy in between allows upgrades.",
    Kind.WS_PROTOCOL: "The server violated RFC 6455. Its log may say why.",
    Kind.WS_CLOSE_TIMEOUT: "The server did not answer the close frame, or did not close the "
    "connection after it.",
    Kind.WRITE_TIMEOUT: "The server accepts connections but does not read from them: it is "
    "overloaded, or its workers are busy.",
    Kind.WRITE_ERROR: "The server closed the connection while the request was being sent. Often "
    "the body is too large for it.",
    Kind.CLIENT_FD_EXHAUSTED: "Raise the limit of open files (ulimit -n) on the injector host.",
    Kind.CLIENT_FILE_TABLE: "Raise fs.file-max on the injector host.",
    Kind.CLIENT_OTHER: "This went wrong in the injector, not at the target. The reason is below.",
    Kind.CLIENT_PORTS: "Wait a minute, or widen net.ipv4.ip_local_port_range on the injector's "
    "host.",
}
FALLBACK = "Try it from the injector host with curl -v and compare."


def remedy(kind: str) -> str:
    try:
        return REMEDIES.get(Kind(kind), FALLBACK)
    except ValueError:
        return FALLBACK


def words_of(kind: str) -> str:
    """The kind in words; an unknown one without its underscores."""
    try:
        return WORDS[Kind(kind)]
    except ValueError:
        return kind.replace("_", " ")
