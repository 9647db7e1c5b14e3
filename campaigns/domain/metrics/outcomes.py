"""The possible outcomes of an attempt, which requests failed, and failures in words. Kinds are
disjoint: every attempt has exactly one.

Which requests failed, by kind, status and step, how many, and when, is read from the seconds'
errors and statuses, so any injector's seconds will do: a status that the plan does not expect has
one kind of failure, and no other failure has such a status.

Examples of failures are without what is secret before they leave the injector. Header values and
parameters whose names speak of credentials, tokens in the usual forms, and values that are known to
be secret become "[hidden]". Control characters are written as escapes.

Headlines, lists, exports and the terminal all take the target's failures in words from here:
"404 Not Found to all 1,200 requests".
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from http import HTTPStatus
from ipaddress import ip_address
from typing import Any, Self

from campaigns.domain.metrics.snapshot import MOST_DETAILS, Second, Total
from campaigns.domain.plan.plan import Plan, status_fits
from campaigns.domain.units import count, counted, percent


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


DROPPED = "dropped"
_SWITCHING = "101"
_MOST_BINS = 128


@dataclass(slots=True)
class FailureRow:
    """Failures of one kind with one status (0: no whole reply) at one step.

    `first` and `last` are the seconds of first and last sight, None where only totals are known.
    `bins` has counts from second 0 on, `bin_s` seconds each. `details` counts what was said beyond
    the kind, the first MOST_DETAILS.
    """

    step: int
    kind: str
    status: int
    count: int = 0
    first: int | None = None
    last: int | None = None
    bin_s: int = 1
    bins: list[int] = field(default_factory=list)
    details: dict[str, int] = field(default_factory=dict)

    def add(self, second: int, count: int) -> None:
        self.count += count
        self.first = second if self.first is None else min(self.first, second)
        self.last = second if self.last is None else max(self.last, second)
        while second // self.bin_s >= _MOST_BINS:
            self._widen()
        self._note(second // self.bin_s, count)

    def add_details(self, details: Mapping[str, int]) -> None:
        for detail, n in details.items():
            if detail in self.details or len(self.details) < MOST_DETAILS:
                self.details[detail] = self.details.get(detail, 0) + n

    def merge(self, other: Self) -> None:
        """Add another row's failures, such as those of another run."""
        self.count += other.count
        self.add_details(other.details)
        firsts = [each for each in (self.first, other.first) if each is not None]
        self.first = min(firsts, default=None)
        self.last = max(
            (each for each in (self.last, other.last) if each is not None), default=None
        )
        while self.bin_s < other.bin_s:
            self._widen()
        for number, n in enumerate(other.bins):
            self._note(number * other.bin_s // self.bin_s, n)

    def _note(self, number: int, count: int) -> None:
        self.bins += [0] * (number + 1 - len(self.bins))
        self.bins[number] += count

    def _widen(self) -> None:
        self.bin_s *= 2
        self.bins = [sum(self.bins[at : at + 2]) for at in range(0, len(self.bins), 2)]

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(**data)


@dataclass(slots=True)
class FailureTally:
    """Counts the failures of a run's measured seconds."""

    plan: Plan
    by_key: dict[tuple[int, str, int], FailureRow] = field(default_factory=dict)

    def add(self, second: Second) -> None:
        for (kind, status), n in counts_of(second, self.plan).items():
            key = (second.step, kind, status)
            row = self.by_key.setdefault(key, FailureRow(*key))
            row.add(second.second, n)
            if not status:
                row.add_details(second.details.get(kind, {}))

    @classmethod
    def of_rows(cls, plan: Plan, rows: Iterable[FailureRow]) -> Self:
        return cls(plan, {(row.step, row.kind, row.status): row for row in rows})

    @property
    def rows(self) -> list[FailureRow]:
        return most_frequent_first(self.by_key.values())


def counts_of(part: Second | Total, plan: Plan) -> dict[tuple[str, int], int]:
    """{(kind, status): how many} of one step's part; status 0 where there was no whole reply."""
    if not (part.errors or part.counters.get(DROPPED)):
        return {}
    counts = {(kind, 0): count for kind, count in part.errors.items() if count}
    if part.counters.get(DROPPED):
        counts[DROPPED, 0] = part.counters[DROPPED]
    refusal = Kind.STATUS_UNEXPECTED if plan.exchange is None else Kind.WS_UPGRADE_REJECTED
    rules = plan.expected_status if plan.exchange is None else (_SWITCHING,)
    count_by_status = {
        int(status): count
        for status, count in part.statuses.items()
        if count and not status_fits(int(status), rules)
    }
    n_refusals = counts.pop((refusal.value, 0), 0)
    rest = n_refusals - sum(count_by_status.values())
    if n_refusals and rest >= 0:
        counts |= {(refusal.value, status): count for status, count in count_by_status.items()}
        n_refusals = rest
    if n_refusals:
        counts[refusal.value, 0] = n_refusals
    return counts


def rows_of_totals(steps: Sequence[Total], plan: Plan) -> list[FailureRow]:
    """The rows without their seconds, for summaries that were stored without them."""
    return most_frequent_first(
        FailureRow(step, kind, status, count)
        for step, total in enumerate(steps)
        for (kind, status), count in counts_of(total, plan).items()
    )


def most_frequent_first(rows: Iterable[FailureRow]) -> list[FailureRow]:
    return sorted(rows, key=lambda row: (-row.count, row.step, row.kind, row.status))


HIDDEN = "[hidden]"
_NAMES = (
    r"auth|token|secret|passw|pwd|api[-_]?key|session|cookie|credential|signature|csrf|xsrf|"
    r"jwt|access[-_]?key|otp|assertion"
)
_SECRET_HEADER = re.compile(_NAMES, re.IGNORECASE)
_COOKIE = re.compile(r"\s*([^=;\s]+)=[^;]*(.*)", re.DOTALL)
_WORD = r"[\w.\-\[\]%]*"
_PARAMETER = re.compile(
    rf"(?P<name>{_WORD}(?:{_NAMES}|\bsig\b|\bcode\b|\bkey\b){_WORD})(?P<is>\s*=\s*)[^&;\s\"'<>]+",
    re.IGNORECASE,
)
_JSON_MEMBER = re.compile(
    rf"(?P<name>[\"'][^\"'\n]{{0,80}}(?:{_NAMES})[^\"'\n]{{0,80}}[\"']\s*:\s*)"
    r"(?:\"(?:[^\"\\]|\\.)*(?:\"|$)|'(?:[^'\\]|\\.)*(?:'|$)|[\w.+-]+)",
    re.IGNORECASE,
)
_TOKENS = (
    re.compile(r"(?P<kept>\b(?:bearer|basic|digest|negotiate)\s+)[\w.+/=~-]{6,}", re.IGNORECASE),
    re.compile(r"(?P<kept>)\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?"),
    re.compile(r"(?P<kept>\b[a-z][a-z0-9+.-]*://)[^/\s@\"'<>]+(?=@)", re.IGNORECASE),
)
_UNPRINTABLE = re.compile(r"[^\t\n\x20-\x7e\xa1-\ud7ff\ue000-\ufffd]")
_SHORT = 4
# What may be an address, with or without brackets and a port.
_ADDRESS = re.compile(r"\[?(?P<host>[\da-f]*[.:][\da-f.:]*[\da-f])\]?(?::\d+)?", re.IGNORECASE)


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with secrets hidden; `secrets` are values that must not appear in it."""
    for secret in sorted(filter(None, set(secrets)), key=len, reverse=True):
        if len(secret) >= _SHORT:
            text = text.replace(secret, HIDDEN)
        else:  # as a part of words it would take the sense from everything
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", HIDDEN, text)
    text = _JSON_MEMBER.sub(lambda match: f'{match["name"]}"{HIDDEN}"', text)
    text = _PARAMETER.sub(lambda match: f"{match['name']}{match['is']}{HIDDEN}", text)
    for token in _TOKENS:
        text = token.sub(lambda match: match["kept"] + HIDDEN, text)
    return text


def redacted_head(text: str, secrets: Iterable[str] = ()) -> str:
    """A request line or status line and its headers, one a line."""
    first, *headers = text.split("\n")
    lines = [redacted(first, secrets)]
    for header in headers:
        name, colon, value = header.partition(":")
        value = value.strip()
        if not colon:
            lines.append(redacted(header))
        elif name.lower() == "set-cookie" and (cookie := _COOKIE.fullmatch(value)):
            lines.append(f"{name}: {cookie[1]}={HIDDEN}{cookie[2]}")  # its name stays
        else:
            is_secret = _SECRET_HEADER.search(name)
            lines.append(f"{name}: {HIDDEN if is_secret else redacted(value, secrets)}")
    return "\n".join(lines)


def printable(text: str) -> str:
    """The text as it can be stored and shown: control characters and the like as escapes."""
    return _UNPRINTABLE.sub(lambda match: f"\\x{ord(match[0]):02x}", text.replace("\r\n", "\n"))


def without_addresses(text: str, *hosts: str) -> str:
    """The text without these hosts and without literal addresses."""
    for host in hosts:
        text = re.sub(rf"(?<![\w.:-]){re.escape(host)}(?!\.?[\w-])", HIDDEN, text)
    return _ADDRESS.sub(_unless_an_address, text)


def _unless_an_address(match: re.Match[str]) -> str:
    host, _, port = match["host"].rpartition(":")
    for text in (match["host"], host if port.isdecimal() else ""):
        with suppress(ValueError):
            ip_address(text)
            return HIDDEN
    return match[0]


# Failures that are not the target's: of the injector's host, of the site's rules, of a stop.
_NOT_OF_TARGET = {*CLIENT_KINDS, Kind.ADDRESS_REFUSED, Kind.ABORTED_BY_STOP}
# From this share on, a failure is the first thing to say about a run.
HEADLINE_SHARE = 0.01
# The target's reasons for which these words stand.
FAILED_CODES = frozenset({"no_success", "errors", "errors_at_limit"})
# How a target refuses or gives up that gets more than it takes; other failures have other causes.
_OVERLOAD_STATUSES = {429, 502, 503, 504}
_OVERLOAD_KINDS = {
    *TIMEOUT_KINDS,
    Kind.CONNECT_REFUSED,
    Kind.RESET,
    Kind.EOF_BEFORE_REPLY,
    Kind.EOF_MID_BODY,
    Kind.WRITE_ERROR,
}
_MOST_NAMED = 3
_MOST_DETAILS = 2


def status_words(status: int) -> str:
    """A status with its standard phrase: "404 Not Found"."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def kind_words(kind: str) -> str:
    """What a page calls a kind of failure."""
    return "no free connection" if kind == DROPPED else WORDS.get(kind, kind)


def detail_words(row: FailureRow) -> str:
    """What its failures said beyond their kind, the most frequent first; "" for nothing."""
    if row.status:
        return ""
    details = sorted(row.details, key=lambda detail: -row.details[detail])
    more = [f"{len(details) - _MOST_DETAILS} more"] if len(details) > _MOST_DETAILS else []
    return "; ".join(details[:_MOST_DETAILS] + more)


def row_words(row: FailureRow) -> str:
    """ "not an HTTP reply: two different Content-Length headers"."""
    return ": ".join(filter(None, (kind_words(row.kind), detail_words(row))))


def cause_words(row: FailureRow) -> str:
    """The status if there was a reply, else the kind with its details."""
    return status_words(row.status) if row.status else row_words(row)


def causes_of(rows: Iterable[FailureRow]) -> list[FailureRow]:
    """A row for each kind and status, of all steps together, the most frequent first."""
    causes: dict[tuple[str, int], FailureRow] = {}
    for row in rows:
        key = row.kind, row.status
        causes.setdefault(key, FailureRow(row.step, *key)).merge(row)
    return most_frequent_first(causes.values())


def of_target(rows: Iterable[FailureRow]) -> list[FailureRow]:
    """The failures that the target, or the way to it, is the cause of."""
    return [row for row in rows if row.kind not in _NOT_OF_TARGET]


def is_of_overload(row: FailureRow) -> bool:
    """Whether a target fails so that gets more requests than it takes."""
    return row.status in _OVERLOAD_STATUSES if row.status else row.kind in _OVERLOAD_KINDS


def failure_share(rows: Iterable[FailureRow], attempts: int) -> float:
    """The share of the attempts that failed at the target."""
    return sum(row.count for row in of_target(rows)) / attempts if attempts else 0.0


def everything_failed(rows: Iterable[FailureRow], attempts: int) -> bool:
    """Whether there were attempts, and each of them failed at the target."""
    return attempts > 0 and failure_share(rows, attempts) >= 1


def failure_words(rows: Sequence[FailureRow], attempts: int, noun: str = "requests") -> str:
    """What failed, without a full stop; "" if nothing did.

    "404 Not Found to all 1,200 requests", "Connection refused for all 100 requests",
    "20 % failed with 503 Service Unavailable".
    """
    causes = causes_of(of_target(rows))
    n_failed = sum(each.count for each in causes)
    if not causes or not attempts:
        return ""
    if n_failed >= attempts:
        everything = f"all {counted(attempts, noun)}" if attempts > 1 else f"the only {noun[:-1]}"
        if len(causes) == 1:
            (only,) = causes
            words = status_words(only.status) if only.status else kind_words(only.kind)
            whole = f"{words[0].upper()}{words[1:]} {'to' if only.status else 'for'} {everything}"
            return ": ".join(filter(None, (whole, detail_words(only))))
        words = [f"{cause_words(each)} ({count(each.count)})" for each in causes[:_MOST_NAMED]]
        if more := len(causes) - len(words):
            words.append(counted(more, "other errors"))
        return f"All {counted(attempts, noun)} failed: {', '.join(words)}"
    mostly = ", mostly" if len(causes) > 1 else ""
    joint = " with" if causes[0].status else (" by" if mostly else ":")
    words = cause_words(causes[0])
    return f"{share_words(n_failed, attempts)} failed{mostly}{joint} {words}"


def share_words(some: int, attempts: int) -> str:
    """A share with as few decimals as it needs: "20 %", "18.1 %"."""
    text = percent(some / attempts)
    digits, unit = text[:-2], text[-2:]
    return (digits.rstrip("0").rstrip(".") if "." in digits else digits) + unit
