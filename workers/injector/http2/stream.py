"""One request and its reply on a connection."""

from typing import Any

from campaigns.domain.metrics.outcomes import Kind
from workers.injector.http1 import BODY_CAP_BYTES, INTERIM_CAP, BadReply, Head
from workers.injector.http2.frames import HEAD_BYTES, Code
from workers.injector.http2.header_block import StreamBroken
from workers.injector.http2.reply_heads import BlockMemo
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
        "body_bytes", "end", "failure", "first", "head", "head_bytes", "id", "is_complete",
        "keep_bytes", "kept", "memo", "n_interim", "received_bytes", "room", "sent", "sent_bytes",
        "their_room", "unsent", "worker",
    )  # fmt: skip

    def begin(self, stream_id: int, memo: BlockMemo, worker: Any, keep_bytes: int) -> None:
        self.id = stream_id
        self.memo = memo
        self.worker = worker
        self.keep_bytes = keep_bytes
        self.kept: bytes | bytearray = b""
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
        head = self.memo.known.get(block) or self.memo.parse(block)
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
            missing = self.keep_bytes - len(self.kept)
            if not self.kept:
                self.kept = bytearray()
            self.kept += data[start : min(stop, start + missing)]
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
