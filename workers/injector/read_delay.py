"""How long replies lay in this machine before they were read, of a sample of the attempts.

The kernel stamps what arrives, whatever keeps this process from reading it: other programs on its
core, a quota, a stop, or its own event loop. Asking for a stamp costs a tenth of a request, so at
high rates only some attempts are timed: the connection's `recv` is replaced for one attempt. That
happens once the request is sent, and a stamp is read as it is and understood later, so that timing
an attempt makes it no longer.
"""

import socket
import struct
import sys
import time
from typing import Any

# Linux' SO_TIMESTAMPNS, which is also the type of the note; Python does not name it.
STAMP = 35
_TIMESPEC = struct.Struct("@ll")
_NOTE_BYTES = 64
_NS = 1_000_000_000
_ALL, _NONE = 0, -1
# Above these bits of a start the mask selects; a clock may not tick in steps as fine as they are.
_FINE_BITS = 12
_FEW, _MANY = 2, 8
_SPARSEST = 0xFFF << _FINE_BITS

# What the kernel noted of what was read, and the wall clock then.
Notes = list[tuple[int, int, bytes]]
ReadStamp = tuple[Notes, int]


class ReadSample:
    """Chooses by some bits of their start, which are as good as random, which attempts are timed:
    those with none of the bits of `mask`. All up to some 500 a second, then a half, a quarter …
    """

    __slots__ = ("_anchor", "_n", "mask")

    def __init__(self, *, is_on: bool):
        self.mask = _ALL if is_on else _NONE
        self._n = 0
        self._anchor: socket.socket | None = None

    def begin(self) -> None:
        """Have the kernel stamp all along, which it does as long as one socket asks for it:
        switching that on and off with each connection would cost many times what a stamp costs."""
        if self.mask != _NONE:
            self._anchor = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            enable(self._anchor)

    def close(self) -> None:
        if self._anchor is not None:
            self._anchor.close()

    def tick(self) -> None:
        """Every 10 ms: time more or fewer."""
        if self.mask == _NONE:
            return
        if self._n > _MANY:
            self.mask = min(_SPARSEST, self.mask << 1 | 1 << _FINE_BITS)
        elif self._n < _FEW:
            self.mask = self.mask >> 1 & _SPARSEST
        self._n = 0

    def time(self, worker: Any, connection: Any, before_ns: int = 0, *, holder: Any = None) -> None:
        """Time the attempt that the worker has just sent. `before_ns`: how long what came before
        the reply, in a handshake, lay unread. `holder`: whose `connection` it is, if not the
        worker's."""
        self._n += 1
        timer = connection.timer
        if timer is None:
            timer = connection.timer = TimedRead(connection)
        timer.holder = holder or worker
        timer.attempts[worker.began] = worker, before_ns
        connection.recv = timer

    def begin_handshake(self, worker: Any, connection: Any) -> None:
        """TLS is about to begin: have it timed if its attempt is to be."""
        if not worker.began & self.mask:
            enable(connection.sock)
            connection.unread_ns = 0

    def end_handshake(self, worker: Any, connection: Any) -> None:
        """Time the attempt, if its handshake was timed."""
        if connection.unread_ns is not None:
            self.time(worker, connection, connection.unread_ns)
            connection.unread_ns = None


class TimedRead:
    """Stands in for a connection's `recv` during `attempts`: when each began → (its worker, how
    long what came before lay unread). Where several share a connection, all that is read at once
    has the stamp of its last byte, so that no reply is said to have waited longer than it did.
    `adds_up`: an attempt waits for all that is read, not only for the last of it."""

    __slots__ = ("_is_tls", "_plain", "_recvmsg", "adds_up", "attempts", "holder")

    def __init__(self, connection: Any):
        # Not the connection itself: the two would keep each other in memory.
        self.attempts: dict[int, tuple[Any, int]] = {}
        self.holder: Any = None
        self.adds_up = False
        self._plain = connection.recv
        self._is_tls = connection.tls is not None
        self._recvmsg = connection.sock.recvmsg
        enable(connection.sock)

    def __call__(self, size: int) -> bytes:
        attempts = self.attempts
        for attempt in [each for each, (worker, _) in attempts.items() if worker.began != each]:
            del attempts[attempt]
        if not attempts:
            connection = self.holder.connection
            if connection is not None and connection.recv is self:
                connection.recv = self._plain
            return self._plain(size)
        if self._is_tls:
            stamp = _look(self._recvmsg)
            data = self._plain(size)
        else:
            data, notes, _, _ = self._recvmsg(size, _NOTE_BYTES)
            stamp = notes, time.time_ns()
        # Of a reply that comes in parts the last one decides.
        for attempt, (worker, before_ns) in attempts.items():
            worker.request.recorder.read_stamps[attempt] = before_ns, stamp
            if self.adds_up:
                attempts[attempt] = worker, before_ns + waited_ns(stamp)
        return data


def enable(sock: Any) -> None:
    """Have the kernel tell its stamps with what is read from this socket; only Linux can."""
    if sys.platform == "linux":
        sock.setsockopt(socket.SOL_SOCKET, STAMP, 1)


def unread_for_ns(sock: Any) -> int:
    """How long the first unread bytes have been in this machine; 0 if the kernel does not say.

    Raises the OSError that ended the connection, which the kernel tells only once.
    """
    return waited_ns(_look(sock.recvmsg))


def _look(recvmsg: Any) -> ReadStamp:
    """At the first unread byte, without reading it."""
    try:
        _, notes, _, _ = recvmsg(1, _NOTE_BYTES, socket.MSG_PEEK)
    except BlockingIOError:
        notes = []
    return notes, time.time_ns()


def waited_ns(stamp: ReadStamp) -> int:
    """How long before somebody looked the bytes had arrived; 0 if the kernel does not say."""
    notes, wall_ns = stamp
    for level, kind, text in notes:
        if (level, kind) == (socket.SOL_SOCKET, STAMP):
            seconds, nanoseconds = _TIMESPEC.unpack_from(text)
            return max(0, wall_ns - seconds * _NS - nanoseconds)
    return 0
