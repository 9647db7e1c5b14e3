"""A worker that sends calls before earlier replies have arrived, up to a depth.

Replies are matched to calls in order; HTTP has no other way. When the connection ends, every
unanswered call is a separate failure: nothing is sent a second time.
"""

from collections import deque
from dataclasses import dataclass
from typing import Any

from campaigns.domain.metrics.outcomes import Kind
from workers.injector import faults
from workers.injector.attempt import kind_of
from workers.injector.connection import Dialler, now
from workers.injector.http1 import BadReply, Surplus
from workers.injector.recorder import Failure, StepRecorder
from workers.injector.reply import ReplyReader
from workers.injector.session import Call, SessionWorker
from workers.injector.users import SessionContext

_NOT_SENT = 1 << 62
_PAUSE_S = 0.01
# If a connection's first unanswered call fails in one of these ways, so do the others.
_SHARED = {
    Kind.ABORTED_BY_STOP: Kind.ABORTED_BY_STOP,
    Kind.FIRST_BYTE_TIMEOUT: Kind.FIRST_BYTE_TIMEOUT,
    Kind.BODY_TIMEOUT: Kind.FIRST_BYTE_TIMEOUT,
    Kind.RESET: Kind.RESET,
}


@dataclass(slots=True)
class _PendingCall:
    """A call that waits for its reply; times in ns. `fault`: why it could not be sent whole."""

    call: Call
    size_bytes: int
    intended: int
    start: int
    connected_ns: int = 0
    secured_ns: int = 0
    sent: int = _NOT_SENT
    fault: Exception | None = None


class PipelineWorker(SessionWorker):
    """See the module docstring. `began` is the start of the call whose reply is next."""

    __slots__ = ("_depth", "_pending", "_unread", "_unread_at")

    def __init__(self, context: SessionContext, dialler: Dialler, keeps: bool):
        super().__init__(context, dialler, keeps)
        self._depth = context.session.pipeline_depth
        self._pending: deque[_PendingCall] = deque()
        # Bytes that came after the end of a reply, and when.
        self._unread = b""
        self._unread_at = 0

    def starts_of(self, recorder: StepRecorder) -> list[int]:
        return [each.start for each in self._pending if each.call.recorder is recorder]

    def make_call(self, call: Call, is_last: bool, intended: int, start: int) -> float | None:
        """Send one call, then read as many replies as must arrive before the next call."""
        data = self._bytes_of(call, is_last)
        this = _PendingCall(call, len(data), intended, start)
        self._pending.append(this)
        self.request = call
        self.began = self._pending[0].start
        is_sent = self._send(this, data)
        waits = not is_sent or is_last or self._is_waited_for()
        return self._read_down_to(0 if waits else self._depth - 1)

    def finish_replies(self) -> float | None:
        return self._read_down_to(0)

    def wind_down(self) -> None:
        self._read_down_to(0)
        super().wind_down()

    def _is_waited_for(self) -> bool:
        """Whether the next call has to wait for the reply to this one."""
        session, nth = self._context.session, self._in_burst + 1
        if self._context.makes_visits:
            # A visit itself decides when to wait for replies.
            return False
        if self._in_session + 1 == self.user.flow.n_calls:
            return True
        if session.burst_length == 1:
            return False
        return nth >= session.burst_length or (nth == 1 and session.first_call_alone)

    # --- sending ---------------------------------------------------------------------------------
    def _send(self, this: _PendingCall, data: bytes) -> bool:
        """Whether it was sent; if not, the unanswered calls have become failures or will."""
        try:
            connection = self.connection
            if connection is None:
                connection = self.dialler.dial(self)
                this.connected_ns, this.secured_ns = connection.connected_ns, connection.secured_ns
            self.send_all(connection, data)
            this.sent = now()
            return True
        except Exception as error:
            if len(self._pending) == 1 or self.connection is None:
                self._fail_all(error)
            # Otherwise replies to earlier calls may still be readable.
            faults.forget_frames(error)
            this.fault = error
            return False

    # --- reading ---------------------------------------------------------------------------------
    def _read_down_to(self, count: int) -> float | None:
        try:
            while len(self._pending) > count:
                self._read_one()
        except Exception as error:
            return self._fail_all(error)
        self.began = self._pending[0].start if self._pending else 0
        return None

    def _read_one(self) -> None:
        this = self._pending[0]
        self.request, self.began = this.call, this.start
        if self.connection is None:
            raise BadReply(Kind.EOF_BEFORE_REPLY, "the connection is gone")
        if this.fault is not None:
            raise this.fault
        reader = self._reader = this.call.make_reader()
        data, self._unread = self._unread, b""
        first = self._unread_at
        if not data:
            self.park(Kind.FIRST_BYTE_TIMEOUT)
            data = self._receive(self.connection, Kind.FIRST_BYTE_TIMEOUT)
            first = now()
        end = self.read_to_end(self.connection, reader, reader.take, data, first)
        if first < this.sent:
            raise Surplus("a reply to what was not sent yet")
        self._unread, self._unread_at = reader.rest(), end
        if self._unread and len(self._pending) == 1:
            raise Surplus("bytes after the last reply")
        self._reader = None
        self._pending.popleft()
        self._note_reply(this, reader, (first, end))

    def _note_reply(self, this: _PendingCall, reader: ReplyReader, times: tuple[int, int]) -> None:
        call, head = this.call, reader.head
        received = reader.received_bytes - len(self._unread)
        fault = call.fault_in(reader)
        if fault is None:
            marks = (this.intended, this.start, this.connected_ns, this.secured_ns, this.sent)
            call.size_bytes = this.size_bytes
            sizes = reader.head_bytes, reader.body_bytes, received
            self.latest_row = (*marks, *times, head.status, *sizes)
            if self._pending:
                self.settle()
        else:
            more = {"head_bytes": reader.head_bytes, "body_bytes": reader.body_bytes}
            if not call.is_filled_in:
                more["detail"] = call.recorder.examples.clean(call, fault.detail)
            self._note_failure(this, fault.kind, times[1], head.status, received, **more)
            if not call.is_filled_in:
                # Of others the values of this very call, to be hidden, are no longer known.
                call.recorder.examples.note_reply(call, fault, times[1], reader)
        if not head.is_reusable:
            # The server announced its last reply, so it will not answer the other calls.
            self._retire(self.connection)
            for other in self._pending:
                self._note_failure(other, Kind.EOF_BEFORE_REPLY, now())
            self._forget()

    # --- failing ---------------------------------------------------------------------------------
    def _fail_all(self, error: Exception) -> float:
        received = self._reader.received_bytes if self._reader else 0
        kind = kind_of(error, self._pending[0].sent != _NOT_SENT, received)
        others = _SHARED.get(kind, Kind.EOF_BEFORE_REPLY)
        if isinstance(error, Surplus):
            self.doubt_earlier_replies()
        self.drop_connection()
        instant = now()
        for nth, this in enumerate(self._pending):
            if nth == 0:
                by_kernel = faults.is_socket_timeout(error, kind)
                # As of an example: of others the values to be hidden are no longer known.
                examples, is_known = this.call.recorder.examples, not this.call.is_filled_in
                text = faults.detail_of(error, kind) if is_known else ""
                detail = examples.clean(this.call, text)
                what = {"received": received, "by_kernel": by_kernel, "detail": detail}
                self._note_failure(this, kind, instant, **what)
            elif this.sent == _NOT_SENT and others != Kind.ABORTED_BY_STOP:
                self._note_failure(this, Kind.WRITE_ERROR, instant)
            else:
                self._note_failure(this, others, instant)
        self._forget()
        return _PAUSE_S if kind in faults.ABOUT_TO_SPIN else 0.0

    def _note_failure(
        self,
        this: _PendingCall,
        kind: Kind,
        instant: int,
        status: int = 0,
        received: int = 0,
        **more: Any,
    ) -> None:
        sent_bytes = 0 if this.sent == _NOT_SENT else this.size_bytes
        what = (kind, status, sent_bytes, received)
        this.call.failures.append(Failure(this.intended, this.start, instant, *what, **more))

    def _forget(self) -> None:
        self._pending.clear()
        self._unread = b""
        self._reader = None
        self.began = self.limit = 0
