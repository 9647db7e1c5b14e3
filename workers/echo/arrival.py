"""When bytes reached this machine, by the kernel's timestamp rather than the time of reading.

The program may be busy, or slow to wake up. The client waits during that time, so the log must
count it as part of the request. Only Linux has these timestamps, and they cannot be read through
TLS; elsewhere the time of reading has to do.
"""

import sys
import time
from socket import SOL_SOCKET
from typing import Any

from workers.echo.tls import TlsSocket
from workers.injector.read_delay import STAMP, waited_ns

_CHUNK_BYTES = 65536
_NOTES_BYTES = 256


def enable_receive_timestamps(listener: Any) -> None:
    """Let the kernel timestamp what the connections of this listener receive, if it can."""
    if sys.platform == "linux":
        listener.setsockopt(SOL_SOCKET, STAMP, 1)


def receive(sock: Any, since_ns: int = 0) -> tuple[bytes, int]:
    """(what came, its arrival as CLOCK_MONOTONIC ns), which was not before `since_ns`.

    Timestamps use the wall clock; `since_ns` bounds the error if that clock is set in between.
    """
    if isinstance(sock, TlsSocket) or sys.platform != "linux":
        return sock.recv(_CHUNK_BYTES), time.monotonic_ns()
    data, notes, _, _ = sock.recvmsg(_CHUNK_BYTES, _NOTES_BYTES)
    looked_ns = time.monotonic_ns()
    return data, max(since_ns, looked_ns - waited_ns((notes, time.time_ns())))
