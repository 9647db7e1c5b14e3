"""The client's side of one connection as a state machine without I/O (RFC 9113).

Strict on purpose, and bounded: what a server may make us keep, answer or wait for has a limit.

A step as HTTP/2 sends it: a header block that is encoded once, and the body."""

from typing import Any

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.step import Redirects, Step, own_host
from workers.injector.http1 import HEADER_CAP_BYTES, BadReply
from workers.injector.http2 import frames
from workers.injector.http2.frames import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    FRAME_BYTES,
    GOAWAY,
    HAS_PRIORITY,
    HEAD_BYTES,
    HEADERS,
    LARGEST_FRAME_BYTES,
    LARGEST_WINDOW,
    NUMBER,
    PADDED,
    PING,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTING,
    SETTINGS,
    STREAM_AT,
    WINDOW_UPDATE,
    BlockMemo,
    Code,
    ConnectionBroken,
    Field,
    NotProcessed,
    StreamBroken,
    check_fields,
    code_name,
    decode,
    encode,
)
from workers.injector.http2.streams import CONNECTION_WINDOW_BYTES, WINDOW_BYTES, Stream, Streams
from workers.injector.recorder import StepRecorder
from workers.injector.reply_check import ReplyRules
from workers.injector.request import Request, WithChecks

# Frames in a row that bring no reply further; blocks in pieces.
IDLE_FRAMES_CAP = 1000
CONTINUATION_CAP = 128
# So much may wait to be written, requests and answers to pings together.
_WAITING_CAP_BYTES = 64 * 1024 * 1024
# A window is opened again when so little of it is left.
_LOW_ROOM, _LOW_STREAM_ROOM = CONNECTION_WINDOW_BYTES // 2, WINDOW_BYTES // 2
# What makes a HEADERS frame other than a whole plain block.
_SHAPE = END_HEADERS | PADDED | HAS_PRIORITY
_HEAD = frames.HEAD.unpack_from


class Http2Client(Streams):
    """`feed` takes what was read.

    `is_settled`: the server's settings have come, with `most_streams` at a time; None: as many as
    one likes. `has_new_settings`: some have come since somebody set it back.
    """

    __slots__ = (
        "_block", "_last_taken", "_now", "_rest", "_spare", "_table_bytes", "_their_room",
        "has_new_settings", "is_settled", "most_streams",
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.is_settled = self.has_new_settings = False
        self.most_streams: int | None = None
        self._rest = b""
        self._block: _Block | None = None
        self._their_room = CONNECTION_WINDOW_BYTES
        self._table_bytes = frames.DEFAULT_TABLE_BYTES
        self._spare = IDLE_FRAMES_CAP
        self._last_taken = LARGEST_WINDOW
        self._now = 0

    def feed(self, data: bytes, instant: int) -> None:
        """Take what was read at `instant`. Raises ConnectionBroken."""
        self._now = instant
        if self._rest:
            data = self._rest + data
        if not self.is_settled and data[:5] == b"HTTP/"[: len(data)]:
            detail = f"the server answered in HTTP/1: {data[:40]!r}"
            raise ConnectionBroken(Code.PROTOCOL_ERROR, detail, Kind.H2_NOT_SPOKEN)
        at, size = 0, len(data)
        while size - at >= HEAD_BYTES:
            high, low, kind, flags, stream_id = _HEAD(data, at)
            length = high << 8 | low
            if length > FRAME_BYTES:
                raise ConnectionBroken(Code.FRAME_SIZE_ERROR, f"a frame of {length} bytes")
            start = at + HEAD_BYTES
            if kind == HEADERS and flags == END_HEADERS and self.is_settled:
                after = self._take_usual_reply(stream_id, data, start, start + length)
                if after:
                    at = after
                    continue
            at = start + length
            if at > size:
                at = start - HEAD_BYTES
                break
            stream_id &= LARGEST_WINDOW
            try:
                if self._block is not None:
                    self._continue_block(kind, flags, stream_id, data[start:at])
                elif kind == DATA and self.is_settled:
                    self._take_data(flags, stream_id, data, start, at)
                elif kind == HEADERS and self.is_settled:
                    self._take_headers(flags, stream_id, data, start, at)
                else:
                    self._take_other(kind, flags, stream_id, data[start:at])
            except StreamBroken as fault:
                self._break(stream_id, fault)
        self._rest = data[at:]

    def _take_usual_reply(self, stream_id: int, data: bytes, start: int, stop: int) -> int:
        """A whole reply in one step, if its block, from `start` to `stop`, has come before and its
        body is one frame: where the next frame begins. 0 for any other, or if not all has come."""
        stream = self.streams.get(stream_id)
        if stream is None or stream.first or stream.unsent or self._block:
            return 0
        at = stop + STREAM_AT
        usual = stream.memo.usual.get(data[start:at])
        if usual is None or data[at : at + NUMBER.size] != data[start - NUMBER.size : start]:
            return 0
        head, head_bytes, body_bytes, received_bytes = usual
        end = start - HEAD_BYTES + received_bytes
        if end > len(data):
            return 0
        self._their_room -= body_bytes
        if self._their_room < _LOW_ROOM:
            self._give_room()
        self._spare = IDLE_FRAMES_CAP
        stream.first = stream.end = self._now
        stream.head = head
        stream.head_bytes = head_bytes
        stream.body_bytes = body_bytes
        stream.received_bytes = received_bytes
        if stream.keep_bytes:
            stream.body_start = data[end - body_bytes : end][: stream.keep_bytes]
        stream.is_complete = True
        del self.streams[stream_id]
        self.ended_streams.append(stream)
        return end

    def _take_data(self, flags: int, stream_id: int, data: bytes, start: int, stop: int) -> None:
        size = stop - start
        self._their_room -= size
        if self._their_room < _LOW_ROOM:
            self._give_room()
        stream = self.streams.get(stream_id)
        if stream is None:
            self._skip(stream_id, flags, size)
            return
        stream.received_bytes += HEAD_BYTES + size
        stream.their_room -= size
        if stream.their_room < _LOW_STREAM_ROOM:
            if stream.their_room < 0:
                raise StreamBroken(Code.FLOW_CONTROL_ERROR, "more than the window allows")
            self.out += frames.window_update(stream.id, WINDOW_BYTES - stream.their_room)
            stream.their_room = WINDOW_BYTES
        if flags & PADDED:
            start, stop = _without_padding(data, start, stop)
        if stop > start:
            self._spare = IDLE_FRAMES_CAP
        elif not flags & END_STREAM:
            self._spend()
        stream.take_body(data, start, stop)
        if flags & END_STREAM:
            self._finish(stream, self._now)

    def _finish(self, stream: Stream, instant: int) -> None:
        super()._finish(stream, instant)
        self._spare = IDLE_FRAMES_CAP

    def _give_room(self) -> None:
        if self._their_room < 0:
            raise ConnectionBroken(Code.FLOW_CONTROL_ERROR, "more than the window allows")
        self.out += frames.window_update(0, CONNECTION_WINDOW_BYTES - self._their_room)
        self._their_room = CONNECTION_WINDOW_BYTES

    def _take_headers(self, flags: int, stream_id: int, data: bytes, start: int, stop: int) -> None:
        frame_bytes = HEAD_BYTES + stop - start
        stream = self.streams.get(stream_id)
        if stream is not None and not stream.first and flags & _SHAPE == END_HEADERS:
            head = stream.memo.heads.get(data[start:stop])
            if head is not None and head.status >= 200:
                # The bytes of an earlier head, in one plain frame.
                stream.first = self._now
                stream.received_bytes = frame_bytes
                stream.note_head(head, frame_bytes)
                if flags & END_STREAM:
                    self._finish(stream, self._now)
                return
        if flags & PADDED:
            start, stop = _without_padding(data, start, stop)
        if flags & HAS_PRIORITY:
            start += 5
            if start > stop:
                raise ConnectionBroken(Code.FRAME_SIZE_ERROR, "HEADERS without its priority")
        block = _Block(stream_id, flags, data[start:stop], frame_bytes)
        if flags & END_HEADERS:
            self._take_block(block)
        else:
            self._block = block

    def _continue_block(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        block = self._block
        if kind != CONTINUATION or stream_id != block.stream_id:
            raise _protocol_error("another frame within a header block")
        block.parts.append(payload)
        block.frame_bytes += HEAD_BYTES + len(payload)
        if len(block.parts) > CONTINUATION_CAP or block.frame_bytes > HEADER_CAP_BYTES:
            detail = f"a head of more than {HEADER_CAP_BYTES} bytes or {CONTINUATION_CAP} frames"
            raise ConnectionBroken(Code.ENHANCE_YOUR_CALM, detail, Kind.HEADER_CAP)
        if flags & END_HEADERS:
            self._block = None
            self._take_block(block)

    def _take_block(self, block: "_Block") -> None:
        stream = self.streams.get(block.stream_id)
        if stream is None:
            self._skip(block.stream_id, block.flags)
            return
        stream.first = stream.first or self._now
        stream.received_bytes += block.frame_bytes
        text = block.parts[0] if len(block.parts) == 1 else b"".join(block.parts)
        is_last = bool(block.flags & END_STREAM)
        if stream.head is None:
            stream.take_head(text, block.frame_bytes, is_last=is_last)
        elif not is_last:
            raise StreamBroken(Code.PROTOCOL_ERROR, "trailers, but more is to come")
        else:
            check_fields(decode(text))
        if is_last:
            self._finish(stream, self._now)

    def _skip(self, stream_id: int, flags: int, data_bytes: int = 0) -> None:
        """Part of a stream that is none of those under way: we gave it up, or it cannot be.

        What a server had sent before it heard of that is no flood, in however many frames.
        """
        self._refuse_unused(stream_id)
        if stream_id not in self._let_go:
            detail = f"more on stream {stream_id}, which has ended"
            raise ConnectionBroken(Code.STREAM_CLOSED, detail)
        if flags & END_STREAM:
            del self._let_go[stream_id]
        elif not data_bytes:
            self._spend()
        else:
            self._let_go[stream_id] -= data_bytes
            if self._let_go[stream_id] < 0:
                detail = f"stream {stream_id} goes on, though it was given up"
                raise ConnectionBroken(Code.ENHANCE_YOUR_CALM, detail)

    def _refuse_unused(self, stream_id: int) -> None:
        """Refuse a number that no stream has had."""
        if not stream_id & 1 or stream_id >= self._next_id:
            raise _protocol_error(f"a frame for stream {stream_id}, which was never begun")

    # --- what else there is ----------------------------------------------------------------------
    def _take_other(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        self._spend()
        if kind == SETTINGS:
            self._take_settings(flags, stream_id, payload)
        elif not self.is_settled:
            detail = "the first frame is not SETTINGS"
            raise ConnectionBroken(Code.PROTOCOL_ERROR, detail, Kind.H2_NOT_SPOKEN)
        elif kind == WINDOW_UPDATE:
            self._take_window_update(stream_id, payload)
        elif kind == RST_STREAM:
            _check(True, len(payload) == NUMBER.size, "RST_STREAM")
            self._refuse_unused(stream_id)
            self._let_go.pop(stream_id, None)
            self._fail(stream_id, _reset_by(NUMBER.unpack(payload)[0]))
        elif kind == PING:
            _check(not stream_id, len(payload) == 8, "PING")
            if not flags & frames.ACK:
                self.out += frames.frame(PING, frames.ACK, 0, payload)
        elif kind == GOAWAY:
            self._take_goaway(stream_id, payload)
        elif kind == PRIORITY:
            _check(bool(stream_id), len(payload) == 5, "PRIORITY")
        elif kind == PUSH_PROMISE:
            raise _protocol_error("a push, which our settings forbid")
        elif kind == CONTINUATION:
            raise _protocol_error("CONTINUATION of nothing")

    def _spend(self) -> None:
        """A frame that brings no reply further."""
        self._spare -= 1
        if self._spare < 0:
            detail = f"more than {IDLE_FRAMES_CAP} frames without a reply among them"
            raise ConnectionBroken(Code.ENHANCE_YOUR_CALM, detail)
        if len(self.out) > _WAITING_CAP_BYTES:
            raise ConnectionBroken(Code.ENHANCE_YOUR_CALM, "the server does not read our answers")

    def _take_settings(self, flags: int, stream_id: int, payload: bytes) -> None:
        is_ack = bool(flags & frames.ACK)
        _check(not stream_id, len(payload) % SETTING.size == 0, "SETTINGS")
        if is_ack:
            _check(True, not payload, "SETTINGS")
            if not self.is_settled:
                raise _protocol_error("an answer to our settings before the server's own")
            return
        for name, value in SETTING.iter_unpack(payload):
            self._set(name, value)
        self.is_settled = self.has_new_settings = True
        self.out += frames.frame(SETTINGS, frames.ACK, 0)

    def _set(self, name: int, value: int) -> None:
        if name == frames.ENABLE_PUSH and value:
            raise _protocol_error("ENABLE_PUSH of a server")
        if name == frames.MAX_CONCURRENT_STREAMS:
            self.most_streams = value
        elif name == frames.HEADER_TABLE_SIZE:
            if value < self._table_bytes:
                # The next block must begin with what we use of it, or the server ends it all.
                self._plain_bytes = 0
            self._table_bytes = value
        elif name == frames.INITIAL_WINDOW_SIZE:
            self._uploads.set_initial_room(value)
        elif name == frames.MAX_FRAME_SIZE and not FRAME_BYTES <= value <= LARGEST_FRAME_BYTES:
            # One that is allowed changes nothing: large frames would keep other streams waiting.
            raise _protocol_error(f"a MAX_FRAME_SIZE of {value}")

    def _take_window_update(self, stream_id: int, payload: bytes) -> None:
        _check(True, len(payload) == NUMBER.size, "WINDOW_UPDATE")
        more = NUMBER.unpack(payload)[0] & LARGEST_WINDOW
        if not stream_id:
            if not more:
                raise _protocol_error("a window that does not grow")
            self._uploads.grow(more)
        else:
            self._refuse_unused(stream_id)
            if not more:
                raise StreamBroken(Code.PROTOCOL_ERROR, "a window that does not grow")
            self._uploads.grow_stream(stream_id, more)
        if self._uploads.has_moved:
            self._uploads.has_moved = False
            self._spare = IDLE_FRAMES_CAP

    def _take_goaway(self, stream_id: int, payload: bytes) -> None:
        _check(not stream_id, len(payload) >= 8, "GOAWAY")
        last, code = (number for (number,) in NUMBER.iter_unpack(payload[:8]))
        last &= LARGEST_WINDOW
        if last > self._last_taken:
            raise _protocol_error("a GOAWAY that takes more than the one before")
        self._last_taken = last
        self.is_draining = True
        words = f"the server ended the connection: {code_name(code)}"
        if code != Code.NO_ERROR:
            self.goodbye = words
        self._leave_out(last, words)


class _Block:
    """A header block that arrives; `frame_bytes` with its frames' heads and padding."""

    __slots__ = ("flags", "frame_bytes", "parts", "stream_id")

    def __init__(self, stream_id: int, flags: int, part: bytes, frame_bytes: int):
        self.stream_id = stream_id
        self.flags = flags
        self.parts = [part]
        self.frame_bytes = frame_bytes


def _without_padding(data: bytes, start: int, stop: int) -> tuple[int, int]:
    if start == stop or data[start] >= stop - start:
        raise _protocol_error("more padding than there is")
    return start + 1, stop - data[start]


def _check(is_in_place: bool, has_right_size: bool, name: str) -> None:
    if not has_right_size:
        raise ConnectionBroken(Code.FRAME_SIZE_ERROR, f"{name} of a wrong size")
    if not is_in_place:
        raise _protocol_error(f"{name} on a wrong stream")


def _reset_by(code: int) -> BadReply:
    words = f"the server reset the stream: {code_name(code)}"
    if code == Code.REFUSED_STREAM:
        return NotProcessed(Kind.H2_STREAM_RESET, words)
    if code == Code.HTTP_1_1_REQUIRED:
        return BadReply(Kind.H2_NOT_SPOKEN, words)
    return BadReply(Kind.H2_STREAM_RESET, words)


def _protocol_error(detail: str) -> ConnectionBroken:
    return ConnectionBroken(Code.PROTOCOL_ERROR, detail)


_WITH_A_LENGTH = {"POST", "PUT", "PATCH"}


class StreamRequest(Request):
    """`data` is a HEADERS frame for stream 0 of any size, and behind it the body."""

    __slots__ = ("_text",)

    memo: BlockMemo

    def __init__(self, plan: Plan, step: Step, data: bytes, recorder: StepRecorder, text: bytes):
        super().__init__(plan, step, data, recorder)
        has_rules = bool(step.checks or step.extract or plan.redirects != Redirects.OFF)
        self.memo = BlockMemo(plan, step.method, has_rules=has_rules)
        self._text = text

    @property
    def template(self) -> bytes:
        return self._text


class CheckedStreamRequest(WithChecks, StreamRequest):
    __slots__ = ("keep_bytes", "plain_head", "rules")

    def __init__(self, plan: Plan, step: Step, *rest: Any):
        super().__init__(plan, step, *rest)
        self.rules = ReplyRules(step)
        self.keep_bytes = self.rules.keep_bytes
        self.plain_head = None


def request_data(step: Step, scheme: str, authority: str) -> bytes:
    """The `data` of a request."""
    body, kind = step.content
    host = own_host(step.headers).strip(" \t") or authority
    pseudo = [(":method", step.method), (":scheme", scheme)]
    pseudo += [(":authority", host), (":path", step.path)]
    block = encode(pseudo + _headers(step, len(body), kind))
    flags = frames.END_HEADERS | (0 if body else frames.END_STREAM)
    return frames.frame(frames.HEADERS, flags, 0, block) + body


def request_text(step: Step, authority: str) -> bytes:
    """The same for people, as HTTP/1.1 would write it, without the body."""
    body, kind = step.content
    lines = [f"{step.method} {step.path} HTTP/2", f"host: {own_host(step.headers) or authority}"]
    lines += [f"{name}: {value}" for name, value in _headers(step, len(body), kind)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def _headers(step: Step, body_bytes: int, kind: str) -> list[Field]:
    """Those of HTTP/1.1, in lower case; a connection's own have no place here, and around a value,
    which a variable may have filled in, no space. `kind`: the Content-Type that the body implies.
    """
    lower = ((name.lower(), value.strip(" \t")) for name, value in step.headers)
    fields = [field for field in lower if field[0] != "host"]
    names = {name for name, _ in fields}
    usual = [("user-agent", "benchsite"), ("accept", "*/*"), ("accept-encoding", "identity")]
    usual += [("content-type", kind)] if kind else []
    headers = [field for field in usual if field[0] not in names]
    headers += fields
    if body_bytes or step.method in _WITH_A_LENGTH:
        headers.append(("content-length", str(body_bytes)))
    return headers
