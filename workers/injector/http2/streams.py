"""The streams of a connection: how each begins, sends its body, and ends. What comes is in
client.py.

One request and its reply on a connection."""

from collections.abc import Callable
from typing import Any

from campaigns.domain.metrics.outcomes import Kind
from workers.injector.http1 import (
    BODY_CAP_BYTES,
    HEADER_CAP_BYTES,
    INTERIM_CAP,
    BadReply,
    Head,
    cut_off,
)
from workers.injector.http2 import frames
from workers.injector.http2.frames import (
    DATA,
    DEFAULT_WINDOW,
    EMPTY_TABLE,
    END_STREAM,
    FRAME_BYTES,
    HEAD_BYTES,
    LARGEST_WINDOW,
    NUMBER,
    STREAM_AT,
    BlockMemo,
    Code,
    ConnectionBroken,
    NotProcessed,
    StreamBroken,
)
from workers.injector.reply import BODY_BYTES, OFTEN_A_FAILURE

# Of a body no more can come than may: a stream needs room for padding only.
WINDOW_BYTES = BODY_CAP_BYTES


class Stream:
    """`worker` waits for its end: `is_complete`, or `failure`. Read as a ReplyReader is.

    It is nothing until it is begun, and may be begun again, with another number, after its end.

    Times in ns: `sent`, when the kernel had taken the request's last byte, and `first` and `end`,
    when its first and last bytes were read; 0 where that did not happen. `unsent`: what of the
    request's body is not written yet. `room`: the flow control window that the server gives us;
    `their_room`: the one that we give.
    """

    __slots__ = (
        "body_bytes", "body_start", "end", "failure", "first", "head", "head_bytes", "id",
        "is_complete", "keep_bytes", "memo", "n_interim", "received_bytes", "room", "sent",
        "sent_bytes", "their_room", "unsent", "worker",
    )  # fmt: skip

    def begin(self, stream_id: int, memo: BlockMemo, worker: Any, keep_bytes: int) -> None:
        self.id = stream_id
        self.memo = memo
        self.worker = worker
        self.keep_bytes = keep_bytes
        self.body_start: bytes | bytearray = b""
        self.head: Head | None = None
        self.failure: BadReply | OSError | None = None
        self.is_complete = False
        self.sent = self.first = self.end = 0
        self.head_bytes = self.body_bytes = self.received_bytes = self.sent_bytes = 0
        self.n_interim = 0
        self.unsent: memoryview | None = None
        self.room = 0
        self.their_room = WINDOW_BYTES

    def take_head(self, block: bytes, frame_bytes: int, *, is_last: bool) -> None:
        """The reply's head, or an interim one. Raises StreamBroken, ConnectionBroken."""
        head = self.memo.heads.get(block) or self.memo.parse(block)
        if head.status >= 200:
            self.note_head(head, frame_bytes)
            return
        self.head_bytes += frame_bytes
        self.n_interim += 1
        if is_last:
            raise StreamBroken(Code.PROTOCOL_ERROR, "the stream ends with an interim reply")
        if self.n_interim > INTERIM_CAP:
            detail = f"more than {INTERIM_CAP} interim replies"
            raise StreamBroken(Code.ENHANCE_YOUR_CALM, detail)

    def note_head(self, head: Head, frame_bytes: int) -> None:
        """The reply's own head."""
        self.head = head
        self.head_bytes += frame_bytes
        if head.status >= OFTEN_A_FAILURE:
            self.keep_bytes = max(self.keep_bytes, BODY_BYTES)

    def take_body(self, data: bytes, start: int, stop: int) -> None:
        """Raises StreamBroken."""
        if self.head is None:
            raise StreamBroken(Code.PROTOCOL_ERROR, "a body without a head")
        if self.keep_bytes:
            missing = self.keep_bytes - len(self.body_start)
            if not self.body_start:
                self.body_start = bytearray()
            self.body_start += data[start : min(stop, start + missing)]
        self.body_bytes += stop - start
        if self.body_bytes > BODY_CAP_BYTES:
            detail = f"a body of more than {BODY_CAP_BYTES} bytes"
            raise StreamBroken(Code.CANCEL, detail, Kind.BODY_CAP)

    def finish(self, instant: int) -> None:
        """The server has sent its last frame. Raises StreamBroken."""
        expected = self.head.body_bytes
        if expected is not None and expected != self.body_bytes:
            detail = f"a body of {self.body_bytes} bytes with the content-length {expected}"
            raise StreamBroken(Code.PROTOCOL_ERROR, detail)
        self.end = instant
        self.is_complete = True

    def count_sent(self, payload_bytes: int) -> None:
        self.sent_bytes += HEAD_BYTES + payload_bytes


# So much may wait in `out`; bodies have to wait until it is written.
_OUT_UP_TO_BYTES = 256 * 1024


class Uploads:
    """`under_way`: the streams with such a body, by number. `has_moved`: some of them was written
    since somebody set it back."""

    __slots__ = ("_initial_room", "_note_written", "_out", "_room", "has_moved", "under_way")

    def __init__(self, out: bytearray, note_written: Callable[[Stream], None]):
        """`note_written` is called with each stream whose body is in `out` to the last byte."""
        self._out = out
        self._note_written = note_written
        self.under_way: dict[int, Stream] = {}
        self._initial_room = self._room = DEFAULT_WINDOW
        self.has_moved = False

    def add(self, stream: Stream, body: memoryview) -> None:
        stream.unsent = body
        stream.room = self._initial_room
        self.under_way[stream.id] = stream
        self._write(stream)

    def forget(self, stream_id: int) -> bool:
        """Whether some of its body was not sent yet."""
        return self.under_way.pop(stream_id, None) is not None

    def clear(self) -> None:
        self.under_way.clear()

    def write(self) -> None:
        """As much as there is room for."""
        for stream in list(self.under_way.values()):
            self._write(stream)

    def _write(self, stream: Stream) -> None:
        while len(self._out) < _OUT_UP_TO_BYTES:
            size = min(len(stream.unsent), stream.room, self._room, FRAME_BYTES)
            if size <= 0:
                return
            part, stream.unsent = bytes(stream.unsent[:size]), stream.unsent[size:]
            stream.room -= size
            self._room -= size
            is_last = not stream.unsent
            self._out += frames.frame(DATA, END_STREAM if is_last else 0, stream.id, part)
            stream.count_sent(size)
            self.has_moved = True
            if is_last:
                del self.under_way[stream.id]
                self._note_written(stream)
                return

    def set_initial_room(self, value: int) -> None:
        """What new streams may send, from the server's settings. Raises ConnectionBroken."""
        if value > LARGEST_WINDOW:
            raise _too_large()
        for stream in self.under_way.values():
            stream.room += value - self._initial_room
            if stream.room > LARGEST_WINDOW:
                raise _too_large()
        self._initial_room = value
        self.write()

    def grow(self, more: int) -> None:
        """Raises ConnectionBroken."""
        self._room += more
        if self._room > LARGEST_WINDOW:
            raise _too_large()
        self.write()

    def grow_stream(self, stream_id: int, more: int) -> None:
        """Raises StreamBroken."""
        stream = self.under_way.get(stream_id)
        if stream is None:
            return
        stream.room += more
        if stream.room > LARGEST_WINDOW:
            raise StreamBroken(Code.FLOW_CONTROL_ERROR, "a window of 2^31 bytes")
        self._write(stream)


def _too_large() -> ConnectionBroken:
    return ConnectionBroken(Code.FLOW_CONTROL_ERROR, "a window of 2^31 bytes")


# Of all bodies together: as much as may be on its way to us.
CONNECTION_WINDOW_BYTES = 1 << 30
OPENING = (
    frames.PREFACE
    + frames.settings(
        {
            frames.HEADER_TABLE_SIZE: 0,
            frames.ENABLE_PUSH: 0,
            frames.INITIAL_WINDOW_SIZE: WINDOW_BYTES,
            frames.MAX_HEADER_LIST_SIZE: HEADER_CAP_BYTES,
        }
    )
    + frames.window_update(0, CONNECTION_WINDOW_BYTES - DEFAULT_WINDOW)
)
# Streams that we gave up and that the server has not ended.
LET_GO_CAP = 1000
# The longest first frame that only needs its stream's number.
_PLAIN_BYTES = HEAD_BYTES + FRAME_BYTES
_put_number = NUMBER.pack_into


class Streams:
    """`out` is what to write next.

    `ended_streams`: those that have ended since somebody took them, complete or with a failure.
    `written_streams`: those whose request's last byte is in `out`, likewise. `is_draining`: no
    stream may be begun any more. `goodbye`: how the server has ended the connection, if with an
    error. `bodies`: streams whose request's body is not all in `out` yet.
    """

    __slots__ = (
        "_frame", "_latest", "_let_go", "_next_id", "_plain_bytes", "_uploads", "bodies",
        "ended_streams", "goodbye", "is_draining", "out", "streams", "written_streams",
    )  # fmt: skip

    def __init__(self) -> None:
        self.out = bytearray(OPENING)
        self.streams: dict[int, Stream] = {}
        self.ended_streams: list[Stream] = []
        self.written_streams: list[Stream] = []
        self.is_draining = False
        self._next_id = 1
        self._uploads = Uploads(self.out, self.written_streams.append)
        self.bodies = self._uploads.under_way
        # How much more of each may come: at most what its window had room for.
        self._let_go: dict[int, int] = {}
        self.goodbye = ""
        # The latest request's bytes, and its first frame, whose stream changes with each request.
        self._latest = b""
        self._frame = bytearray()
        # 0 where the next request has to say that it uses no table.
        self._plain_bytes = _PLAIN_BYTES

    # --- beginning -------------------------------------------------------------------------------
    def begin(
        self,
        data: bytes,
        memo: BlockMemo,
        worker: Any,
        keep_bytes: int = 0,
        reuse: Stream | None = None,
    ) -> Stream:
        """Send a request: a HEADERS frame for stream 0, and behind it the body. `reuse`: a stream
        that nobody needs any more."""
        stream_id = self._next_id
        following = self._next_id = stream_id + 2
        if following > LARGEST_WINDOW:
            self.is_draining = True
        stream = self.streams[stream_id] = reuse or Stream()
        stream.begin(stream_id, memo, worker, keep_bytes)
        if data is not self._latest:
            block_bytes = data[0] << 16 | data[1] << 8 | data[2]
            self._latest, self._frame = data, bytearray(data[: HEAD_BYTES + block_bytes])
        head = self._frame
        size = stream.sent_bytes = len(head)
        if size <= self._plain_bytes:
            _put_number(head, STREAM_AT, stream_id)
        else:
            if not self._plain_bytes:
                self._plain_bytes = _PLAIN_BYTES
                head = head[:HEAD_BYTES] + EMPTY_TABLE + head[HEAD_BYTES:]
            head = frames.header_frames(head, stream_id)
            stream.sent_bytes = len(head)
        self.out += head
        if len(data) == size:
            self.written_streams.append(stream)
        else:
            self._uploads.add(stream, memoryview(data)[size:])
        return stream

    def write_bodies(self) -> None:
        """As much of the bodies as the server's windows and `out` have room for."""
        self._uploads.write()

    @property
    def awaits_replies(self) -> bool:
        """Whether there is a stream under way whose request was not only written just now."""
        return len(self.streams) > len(self.written_streams)

    @property
    def has_let_go(self) -> bool:
        """Whether there are streams that were given up on, and that the server has not ended."""
        return bool(self._let_go)

    def give_up(self, stream: Stream, code: Code = Code.CANCEL) -> None:
        """Nobody waits for this stream any more; what still comes of it is skipped."""
        if self.streams.pop(stream.id, None) is None:
            return
        self._uploads.forget(stream.id)
        self.out += frames.rst_stream(stream.id, code)
        self._let_go[stream.id] = WINDOW_BYTES
        if len(self._let_go) >= LET_GO_CAP:
            self.is_draining = True

    def say_goodbye(self, code: Code = Code.NO_ERROR) -> None:
        self.is_draining = True
        self.out += frames.goaway(0, code)

    # --- ending ----------------------------------------------------------------------------------
    def end_all(self, failure: BadReply | OSError) -> None:
        """The connection is gone: every stream has ended, in this way; or as the server had said,
        for where it leaves something unread its end is a reset."""
        if self.goodbye and isinstance(failure, OSError):
            failure = BadReply(Kind.H2_GOAWAY, self.goodbye)
        for stream in self.streams.values():
            stream.failure = failure
        self._forget_all()

    def end_of_input(self) -> None:
        """The server has closed: every stream has ended in the middle, or before its reply."""
        for stream in self.streams.values():
            if self.goodbye:
                stream.failure = BadReply(Kind.H2_GOAWAY, self.goodbye)
            elif stream.received_bytes:
                detail = cut_off(stream.head, stream.body_bytes)
                stream.failure = BadReply(Kind.EOF_MID_BODY, detail)
            else:
                stream.failure = BadReply(Kind.EOF_BEFORE_REPLY, "closed without a reply")
        self._forget_all()

    def _forget_all(self) -> None:
        self.is_draining = True
        self.ended_streams += self.streams.values()
        self.streams.clear()
        self._uploads.clear()

    def _finish(self, stream: Stream, instant: int) -> None:
        stream.finish(instant)
        del self.streams[stream.id]
        self.ended_streams.append(stream)
        if stream.unsent and self._uploads.forget(stream.id):
            # The reply came before the whole request was sent, so the rest of it is not needed.
            self.out += frames.rst_stream(stream.id, Code.NO_ERROR)

    def _break(self, stream_id: int, fault: StreamBroken) -> None:
        stream = self.streams.get(stream_id)
        if stream is not None:
            stream.failure = fault
            self.give_up(stream, fault.code)
            self.ended_streams.append(stream)

    def _fail(self, stream_id: int, failure: BadReply) -> None:
        """The server has ended this stream, if it was under way."""
        stream = self.streams.pop(stream_id, None)
        if stream is not None:
            self._uploads.forget(stream_id)
            stream.failure = failure
            self.ended_streams.append(stream)

    def _leave_out(self, last: int, why: str) -> None:
        """The server takes no stream above this one."""
        for stream_id in [each for each in self.streams if each > last]:
            self._fail(stream_id, NotProcessed(Kind.H2_GOAWAY, why))
