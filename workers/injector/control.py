"""Messages from the parent while the program runs: JSON lines on standard input.

The input ends when the parent exits, but not when it hangs (stopped, swapped out, frozen machine).
The dead man's switch covers that: the parent has to send something regularly.
"""

import ctypes
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import gevent

from workers.injector.connection import NS, now

_READ = 1
_LOOKS = 20
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def read_line() -> tuple[bytes, bytes]:
    """(the first line, bytes read beyond it); blocks, so call it before the hub runs."""
    data = b""
    while b"\n" not in data:
        more = os.read(0, 65536)
        if not more:
            break
        data += more
    line, _, rest = data.partition(b"\n")
    return line, rest


class DeadManSwitch:
    """Calls `on_silence` once when `reset` was not called for `limit_s`."""

    def __init__(self, limit_s: float, on_silence: Callable[[], None]):
        self._limit_ns = int(limit_s * NS)
        self._on_silence = on_silence
        self._reset_ns = now()
        every_s = limit_s / _LOOKS
        self._timer = gevent.get_hub().loop.timer(every_s, every_s)
        self._timer.start(self._look)

    def reset(self) -> None:
        """The parent is alive."""
        self._reset_ns = now()

    def _look(self) -> None:
        if now() - self._reset_ns > self._limit_ns:
            self.close()
            self._on_silence()

    def close(self) -> None:
        self._timer.stop()


class Control:
    """Calls `on_message` with each JSON object and `on_end` when the input ends."""

    def __init__(
        self,
        on_message: Callable[[dict[str, Any]], None],
        on_end: Callable[[], None],
        unread: bytes = b"",
        fd: int = 0,
    ):
        self._on_message = on_message
        self._on_end = on_end
        self._fd = fd
        self._rest = b""
        self._take(unread)
        self._watcher = gevent.get_hub().loop.io(fd, _READ)
        self._watcher.start(self._readable)

    def _readable(self) -> None:
        try:
            data = os.read(self._fd, 65536)
        except BlockingIOError:
            return
        if not data:
            self.close()
            self._on_end()
            return
        self._take(data)

    def _take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._hand_over(line)

    def _hand_over(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if isinstance(message, dict):
            self._on_message(message)
        else:
            print(
                f"Ignored a line on standard input that is not a JSON object: {line[:200]!r}",
                file=sys.stderr,
            )

    def close(self) -> None:
        self._watcher.stop()
