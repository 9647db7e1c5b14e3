"""The connection that a worker holds between attempts, and unexpected bytes on it.

The last ok attempt is held back: it is recorded when the next one begins, when its second is over,
or when the worker ends. If unexpected bytes arrive on its connection before that, it was not ok.
"""

import re
from typing import Any, Protocol

import gevent
from greenlet import greenlet

from campaigns.domain.metrics.outcomes import Kind
from workers.injector import faults
from workers.injector.attempt_row import FIELDS
from workers.injector.connection import Connection, Dialler, Waking, now
from workers.injector.recorder import Failure
from workers.injector.request import Request
from workers.injector.wire import has_unread, sent_with_data

EXPIRED, STOPPED = "expired", "stopped"
_WIND_DOWN_S = 0.05
_IDLE_TIMEOUT_BYTES, _IDLE_TIMEOUT = 4096, re.compile(rb"HTTP/1\.[01] 408[ \r]")
_END = FIELDS.index("end")
# What a client sends of a handshake: its hello, and its end.
_TLS_FLIGHTS = 2


class Held(Protocol):
    """Something that was opened."""

    def close(self) -> None:
        """Close without waiting; the time it takes does not count as opening."""


class _HeldConnection:
    def __init__(self, dialler: Dialler, connection: Connection):
        self._dialler = dialler
        self._connection = connection

    def close(self) -> None:
        self._dialler.hang_up(self._connection)


class Holder:
    """A connection, and its last ok attempt (of `request`) as a row for the recorder."""

    __slots__ = (
        "_to_hub",
        "connection",
        "dialler",
        "is_winding_down",
        "latest_row",
        "request",
        "switch",
    )

    def __init__(self, dialler: Dialler):
        # The hub's own `switch` first looks for a hook that no greenlet of ours has, which is a
        # quarter of what going there and back costs.
        self._to_hub: Any = greenlet.switch.__get__(gevent.get_hub())
        self.dialler = dialler
        self.connection: Connection | None = None
        self.request: Request | None = None
        self.latest_row: tuple[int, ...] | None = None
        self.is_winding_down = False
        self.switch: Any = None

    @property
    def held_end(self) -> int | None:
        """When the attempt ended that is in doubt until its connection is closed."""
        return (
            self.latest_row[_END] if self.is_winding_down and self.latest_row is not None else None
        )

    @property
    def doubtful_start(self) -> int | None:
        """When that attempt began: it is neither under way nor recorded yet."""
        return self.latest_row[1] if self.is_winding_down and self.latest_row is not None else None

    def drop_connection(self) -> None:
        """Close the connection, if there is one, at once."""
        connection, self.connection = self.connection, None
        if connection is not None:
            self.dialler.abandon(connection)

    def detach(self) -> "Held | None":
        """Let go of the connection, if there is one, and leave it open."""
        connection, self.connection = self.connection, None
        if connection is None:
            return None
        # Nobody waits for it any more; whatever the server sends before we close is not read.
        connection.watcher.stop()
        self.dialler.keep_session(connection)
        return _HeldConnection(self.dialler, connection)

    def check_idle(self) -> bool:
        """An idle connection became readable: the server closed it, or sent unexpected bytes.

        A 408 only says that the server closes it (RFC 9110 15.5.9). True if the connection is
        gone; a session ticket or part of a TLS record is neither.
        """
        try:
            data = self.connection.recv(_IDLE_TIMEOUT_BYTES)
            if data and not _IDLE_TIMEOUT.match(data):
                self._fail_last()
        except BlockingIOError:
            return False
        except OSError as error:
            if faults.is_ragged(error):
                self.request.events["tls_ragged_eof"].append(now())
        self.drop_connection()
        return True

    def check_for_strays(self) -> None:
        """Right before using an idle connection: check what arrived since the hub last looked."""
        if self.connection is not None and has_unread(self.connection.sock.fileno()):
            self.check_idle()

    def doubt_earlier_replies(self) -> None:
        """More replies came than requests were sent: any reply on this connection may be another's.

        The kernel knows how many requests there were, so the hot path need not count: at most one
        per segment with data, and at most as many as the bytes make up.
        """
        connection, request = self.connection, self.request
        if connection is None:
            return
        segments, sent_bytes = sent_with_data(connection.sock)
        if connection.tls is not None:
            segments -= _TLS_FLIGHTS
        earlier = min(segments, sent_bytes // max(1, len(request.data))) - 1
        request.recorder.note_doubt(now(), max(0, earlier))

    def settle(self) -> None:
        """Record the attempt that is held back, if any."""
        row, self.latest_row = self.latest_row, None
        if row is not None:
            self.request.record(row)

    def _fail_last(self) -> None:
        """Bytes came after the reply of the attempt that is held back, so it failed."""
        row, self.latest_row = self.latest_row, None
        if row is not None:
            self.doubt_earlier_replies()
            intended, start, *_, end, status, _, _, received = row
            sizes = self.request.size_bytes, received
            failure = (Kind.HTTP_PARSE, status, *sizes, False, "bytes after the reply")
            self.request.failures.append(Failure(intended, start, end, *failure))

    def wind_down(self) -> None:
        """End the worker. Anything that still arrives on its connection is unexpected."""
        if self.connection is not None and self.latest_row is not None:
            self.is_winding_down = True
            timer = gevent.get_hub().loop.timer(_WIND_DOWN_S)
            with Waking(timer, self.switch, EXPIRED):
                while not self._to_hub() and not self.check_idle():
                    pass
            self.is_winding_down = False
        self.settle()
        self.drop_connection()
