"""When bytes reached this machine: by the kernel's stamp, not by when this program came to look.

The program may be busy, or asleep and slow to wake; that is time the client waits for it, and so
belongs to what its log says a request took here. Only Linux stamps, and nobody can hand out stamps
through TLS; there the moment of reading is all there is.
"""

import struct
import sys
import time
from socket import SOL_SOCKET
from typing import Any

from gevent.ssl import SSLSocket

_CHUNK_BYTES = 65536
# Linux' SO_TIMESTAMPNS, which is also the type of the note; Python does not name it.
_STAMP = 35
_TIMESPEC = struct.Struct("@ll")
_NOTES_BYTES = 256
_NS = 1_000_000_000


def ask_for_stamps(listener: Any) -> None:
    """Let the kernel stamp what every connection of this listener receives, where it can."""
    if sys.platform == "linux":
        listener.setsockopt(SOL_SOCKET, _STAMP, 1)


def receive(sock: Any, since_ns: int = 0) -> tuple[bytes, int]:
    """(what came, its arrival as CLOCK_MONOTONIC ns), which was not before `since_ns`.

    Stamps are of the wall clock: one that is set between stamp and look puts the arrival anywhere.
    """
    if isinstance(sock, SSLSocket) or sys.platform != "linux":
        return sock.recv(_CHUNK_BYTES), time.monotonic_ns()
    data, notes, _, _ = sock.recvmsg(_CHUNK_BYTES, _NOTES_BYTES)
    looked_ns = time.monotonic_ns()
    return data, max(since_ns, looked_ns - _waited_ns(notes, time.time_ns()))


def _waited_ns(notes: list[tuple[int, int, bytes]], wall_ns: int) -> int:
    """How long the bytes lay in the kernel; 0 where it does not say so."""
    for level, kind, text in notes:
        if (level, kind) == (SOL_SOCKET, _STAMP):
            seconds, nanoseconds = _TIMESPEC.unpack_from(text)
            return max(0, wall_ns - seconds * _NS - nanoseconds)
    return 0
