"""The head of a reply from its header block; one that RFC 9113 forbids ends the stream."""

import re
from collections.abc import Sequence

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.plan.plan import Plan
from workers.injector.http1 import (
    BODY_CAP_BYTES,
    HEADER_CAP_COUNT,
    MEMO_CAP,
    SERVERS_CAP,
    Head,
    charset_of,
    coding_of,
)
from workers.injector.http2.frames import (
    DATA,
    END_STREAM,
    FRAME_BYTES,
    HEAD_BYTES,
    STREAM_AT,
    Code,
    frame,
)
from workers.injector.http2.header_block import Field, StreamBroken, decode
from workers.injector.reply import OFTEN_A_FAILURE

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_FORBIDDEN_IN_VALUE = re.compile(r"[\x00\r\n]")
_STATUS = re.compile(r"[1-5]\d\d")
_LENGTH = re.compile(r"\d{1,18}")
# They belong to a connection of HTTP/1.1.
_OF_A_CONNECTION = frozenset(
    {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}
)


class BlockMemo:
    """Parsed heads by the bytes of their blocks; replies mostly repeat one.

    `servers` are the values of their Server headers, in order; capped, in case they are random.
    `fits`: of each status that has come, whether it alone says that a reply is right. `usual`: of
    replies whose body fits into one frame, the block and that frame's head up to its stream →
    (head, bytes of its frame, of the body, of the whole reply).
    """

    def __init__(self, plan: Plan, method: str, *, has_rules: bool = False):
        """`has_rules`: the step asks for more than a status."""
        self._plan = plan
        self._method = method
        self._has_rules = has_rules
        self.known: dict[bytes, Head] = {}
        self.servers: dict[str, None] = {}
        self.fits: dict[int, bool] = {}
        self.usual: dict[bytes, tuple[Head, int, int, int]] = {}

    def parse(self, block: bytes) -> Head:
        """Raises StreamBroken, ConnectionBroken."""
        head = parse_head(block, self._method)
        if len(self.known) >= MEMO_CAP:
            self.known.clear()
            self.usual.clear()
        self.known[block] = head
        size = head.body_bytes
        if size and size <= FRAME_BYTES and 200 <= head.status < OFTEN_A_FAILURE:
            head_bytes = HEAD_BYTES + len(block)
            body = frame(DATA, END_STREAM, 0, bytes(size))
            self.usual[block + body[:STREAM_AT]] = head, head_bytes, size, head_bytes + len(body)
        is_expected = self._plan.status_is_expected(head.status)
        self.fits[head.status] = is_expected and not self._has_rules
        if len(self.servers) < SERVERS_CAP:
            self.servers.update(dict.fromkeys(_values(head.headers, "server")[:1]))
        return head


def parse_head(block: bytes, method: str) -> Head:
    """`body_bytes` is None if only the stream's end delimits the body."""
    fields = decode(block)
    if not fields or fields[0][0] != ":status" or not _STATUS.fullmatch(fields[0][1]):
        raise _malformed("a reply without a status")
    # RFC 9113 forbids spaces around a value; servers send them, and clients take them off.
    headers = [(name, value.strip(" \t")) for name, value in fields[1:]]
    check_fields(headers)
    status = int(fields[0][1])
    if status == 101:
        raise _malformed("101, which HTTP/2 does not have")
    return Head(
        status=status,
        size_bytes=len(block),
        body_bytes=_body_bytes(status, method, headers),
        is_chunked=False,
        is_reusable=True,
        reason="",
        headers=tuple(headers),
        coding=coding_of(headers),
        charset=charset_of(headers),
    )


def check_fields(fields: Sequence[Field]) -> None:
    """Headers behind the status, or trailers. Raises StreamBroken."""
    if len(fields) > HEADER_CAP_COUNT:
        detail = f"{len(fields)} header lines"
        raise StreamBroken(Code.ENHANCE_YOUR_CALM, detail, Kind.HEADER_CAP)
    for name, value in fields:
        if not _NAME.fullmatch(name) or _FORBIDDEN_IN_VALUE.search(value):
            raise _malformed(f"not a header: {name[:40]!r}: {value[:40]!r}")
        if name in _OF_A_CONNECTION:
            raise _malformed(f"{name}, which HTTP/2 does not have")


def _body_bytes(status: int, method: str, headers: Sequence[Field]) -> int | None:
    lengths = set(_values(headers, "content-length"))
    if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise _malformed("not a content-length")
    if method == "HEAD" or status in {204, 304}:
        return 0
    if not lengths:
        return None
    size = int(lengths.pop())
    if size > BODY_CAP_BYTES:
        detail = f"a body of {size} bytes"
        raise StreamBroken(Code.CANCEL, detail, Kind.BODY_CAP)
    return size


def _values(headers: Sequence[Field], wanted: str) -> list[str]:
    return [value for name, value in headers if name == wanted]


def _malformed(detail: str) -> StreamBroken:
    return StreamBroken(Code.PROTOCOL_ERROR, detail)
