"""When bytes reached this machine, by the kernel's timestamp rather than the time of reading.

The program may be busy, or slow to wake up. The client waits during that time, so the log must
count it as part of the request. Only Linux has these timestamps, and they cannot be read through
TLS; elsewhere the time of reading has to do.
"""

import struct
import sys
import time
from socket import SOL_SOCKET
from typing import Any

from workers.echo.tls import TlsSocket

_CHUNK_BYTES = 65536
# Linux' SO_TIMESTAMPNS, which is also the type of the note; Python does not name it.
_STAMP = 35
_TIMESPEC = struct.Struct("@ll")
_NOTES_BYTES = 256
_NS = 1_000_000_000


def enable_receive_timestamps(listener: Any) -> None:
    """Let the kernel timestamp what the connections of this listener receive, if it can."""
    if sys.platform == "linux":
        listener.setsockopt(SOL_SOCKET, _STAMP, 1)


def receive(sock: Any, since_ns: int = 0) -> tuple[bytes, int]:
    """(what came, its arrival as CLOCK_MONOTONIC ns), which was not before `since_ns`.

    Timestamps use the wall clock; `since_ns` bounds the error if that clock is set in between.
    """
    if isinstance(sock, TlsSocket) or sys.platform != "linux":
        return sock.recv(_CHUNK_BYTES), time.monotonic_ns()
    data, notes, _, _ = sock.recvmsg(_CHUNK_BYTES, _NOTES_BYTES)
    looked_ns = time.monotonic_ns()
    return data, max(since_ns, looked_ns - _waited_ns(notes, time.time_ns()))


def _waited_ns(notes: list[tuple[int, int, bytes]], wall_ns: int) -> int:
    """How long the bytes waited in the kernel; 0 if it does not say."""
    for level, kind, text in notes:
        if (level, kind) == (SOL_SOCKET, _STAMP):
            seconds, nanoseconds = _TIMESPEC.unpack_from(text)
            return max(0, wall_ns - seconds * _NS - nanoseconds)
    return 0
