"""The log of the echo target, and when bytes reached this machine, by the kernel's timestamp rather
than the time of reading.

The program may be busy, or slow to wake up. The client waits during that time, so the log must
count it as part of the request. Only Linux has these timestamps, and they cannot be read through
TLS; elsewhere the time of reading has to do.
"""

import json
import sys
import time
from socket import SOL_SOCKET
from typing import IO, Any

from workers.echo.tls import TlsSocket
from workers.injector.read_delay import STAMP, waited_ns


class Journal:
    """Writes one JSON line per request, unbuffered; does nothing without a path."""

    def __init__(self, path: str | None):
        self._file: IO[str] | None = None
        if path:
            self._file = open(path, "a", buffering=1)  # noqa: SIM115 (open as long as the server)

    @property
    def is_kept(self) -> bool:
        return self._file is not None

    def note(
        self, scheme: str, connection: int, method: str, path: str, arrived_ns: int, **more: int
    ) -> None:
        """`arrived_ns` is CLOCK_MONOTONIC when the request's first bytes had reached this machine.

        `service_us`, where given, runs from then until the reply was handed to the kernel.
        """
        if self._file is None:
            return
        wall_ns = time.time_ns() - (time.monotonic_ns() - arrived_ns)
        line = {
            "monotonic_ns": arrived_ns,
            "wall_ns": wall_ns,
            "scheme": scheme,
            "connection": connection,
            "method": method,
            "path": path,
            **more,
        }
        self._file.write(json.dumps(line) + "\n")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


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
