"""What was wrong, and what to do about it. A failure, by kind and status: on the page of a single
request, and in each row of the errors of a run or campaign. And a measurement
which has no answer: the first line says so, without a figure.
"""

from collections.abc import Iterable, Sequence

from campaigns.domain.analysis.criteria import CRITERIA, UNSENT
from campaigns.domain.analysis.judgement import Judgement
from campaigns.domain.analysis.limit import OTHERS, blame
from campaigns.domain.analysis.reasons import JudgementReason, in_short, value_words
from campaigns.domain.metrics.failures import DROPPED
from campaigns.domain.metrics.outcomes import ALSO, WORDS, Detail, Kind
from campaigns.domain.units import counted

_ACCEPT = "enter its SHA-256 under “Only accepted certificate, SHA-256” of the target"
REMEDIES: dict[Kind, str] = {
    Kind.DNS_FAILED: "Check the spelling of the host. The injector host resolves "
    "the name and may use a different name server than yours.",
    Kind.ADDRESS_REFUSED: "Prove on the target's page that the host is yours, where the page "
    "offers that. Otherwise ask the administrator to list its network in "
    "BENCHSITE_ALLOWED_NETWORKS.",
    Kind.CONNECT_REFUSED: "Is the server running on this port? Check the port, and that the server "
    "listens on this address, not only on loopback.",
    Kind.CONNECT_TIMEOUT: "The server didn't answer. Usually a firewall drops the packets, or the "
    "address is wrong.",
    Kind.CONNECT_UNREACHABLE: "The injector host has no route to this address. Check the "
    "address, the VPN and the routing.",
    Kind.TLS_HANDSHAKE: "The server ended the handshake. Its log may say why.",
    Kind.TLS_VERIFY: f"To accept this certificate, {_ACCEPT}.",
    Kind.TLS_NAME: "Use a name of the certificate as the endpoint's “Server name (SNI)”.",
    Kind.TLS_EXPIRED: f"Until the certificate is renewed, accept it: {_ACCEPT}.",
    Kind.TLS_NOT_YET_VALID: "Check the clocks of the injector host and of whoever issued it.",
    Kind.TLS_SELF_SIGNED: f"To accept this certificate, {_ACCEPT}.",
    Kind.TLS_UNKNOWN_ISSUER: "Paste the issuer's certificate under “Trusted authorities, PEM” of "
    "the target.",
    Kind.TLS_FINGERPRINT: "Look at the new certificate by one request. To accept it, replace the "
    "value of “Only accepted certificate, SHA-256” of the target.",
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
    Kind.HTTP_PARSE: "The detail names what breaks HTTP/1.1. Mend it in the server, or in a proxy "
    "before it.",
    Kind.HEADER_CAP: "The response header is larger than any server should send.",
    Kind.BODY_CAP: "Measure a path with a smaller response.",
    Kind.REDIRECT_FAILED: "The detail says why. Try one request: it shows where each redirect "
    "leads. A server may redirect in a circle.",
    Kind.CHECK_FAILED: "The server answered with another content. The detail says what was "
    "expected and what came; correct the step's check if the reply is right.",
    Kind.VALUE_MISSING: "The reply has no value for a variable of later requests. Compare the "
    "pattern or path with the reply; name? in place of name lets the value be missing.",
    Kind.BODY_MISMATCH: "The server's answer is not an echo of the message. Check that the path "
    "echoes messages, or verify only the length.",
    Kind.WS_UPGRADE_REJECTED: "The server answered with plain HTTP. Check the path, the "
    "subprotocol, and whether a proxy in between allows upgrades.",
    Kind.WS_PROTOCOL: "The server violated RFC 6455. Its log may say why.",
    Kind.WS_CLOSE_TIMEOUT: "The server did not answer the close frame, or did not close the "
    "connection after it.",
    Kind.H2_NOT_SPOKEN: "Switch HTTP/2 on at the server, or choose HTTP/1.1 in the plan. Without "
    "TLS the server must accept HTTP/2 at once: no upgrade from HTTP/1.1 is requested.",
    Kind.H2_PROTOCOL: "The server violated RFC 9113. Its log may say why.",
    Kind.H2_STREAM_RESET: "The server reset this request's stream; the detail has its code. Its "
    "log may say why.",
    Kind.H2_GOAWAY: "The server closed the connection with requests on it. Its limits of time and "
    "of requests per connection may be too low, or it was restarted.",
    Kind.WRITE_TIMEOUT: "The server accepts connections but does not read from them: it is "
    "overloaded, or its workers are busy.",
    Kind.WRITE_ERROR: "The server closed the connection while the request was being sent. Often "
    "the body is too large for it.",
    Kind.ABORTED_BY_STOP: "Nothing to fix: these were in flight when the run was stopped.",
    Kind.CLIENT_FD_EXHAUSTED: "Raise the limit of open files (ulimit -n) on the injector host.",
    Kind.CLIENT_FILE_TABLE: "Raise fs.file-max on the injector host.",
    Kind.CLIENT_OTHER: "This went wrong in the injector, not at the target. The reason is below.",
    Kind.CLIENT_PORTS: "Wait a minute, or widen net.ipv4.ip_local_port_range on the injector's "
    "host.",
}
# Of failures whose details begin so, instead of their kind's.
DETAIL_REMEDIES: dict[Detail, str] = {
    Detail.PLAIN_HTTP: "Choose HTTP instead of HTTPS for this endpoint, or its HTTPS port.",
    Detail.NO_TLS: "Another service listens on this port. Check the port.",
    Detail.NO_VERSION: "Allow a TLS version in the target's TLS options that the server has. "
    "TLS 1.1 and older are not spoken.",
    Detail.NO_CIPHER: "Allow a cipher, group and signature algorithm in the target's TLS options "
    "that the server has.",
    Detail.UNKNOWN_NAME: "Enter a name that the server knows as the endpoint's “Server name "
    "(SNI)”.",
    Detail.WANTS_CERTIFICATE: "Enter a client certificate in the target's TLS options.",
    Detail.TLS: "Choose HTTPS instead of HTTP for this endpoint, or its HTTP port.",
    Detail.NOT_HTTP: "Another service listens on this port. Check the port.",
    Detail.NO_MESSAGE: "Compare the rule with the messages that the server sends.",
}
# Of the second thing that is wrong with a certificate, beside its kind's.
_ALSO_REMEDIES: dict[Detail, str] = {
    Detail.EXPIRED: REMEDIES[Kind.TLS_EXPIRED],
    Detail.NOT_YET_VALID: REMEDIES[Kind.TLS_NOT_YET_VALID],
}
# Statuses that the plan does not expect; by the first digit where the status itself has no row.
STATUS_REMEDIES: dict[int, str] = {
    3: "The server redirects. Let the plan follow redirects, or expect this status.",
    4: "The server refuses the request. Compare it with one that works.",
    5: "The server failed. Its log of these seconds says why.",
    400: "The server did not understand the request. Compare its headers and body with one that "
    "works.",
    401: "The server wants credentials. Set them under the plan's authentication.",
    403: "The server forbids this. Check the credentials, and its rules for addresses and user "
    "agents.",
    404: "Nothing was found at this path. Check it, and the host name that the server expects.",
    405: "The path does not accept this method. Check the method.",
    408: "The server waited too long for the request. It may be overloaded.",
    413: "The body is too large for the server. Send a smaller one, or raise its limit.",
    415: "The server does not accept this kind of body. Check the Content-Type header.",
    429: "The server limits requests of one client. Raise that limit, or send fewer.",
    502: "The proxy got no valid answer from the server behind it. Check that this one is running.",
    503: "The server refuses for now: it is overloaded, out of workers, or in maintenance.",
    504: "The proxy waited too long for the server behind it. That server is slow or overloaded.",
}
_OF_DROPPED = (
    "All connections were busy when the request was due. Allow more in flight, or take it as the "
    "target's limit."
)
FALLBACK = "Try it from the injector host with curl -v and compare."


def remedy(kind: str, status: int = 0, details: Iterable[str] = ()) -> str:
    """`status` is that of a whole reply, 0 without one; `details` of those failures."""
    if status:
        return STATUS_REMEDIES.get(status) or STATUS_REMEDIES.get(status // 100) or FALLBACK
    if kind == DROPPED:
        return _OF_DROPPED
    details = list(details)
    for begins, text in DETAIL_REMEDIES.items():
        if _any_begins(details, begins):
            return text
    try:
        first = REMEDIES.get(Kind(kind), FALLBACK)
    except ValueError:
        return FALLBACK
    seconds = [detail.rpartition(ALSO)[2] for detail in details if ALSO in detail]
    also = [text for begins, text in _ALSO_REMEDIES.items() if _any_begins(seconds, begins)]
    return " ".join(dict.fromkeys([first, *also]))


def _any_begins(details: Iterable[str], begins: str) -> bool:
    return any(detail.startswith(begins) for detail in details)


def words_of(kind: str) -> str:
    """The kind in words; an unknown one without its underscores."""
    try:
        return WORDS[Kind(kind)]
    except ValueError:
        return kind.replace("_", " ")


def cause_words(judged: Iterable[Judgement], n_runs: int, nouns: str = "runs") -> str:
    """The most frequent cause in the judgements of runs without an answer, of `n_runs` in all:
    "the injector had no CPU in 14 of 15 runs"."""
    by_cause: dict[str, list[JudgementReason]] = {}
    for each in map(blame, judged):
        by_cause.setdefault(CRITERIA[each.code].cause, []).append(each)
    alike = max(by_cause.values(), key=len)
    cause = blamed_words(alike)
    return f"{cause} in {len(alike)} of {counted(n_runs, nouns)}" if n_runs > 1 else cause


def blamed_words(alike: Sequence[JudgementReason]) -> str:
    """The cause of one or several runs, with its largest figure."""
    worst = max(alike, key=lambda each: each.value or 0.0)
    if worst.code in UNSENT:
        return "the injector did not send what was planned"
    most = value_words(worst.code, worst.value or 0.0, worst.limit)
    return in_short(worst, f"up to {most}" if len(alike) > 1 else most)


def blamed_sentence(alike: Sequence[JudgementReason], worst: JudgementReason) -> str:
    """The same in a sentence, if others than the injector are to blame; else the `worst` doubt."""
    if len(alike) == 1 or worst.code not in OTHERS:
        return worst.text
    words = blamed_words(alike)
    return f"{words[:1].upper()}{words[1:]}."


def no_answer_words(judged: Iterable[Judgement], n_runs: int, *, so_far: bool = False) -> str:
    """ "No answer: the injector had no CPU in 14 of 15 runs"; without a count for one run."""
    return f"No answer{' so far' if so_far else ''}: {cause_words(judged, n_runs)}"
