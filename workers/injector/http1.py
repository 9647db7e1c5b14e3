"""HTTP/1.1 as bytes, without I/O: writes requests, parses replies, rejects malformed ones.

Strict on purpose. A reply whose end is ambiguous (two different lengths, length and chunks, a bad
chunk size) is an `http_parse` error, and its connection is never used again.
"""

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from campaigns.domain.metrics.outcomes import Detail, Kind
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.plan.session import HttpVersion
from campaigns.domain.plan.step import Step, own_host
from workers.injector.order import DEFAULT_PORTS

HEADER_CAP_BYTES = 64 * 1024
HEADER_CAP_COUNT = 100
BODY_CAP_BYTES = 64 * 1024 * 1024
INTERIM_CAP = 20  # replies before the reply, of an attempt
MEMO_CAP = 512  # heads that are remembered
SERVERS_CAP = 20
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-5]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?")
_ODD_STATUS = re.compile(rb"HTTP/1\.[01] (\d+)(?: |$)")
# An alert and a handshake, as they begin.
_TLS_RECORDS = (b"\x15", b"\x16")
_HEADER_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*", re.DOTALL)
_FORBIDDEN_IN_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_LENGTH = re.compile(rb"\d{1,18}")
_CHARSET = re.compile(r";\s*charset=\"?([\w.:-]{1,40})", re.IGNORECASE | re.ASCII)


class BadReply(Exception):
    """A reply that ends the attempt: the error kind, and what is wrong with it."""

    def __init__(self, kind: Kind, detail: str):
        self.kind = kind
        super().__init__(detail)


class Surplus(BadReply):
    """More bytes came than the expected replies have."""

    def __init__(self, detail: str):
        super().__init__(Kind.HTTP_PARSE, detail)


@dataclass(frozen=True, slots=True)
class Head:
    """A reply's head. `body_bytes` is None if chunks or the connection's end delimit the body.
    `coding`: its Content-Encoding, "" without one. `charset`: that of a body that is not UTF-8,
    or ""."""

    status: int
    size_bytes: int
    body_bytes: int | None
    is_chunked: bool
    is_reusable: bool
    reason: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    coding: str = ""
    charset: str = ""

    @property
    def is_interim(self) -> bool:
        return self.status < 200 and self.status != 101


def authority(scheme: str, host: str, port: int) -> str:
    """The Host header; without the port if it is the scheme's default."""
    name = f"[{host}]" if ":" in host else host
    return name if port == DEFAULT_PORTS[scheme] else f"{name}:{port}"


def request_bytes(
    step: Step, host_header: str, mode: ConnectionMode, version: HttpVersion = HttpVersion.HTTP_1_1
) -> bytes:
    """The whole request, with a Connection header if the version's default is not the mode. A Host
    header of the step replaces `host_header`."""
    body, kind = step.content
    headers = step.headers
    names = {name.lower() for name, _ in headers}
    if "host" in names:
        host_header = own_host(headers)
        headers = tuple(pair for pair in headers if pair[0].lower() != "host")
    lines = [f"{step.method} {step.path} HTTP/{version}", f"Host: {host_header}"]
    if "user-agent" not in names:
        lines.append("User-Agent: benchsite")
    if "accept" not in names:
        lines.append("Accept: */*")
    if "accept-encoding" not in names:
        lines.append("Accept-Encoding: identity")
    keeps = mode == ConnectionMode.KEEP_ALIVE
    if keeps != (version == HttpVersion.HTTP_1_1):
        lines.append("Connection: keep-alive" if keeps else "Connection: close")
    if kind and "content-type" not in names:
        lines.append(f"Content-Type: {kind}")
    lines += [f"{name}: {value}" for name, value in headers]
    if body or step.method in {"POST", "PUT", "PATCH"}:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def parse_head(head: bytes, method: str, version: HttpVersion = HttpVersion.HTTP_1_1) -> Head:
    """A head from its bytes, blank line included; `version` is the request's. Raises BadReply."""
    lines = head[:-4].split(b"\r\n")
    match = parse_status_line(lines[0])
    if len(lines) - 1 > HEADER_CAP_COUNT:
        raise BadReply(Kind.HEADER_CAP, f"{len(lines) - 1} header lines")
    headers = tuple(parse_header(line) for line in lines[1:])
    status = int(match[2])
    body_bytes, is_chunked = _framing(status, method, headers)
    if match[1] == b"0" and header_values(headers, "transfer-encoding"):
        raise BadReply(Kind.HTTP_PARSE, "Transfer-Encoding in a reply of HTTP/1.0")
    # If only the connection's end delimits the body, there is nothing to reuse.
    is_delimited = is_chunked or body_bytes is not None
    return Head(
        status=status,
        size_bytes=len(head),
        body_bytes=body_bytes,
        is_chunked=is_chunked,
        is_reusable=is_delimited and _wants_to_stay(version, match[1], headers),
        reason=(match[3] or b"").decode("latin-1"),
        headers=headers,
        coding=coding_of(headers),
        charset=charset_of(headers),
    )


def parse_status_line(line: bytes) -> re.Match[bytes]:
    """Groups: the minor version, the status, the reason. Raises BadReply."""
    match = _STATUS_LINE.fullmatch(line)
    if match is None:
        if odd := _ODD_STATUS.match(line):
            raise BadReply(Kind.HTTP_PARSE, f"status {odd[1].decode()}")
        raise BadReply(Kind.HTTP_PARSE, f"not a status line: {line[:80]!r}")
    return match


def not_http(data: bytes) -> str:
    """In words: what came instead of a head's beginning."""
    is_tls = data[:1] in _TLS_RECORDS and data[1:2] == b"\x03"
    return Detail.TLS if is_tls else f"{Detail.NOT_HTTP}: {data!r}"


def parse_header(line: bytes) -> tuple[str, str]:
    match = _HEADER_LINE.fullmatch(line)
    if match is None or _FORBIDDEN_IN_VALUE.search(match[2]):
        raise BadReply(Kind.HTTP_PARSE, f"not a header line: {line[:80]!r}")
    return match[1].decode("ascii"), match[2].decode("latin-1")


def cut_off(head: Head | None, body_bytes: int) -> str:
    """In words: where the server closed."""
    if head is None:
        return "closed in the head"
    of_all = f" of {head.body_bytes:,}" if head.body_bytes else ""
    return f"closed after {body_bytes:,}{of_all} bytes of the body"


def coding_of(headers: Iterable[tuple[str, str]]) -> str:
    return ",".join(header_values(headers, "content-encoding"))


def charset_of(headers: Iterable[tuple[str, str]]) -> str:
    """What Content-Type says, where it says other than UTF-8 and Python knows it."""
    match = _CHARSET.search(";".join(header_values(headers, "content-type")))
    if match is None:
        return ""
    try:
        charset = codecs.lookup(match[1]).name
        b"a".decode(charset, "replace")
    except (LookupError, ValueError):  # Python's names for what is no charset, too
        return ""
    return "" if charset in {"utf-8", "ascii", "punycode"} else charset


def header_values(headers: Iterable[tuple[str, str]], key: str) -> list[str]:
    return [value for name, value in headers if name.lower() == key]


def _wants_to_stay(
    version: HttpVersion, minor: bytes, headers: tuple[tuple[str, str], ...]
) -> bool:
    stays_unsaid = minor == b"1" and version == HttpVersion.HTTP_1_1
    values = ",".join(header_values(headers, "connection")).lower().split(",")
    tokens = {each.strip(" \t") for each in values}
    return "close" not in tokens and (stays_unsaid or "keep-alive" in tokens)


def _framing(
    status: int, method: str, headers: tuple[tuple[str, str], ...]
) -> tuple[int | None, bool]:
    """(bytes of the body or None, whether it comes in chunks)."""
    lengths = header_values(headers, "content-length")
    codings = header_values(headers, "transfer-encoding")
    # RFC 9110, section 8.6: equal ones may be taken as one, in lines of their own or in a list.
    lengths = list(dict.fromkeys(each.strip(" \t") for line in lengths for each in line.split(",")))
    if len(lengths) > 1:
        raise BadReply(Kind.HTTP_PARSE, "two different Content-Length headers")
    if lengths and codings:
        raise BadReply(Kind.HTTP_PARSE, "Content-Length together with Transfer-Encoding")
    if lengths and not _LENGTH.fullmatch(lengths[0].encode("latin-1")):
        raise BadReply(Kind.HTTP_PARSE, f"Content-Length is {lengths[0][:40]!r}")
    if codings and [each.lower() for each in codings] != ["chunked"]:
        raise BadReply(Kind.HTTP_PARSE, f"a transfer coding other than chunked: {codings[0][:40]}")
    if method == "HEAD" or status < 200 or status in {204, 304}:
        return 0, False
    if codings:
        return None, True
    if not lengths:
        return None, False
    if int(lengths[0]) > BODY_CAP_BYTES:
        raise BadReply(Kind.BODY_CAP, f"a body of {lengths[0]} bytes")
    return int(lengths[0]), False


class HeadMemo:
    """Caches parsed heads by their bytes: keep-alive replies mostly repeat one head.

    `servers` are the values of their Server headers, in order; capped, in case they are random.
    """

    def __init__(self, method: str, version: HttpVersion = HttpVersion.HTTP_1_1):
        self._method = method
        self._version = version
        self.heads: dict[bytes, Head] = {}
        self.servers: dict[str, None] = {}

    def parse(self, head: bytes) -> Head:
        entry = self.heads.get(head)
        if entry is not None:
            return entry
        result = parse_head(head, self._method, self._version)
        if len(self.heads) >= MEMO_CAP:
            self.heads.clear()
        self.heads[head] = result
        if len(self.servers) < SERVERS_CAP:
            self.servers.update(dict.fromkeys(header_values(result.headers, "server")[:1]))
        return result
