"""An error kind in words, and what to do about it: for the page of a single request."""

from campaigns.domain.measured.outcomes import WORDS, Kind

REMEDIES: dict[Kind, str] = {
    Kind.DNS_FAILED: "Check the spelling of the host. The name is resolved on the injector's "
    "machine, which may use another name server than yours.",
    Kind.ADDRESS_REFUSED: "This installation sends load only into the networks that "
    "BENCHSITE_ALLOWED_NETWORKS lists. Whoever keeps it can add the network.",
    Kind.CONNECT_REFUSED: "The machine answers, but nothing listens on this port. Check the port, "
    "and that the server listens on this address and not only on its loopback.",
    Kind.CONNECT_TIMEOUT: "Nothing answered at all: usually a firewall that drops packets, or a "
    "wrong address.",
    Kind.CONNECT_UNREACHABLE: "The injector's machine has no route there. Check the address, the "
    "VPN and the routing.",
    Kind.TLS_HANDSHAKE: "Often a plain HTTP port behind an HTTPS endpoint, or a server that knows "
    "only TLS 1.1 and older.",
    Kind.TLS_VERIFY: "The certificate is self-signed, expired, or made for another name. For a "
    "test server, switch “verify certificate” off on the endpoint.",
    Kind.TLS_TIMEOUT: "The port accepts connections but does not speak TLS in time: perhaps a "
    "plain port, or an overloaded server.",
    Kind.RESET: "The server or a device on the way cut the connection: an overload limit, a "
    "firewall, or HTTPS expected on this port.",
    Kind.EOF_BEFORE_REPLY: "The server closed without a word: often HTTPS is expected on this "
    "port, or the process crashed.",
    Kind.FIRST_BYTE_TIMEOUT: "The request was sent but nothing came back. Check the path, and "
    "whether the server's log has seen the request.",
    Kind.BODY_TIMEOUT: "The reply began and then stalled. Check the length that the server "
    "announces against what it sends.",
    Kind.EOF_MID_BODY: "The server announced more than it sent, or crashed while it replied.",
    Kind.HTTP_PARSE: "Whatever answered does not speak HTTP/1.1: perhaps an HTTPS port behind an "
    "HTTP endpoint, or a service of another kind.",
    Kind.HEADER_CAP: "The reply's header is larger than any server should send.",
    Kind.BODY_CAP: "Measure a path with a smaller reply.",
    Kind.BODY_MISMATCH: "The server answered, but not with what it was sent: check that the path "
    "is an echo, or verify the length only.",
    Kind.WS_UPGRADE_REJECTED: "Something answered in plain HTTP. Check the path, the subprotocol, "
    "and whether a proxy in between lets upgrades through.",
    Kind.WS_PROTOCOL: "The server breaks a rule of RFC 6455; look for it in the server's log.",
    Kind.WS_CLOSE_TIMEOUT: "The server did not answer the close frame, or did not end the "
    "connection after it.",
    Kind.WRITE_TIMEOUT: "The server accepts connections but reads nothing: it is overloaded, or "
    "its workers are busy.",
    Kind.WRITE_ERROR: "The server closed while the request was being sent: often a body that is "
    "too large for it.",
    Kind.CLIENT_FD_EXHAUSTED: "Raise the limit of open files (ulimit -n) on the injector's host.",
    Kind.CLIENT_FILE_TABLE: "Raise fs.file-max on the injector's host.",
    Kind.CLIENT_OTHER: "This went wrong on our side, not at the target; the reason stands below.",
    Kind.CLIENT_PORTS: "Wait a minute, or widen net.ipv4.ip_local_port_range on the injector's "
    "host.",
}
FALLBACK = "Try it from the injector's machine with curl -v and compare."


def remedy(kind: str) -> str:
    try:
        return REMEDIES.get(Kind(kind), FALLBACK)
    except ValueError:
        return FALLBACK


def words_of(kind: str) -> str:
    """The kind as a page says it; one that we do not know, without its underscores."""
    try:
        return WORDS[Kind(kind)]
    except ValueError:
        return kind.replace("_", " ")
