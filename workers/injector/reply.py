"""Reads one reply from bytes as they arrive: interim heads, the head, the body in any framing.

Bodies as they were before a Content-Encoding, up to a bound: a small body may unpack to much."""

import re
import zlib

from campaigns.domain.metrics.outcomes import Kind
from workers.injector.http1 import (
    BODY_CAP_BYTES,
    HEADER_CAP_BYTES,
    HEADER_CAP_COUNT,
    INTERIM_CAP,
    BadReply,
    Head,
    HeadMemo,
    Surplus,
    cut_off,
    not_http,
    parse_header,
    parse_status_line,
)

_CHUNK_LINE_CAP_BYTES = 1024
# From this status on the body's beginning is kept, for an example of the failure that it may be.
OFTEN_A_FAILURE = 300
BODY_BYTES = 2048
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?")


class ReplyReader:
    """A state machine; each state reads what it can and returns whether to continue.

    States are plain functions: bound methods would create reference cycles, and there is no garbage
    collection while measuring. `keep_bytes`: how much of a body `body_start` keeps. `head_bytes`
    includes interim heads, `body_bytes` excludes framing.
    """

    __slots__ = (
        "_at", "_buffer", "_lines", "_memo", "_missing", "_state", "body_bytes", "body_start",
        "head", "head_bytes", "is_complete", "keep_bytes", "received_bytes",
    )  # fmt: skip

    def __init__(self, memo: HeadMemo, keep_bytes: int = 0):
        self._memo = memo
        self._buffer = b""
        self._at = 0
        self._missing = 0
        self._lines = 0
        self._state = _read_head
        self.head: Head | None = None
        self.is_complete = False
        self.head_bytes = 0
        self.body_bytes = 0
        self.received_bytes = 0
        self.keep_bytes = keep_bytes
        self.body_start: bytes | bytearray = b""

    def feed(self, data: bytes) -> None:
        """Raises BadReply, also for bytes after the reply's end."""
        self.take(data)
        if self.is_complete and self.unread_bytes:
            raise Surplus(f"{self.unread_bytes} bytes after the reply's end")

    def take(self, data: bytes) -> None:
        """The same, but the next reply may follow; it stays unread."""
        self.received_bytes += len(data)
        self._buffer = self._buffer[self._at :] + data
        self._at = 0
        while self._state(self):
            pass

    def rest(self) -> bytes:
        """The bytes after the reply's end."""
        return self._buffer[self._at :]

    def end_of_input(self) -> None:
        """The server closed. Raises BadReply unless that is how the body ends."""
        if self.head is None and not self.received_bytes:
            raise BadReply(Kind.EOF_BEFORE_REPLY, "closed without a reply")
        if not self.ends_with_connection:
            raise BadReply(Kind.EOF_MID_BODY, cut_off(self.head, self.body_bytes))
        self.is_complete = True

    @property
    def ends_with_connection(self) -> bool:
        """Whether only the connection's end delimits the body."""
        return self._state is _read_until_close

    @property
    def unread_bytes(self) -> int:
        return len(self._buffer) - self._at

    def take_line(
        self, cap_bytes: int = _CHUNK_LINE_CAP_BYTES, kind: Kind = Kind.HTTP_PARSE
    ) -> bytes | None:
        """The next line of the chunked framing, or None if it has not arrived yet. `kind` is that
        of one with more than `cap_bytes`."""
        end = self._buffer.find(b"\r\n", self._at, self._at + cap_bytes)
        if end < 0:
            if self.unread_bytes >= cap_bytes:
                raise BadReply(kind, "a chunk's line without end")
            return None
        line = self._buffer[self._at : end]
        self._at = end + 2
        return line

    def take_body(self, count: int) -> None:
        """Count `count` unread bytes as body."""
        missing = self.keep_bytes - len(self.body_start)
        if missing > 0:
            if not self.body_start:
                self.body_start = bytearray()  # which grows in place, however small the parts are
            self.body_start += self._buffer[self._at : self._at + min(count, missing)]
        self._at += count
        self.body_bytes += count
        if self.body_bytes > BODY_CAP_BYTES:
            raise BadReply(Kind.BODY_CAP, f"a body of more than {BODY_CAP_BYTES} bytes")

    def take_missing(self) -> bool:
        """Take what has arrived of the `_missing` bytes; whether all have."""
        count = min(self._missing, self.unread_bytes)
        self._missing -= count
        self.take_body(count)
        return self._missing == 0


def _read_head(reader: ReplyReader) -> bool:
    end = reader._buffer.find(b"\r\n\r\n", reader._at, reader._at + HEADER_CAP_BYTES)
    if end < 0:
        _refuse_non_head(reader)
        return False
    head = reader._memo.parse(reader._buffer[reader._at : end + 4])
    reader._at = end + 4
    reader.head_bytes += head.size_bytes
    if head.status < 200:
        reader._lines += 1
        if head.status == 101:
            raise BadReply(Kind.HTTP_PARSE, "101, but nobody asked to switch protocols")
        if reader._lines > INTERIM_CAP:
            raise BadReply(Kind.HTTP_PARSE, f"more than {INTERIM_CAP} interim replies")
        return True
    reader.head = head
    if head.status >= OFTEN_A_FAILURE:
        reader.keep_bytes = max(reader.keep_bytes, BODY_BYTES)
    if head.is_chunked:
        reader._state = _read_chunk_size
    elif head.body_bytes is None:
        reader._state = _read_until_close
    else:
        reader._missing = head.body_bytes
        reader._state = _read_length
    return True


def _refuse_non_head(reader: ReplyReader) -> None:
    start = reader._buffer[reader._at : reader._at + 5]
    if start != b"HTTP/"[: len(start)]:
        raise BadReply(Kind.HTTP_PARSE, not_http(reader._buffer[:80]))
    if reader.unread_bytes >= HEADER_CAP_BYTES:
        raise BadReply(Kind.HEADER_CAP, f"a head of more than {HEADER_CAP_BYTES} bytes")
    n_lines = reader._buffer.count(b"\n", reader._at)
    if n_lines > HEADER_CAP_COUNT + 2:
        raise BadReply(Kind.HEADER_CAP, f"more than {HEADER_CAP_COUNT} header lines")
    if n_lines > reader._buffer.count(b"\r\n", reader._at):
        raise BadReply(Kind.HTTP_PARSE, "a line feed without a carriage return")
    if n_lines:
        parse_status_line(reader._buffer[reader._at : reader._buffer.index(b"\r\n", reader._at)])


def _read_length(reader: ReplyReader) -> bool:
    return reader.take_missing() and _finish(reader)


def _read_until_close(reader: ReplyReader) -> bool:
    reader.take_body(reader.unread_bytes)
    return False


def _read_chunk_size(reader: ReplyReader) -> bool:
    line = reader.take_line()
    if line is None:
        return False
    match = _CHUNK_SIZE.fullmatch(line)
    if match is None:
        raise BadReply(Kind.HTTP_PARSE, f"not a chunk size: {line[:40]!r}")
    reader._missing = int(match[1], 16)
    if reader.body_bytes + reader._missing > BODY_CAP_BYTES:
        raise BadReply(Kind.BODY_CAP, f"a chunk of {reader._missing} bytes")
    reader._lines = 0
    reader._state = _read_chunk if reader._missing else _read_trailer
    return True


def _read_chunk(reader: ReplyReader) -> bool:
    if not reader.take_missing():
        return False
    reader._state = _read_chunk_end
    return True


def _read_chunk_end(reader: ReplyReader) -> bool:
    if reader.unread_bytes < 2:
        return False
    if reader.take_line() != b"":
        raise BadReply(Kind.HTTP_PARSE, "a chunk longer than its size")
    reader._state = _read_chunk_size
    return True


def _read_trailer(reader: ReplyReader) -> bool:
    line = reader.take_line(HEADER_CAP_BYTES, Kind.HEADER_CAP)
    if line is None:
        return False
    if not line:
        return _finish(reader)
    parse_header(line)
    reader._lines += 1
    if reader._lines > HEADER_CAP_COUNT:
        raise BadReply(Kind.HEADER_CAP, f"more than {HEADER_CAP_COUNT} trailer lines")
    return True


def _finish(reader: ReplyReader) -> bool:
    reader.is_complete = True
    reader._state = _read_nothing
    return False


def _read_nothing(_: ReplyReader) -> bool:
    return False


# RFC 9659: no zstd window of the web is larger.
_ZSTD_WINDOW_BYTES = 8 * 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP, _ZLIB, _RAW = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS, -zlib.MAX_WBITS


class Undecodable(ValueError):
    """Why a body cannot be read, as a clause."""


def decode_body(body: bytes, coding: str, most_bytes: int, *, is_whole: bool = True) -> bytes:
    """The first `most_bytes` of what `coding`, a Content-Encoding, stands for; `is_whole`: `body`
    is all of it. Raises Undecodable."""
    for name in reversed(coding.lower().split(",")):
        name = name.strip()
        decode = _DECODERS.get(name)
        if decode is None:
            raise Undecodable(f"nothing here decodes the body's coding {name[:40]}")
        try:
            body, is_at_end = decode(bytes(body), most_bytes)
        except Exception as error:  # each library has its own
            raise Undecodable(f"the body is no {name}: {error}") from None
        if is_whole and not is_at_end and len(body) < most_bytes:
            raise Undecodable(f"the body's {name} ends in the middle")
        is_whole = is_whole and is_at_end
    return body


def _gzip(body: bytes, most_bytes: int) -> tuple[bytes, bool]:
    """Members one after the other, as RFC 1952 allows."""
    parts, room_bytes = [], most_bytes
    while True:
        decoder = zlib.decompressobj(_GZIP)
        parts.append(decoder.decompress(body, room_bytes))
        room_bytes -= len(parts[-1])
        body = decoder.unused_data
        # What is no member is padding, which everybody leaves alone.
        if not (body.startswith(_GZIP_MAGIC) and room_bytes > 0):
            return b"".join(parts), decoder.eof


def _deflate(body: bytes, most_bytes: int) -> tuple[bytes, bool]:
    """With zlib's head, as RFC 9110 says, or without, as some servers send it."""
    try:
        decoder = zlib.decompressobj(_ZLIB)
        return decoder.decompress(body, most_bytes), decoder.eof
    except zlib.error:
        decoder = zlib.decompressobj(_RAW)
        return decoder.decompress(body, most_bytes), decoder.eof


def _brotli(body: bytes, most_bytes: int) -> tuple[bytes, bool]:
    import brotli

    decoder = brotli.Decompressor()
    return decoder.process(body, output_buffer_limit=most_bytes)[:most_bytes], decoder.is_finished()


def _zstd(body: bytes, most_bytes: int) -> tuple[bytes, bool]:
    import zstandard

    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    with decoder.stream_reader(body, read_across_frames=True) as reader:
        data = reader.read(most_bytes)
    return data, len(data) == most_bytes or _ends_whole(body)


def _ends_whole(body: bytes) -> bool:
    """Whether zstd frames end where their bytes do; the reader takes half a frame for a whole."""
    import zstandard

    while body:
        decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj()
        decoder.decompress(body)
        if not decoder.eof:
            return False
        body = decoder.unused_data
    return True


def _identity(body: bytes, most_bytes: int) -> tuple[bytes, bool]:
    return body[:most_bytes], len(body) <= most_bytes


_DECODERS = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
    "identity": _identity,
}
