"""One attempt: a request on a connection, its reply, and the times in between.

`Worker.attempt` is the hot path: on a kept connection with a head that was seen before it is one
send, one switch to the hub, one recv, one look-up and one `list.extend`. Everything else that may
happen is in the functions below it. In a closed load even the switch is saved, see `following.py`.
"""

import sys
import traceback
from collections.abc import Callable

import gevent

from campaigns.domain.metrics.outcomes import Kind
from workers.injector import faults
from workers.injector.connection import NS, WRITE, Connection, Dialler, Waking, now
from workers.injector.faults import AttemptFailed
from workers.injector.holding import EXPIRED, STOPPED, Holder
from workers.injector.http1 import BadReply, Surplus
from workers.injector.recorder import Failure, StepRecorder
from workers.injector.reply import ReplyReader
from workers.injector.request import Request
from workers.injector.wire import is_acknowledged

_RECV_BYTES = 16 * 1024
_RECV_BODY_BYTES = 256 * 1024
_PAUSE_S = 0.01
# Whoever sends faster than we read may keep us from the hub, and from our limits, for so long.
_TURN_NS = NS // 100
# What takes longer than this to parse (a quarter of a megabyte of tiny chunks takes 130 ms of CPU)
# is read in small parts.
_PARSE_NS = _TURN_NS // 5
# A large body is written in parts, and others have a turn after so long.
_WRITE_BYTES, _WRITE_TURN_NS = 256 * 1024, NS // 1000
_DIALLING = 1


class Worker(Holder):
    """A greenlet that makes attempts one after the other, and the connection that it holds.

    `began` is the start of the attempt under way, or 0; `limit` is the instant by which the present
    phase must be over, or 0. The engine's sweep reads both.
    """

    __slots__ = (
        "_reader", "_reads", "began", "keeps", "limit",
    )  # fmt: skip

    def __init__(self, dialler: Dialler, keeps: bool):
        super().__init__(dialler)
        self._reader: ReplyReader | None = None
        self._reads = dialler.reads
        self.keeps = keeps
        self.began = 0
        self.limit = 0

    def attempt(self, request: Request, intended: int, start: int) -> float | None:
        """Make one attempt and record it; after a failure, the seconds to wait before the next.

        Wait even if they are 0: a failure may take no turn of the hub, and others want theirs.
        """
        row = self.latest_row
        if row is not None:
            self.request.record(row)
            self.latest_row = None
        self.request = request
        self.began = start
        connected_ns = secured_ns = sent = 0
        try:
            connection, n_written = self.connection, 0
            if connection is None:
                connected_ns = _DIALLING
                connection = self.dialler.dial(self, request.data, takes_turns=not self.keeps)
                connected_ns, secured_ns = connection.connected_ns, connection.secured_ns
                n_written = connection.n_written
            if not n_written:
                try:
                    n_written = connection.send(request.data)
                except BlockingIOError:
                    n_written = 0
            if n_written != request.size_bytes:
                self._send_rest(connection, request.data, n_written)
            sent = now()
            # Who shook hands for this attempt knows already whether it is timed.
            if not (secured_ns or start & self._reads.mask):
                self._reads.time(self, connection)
            if signal := self._to_hub():
                raise AttemptFailed(kind_of_signal(signal, Kind.FIRST_BYTE_TIMEOUT))
            try:
                data = connection.recv(request.recv_bytes)
            except BlockingIOError:
                data = self._receive(connection, Kind.FIRST_BYTE_TIMEOUT)
            first = now()
            entry = request.latest_known if data == request.latest else request.recall(data)
            if entry is not None:
                status, head, body, received, stays = entry
                self.latest_row = (
                    intended, start, connected_ns, secured_ns, sent, first, first, status, head,
                    body, received,
                )  # fmt: skip
                if not (stays and self.keeps):
                    self._retire(connection)
            else:
                self._read_on(
                    connection, data, (intended, start, connected_ns, secured_ns, sent, first)
                )
            self.began = 0
            return None
        except Exception as error:
            return self._fail(error, intended, start, sent, is_new=connected_ns > 0)

    def starts_of(self, recorder: StepRecorder) -> list[int]:
        """When what is under way was begun, as far as it belongs to a recorder."""
        return [self.began] if self.request.recorder is recorder else []

    def send_all(self, connection: Connection, data: bytes) -> None:
        """Write it all, waiting where the socket is full."""
        try:
            n_written = connection.send(data)
        except BlockingIOError:
            n_written = 0
        if n_written != len(data):
            self._send_rest(connection, data, n_written)

    def park(self, kind: Kind) -> None:
        """Wait in the hub for the connection to be readable. Raises AttemptFailed at the limit."""
        if signal := self._to_hub():
            raise AttemptFailed(kind_of_signal(signal, kind))

    def wait_writable(self, fd: int, kind: Kind) -> None:
        with Waking(gevent.get_hub().loop.io(fd, WRITE), self.switch):
            self.park(kind)

    def _send_rest(self, connection: Connection, data: bytes, n_written: int) -> None:
        # Or a reply that comes early would wake us again and again.
        connection.watcher.stop()
        try:
            self._write_all(connection, memoryview(data)[n_written:])
        finally:
            # Replies to earlier requests may be readable even if this one could not be sent.
            connection.watcher.start(self.switch)

    def _write_all(self, connection: Connection, rest: memoryview) -> None:
        turn = now()
        while rest:
            try:
                rest = rest[connection.send(rest[:_WRITE_BYTES]) :]
                is_due = len(rest) > 0 and now() - turn > _WRITE_TURN_NS
            except BlockingIOError:
                is_due = True
            except OSError as error:
                # A part of it has left: whatever ended the connection may be its answer.
                kind = kind_of(error, 0, 0)
                raise AttemptFailed(kind, str(error), error.errno or 0) from error
            if is_due:
                # A server that reads as fast as we write has the hub come back at once.
                self.wait_writable(connection.sock.fileno(), Kind.WRITE_TIMEOUT)
                turn = now()

    def _receive(self, connection: Connection, kind: Kind, most: int = _RECV_BODY_BYTES) -> bytes:
        while True:
            try:
                return connection.recv(most)
            except BlockingIOError:
                self.park(kind)

    def _read_on(self, connection: Connection, data: bytes, marks: tuple[int, ...]) -> None:
        """Read a reply that the hot path does not know, and record it."""
        request, beginning = self.request, data
        reader = self._reader = request.make_reader()
        end = self.read_to_end(connection, reader, reader.feed, data, marks[-1])
        head, received = reader.head, reader.received_bytes
        fault = request.fault_in(reader)
        if fault is None:
            sizes = reader.head_bytes, reader.body_bytes, received
            self.latest_row = (*marks, end, head.status, *sizes)
            request.remember(beginning, head)
        else:
            detail = request.recorder.examples.clean(request, fault.detail)
            failure = (fault.kind, head.status, request.size_bytes, received)
            failure += (False, detail, reader.head_bytes, reader.body_bytes)
            request.failures.append(Failure(marks[0], marks[1], end, *failure))
            request.recorder.examples.note_reply(request, fault, end, reader)
        self._reader = None
        if not (head.is_reusable and self.keeps):
            self._retire(connection)

    def read_to_end(
        self,
        connection: Connection,
        reader: ReplyReader,
        take: Callable[[bytes], None],
        data: bytes,
        first: int,
    ) -> int:
        """Read a reply of which `data` came at `first`; when its last part did. `take` is the
        reader's, with or without more behind it. Raises BadReply, AttemptFailed, OSError."""
        end = turn = first
        while not reader.is_complete:
            if data:
                take(data)
            else:
                reader.end_of_input()
            if not reader.is_complete:
                parse_end = now()
                most = _RECV_BODY_BYTES if parse_end - end < _PARSE_NS else _RECV_BYTES
                if parse_end - turn > _TURN_NS and not connection.has_rest:
                    # The socket is readable, so the hub comes back at once, unless time is up.
                    self.park(Kind.BODY_TIMEOUT)
                    turn = now()
                data = self._receive(connection, Kind.BODY_TIMEOUT, most)
                end = now()
        return end

    def _retire(self, connection: Connection) -> None:
        """Done with a connection whose reply was complete."""
        self.connection = None
        if connection.tls is not None:
            self.dialler.keep_session(connection)
            self.dialler.linger(connection, self.request.events["tls_ragged_eof"].append)
        else:
            self.dialler.hang_up(connection)

    def _fail(
        self, error: Exception, intended: int, start: int, sent: int, *, is_new: bool
    ) -> float | None:
        request = self.request
        reader = self._reader
        received = reader.received_bytes if reader else 0
        self._reader = None
        self.limit = 0
        kind = kind_of(error, sent, received)
        is_replayed = (
            request.may_replay
            and not (is_new or received)
            and self._was_closed_before(error, kind, sent)
        )
        if isinstance(error, Surplus):
            self.doubt_earlier_replies()
        self.drop_connection()
        if is_replayed:
            # The server closed an idle connection just when we used it again: nobody's failure.
            instant = now()
            request.events["replayed"].append(instant)
            if faults.is_ragged(error):
                request.events["tls_ragged_eof"].append(instant)
            if sent:
                request.recorder.note_sent((instant, request.size_bytes))
            return Worker.attempt(self, request, intended, start)
        sent_bytes = request.size_bytes if sent else 0
        by_kernel = faults.is_socket_timeout(error, kind)
        detail = request.recorder.examples.clean(request, faults.detail_of(error, kind))
        failure = (kind, 0, sent_bytes, received, by_kernel, detail)
        end = now()
        request.failures.append(Failure(intended, start, end, *failure))
        request.recorder.examples.note(request, kind, 0, end, reader, str(error))
        self.began = 0
        return _PAUSE_S if kind in faults.ABOUT_TO_SPIN else 0.0

    def _was_closed_before(self, error: Exception, kind: Kind, sent: int) -> bool:
        """Whether the server had closed a kept connection before the request reached it.

        A request that reached the server and got no answer is a failure, whatever ended it. One
        that did not was never applied (RFC 9110, section 9.2.2), so that its method is no matter.
        """
        if self.connection is None:
            return False
        if not sent:
            return isinstance(error, OSError)
        return kind == Kind.EOF_BEFORE_REPLY and not is_acknowledged(self.connection.sock)


def kind_of_signal(signal: str, kind: Kind) -> Kind:
    """`kind` is that of an attempt whose time is over."""
    return Kind.ABORTED_BY_STOP if signal == STOPPED else kind


def kind_of(error: Exception, sent: int, received: int) -> Kind:
    """The one kind of a failed attempt. The error keeps none of the frames that it came through."""
    if isinstance(error, AttemptFailed | BadReply):
        kind = error.kind
    elif faults.is_ragged(error):
        kind = Kind.EOF_MID_BODY if received else Kind.EOF_BEFORE_REPLY
    elif isinstance(error, OSError):
        kind = faults.of_read(error) if sent else faults.of_write(error)
    else:
        traceback.print_exception(error, file=sys.stderr)
        kind = Kind.CLIENT_OTHER
    faults.forget_frames(error)
    return kind


def interrupt_overdue(
    workers: list[Worker], instant: int, total_ns: int, *, aborts: bool = False
) -> None:
    """Wake every worker whose attempt is over a limit, or, if the run aborts, all under way."""
    for worker in workers:
        began = worker.began
        if not began:
            continue
        if aborts:
            worker.switch(STOPPED)
        elif instant - began > total_ns or (worker.limit and instant > worker.limit):
            worker.switch(EXPIRED)
