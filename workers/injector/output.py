"""Writes JSON lines for the parent to standard output without ever delaying the load."""

import json
import os
import sys
from collections import deque
from collections.abc import Iterator
from typing import Any

import gevent

from campaigns.domain.measured.snapshot import Second

_WRITE = 2
_SLICE_S = 0.002


class LineWriter:
    """Encodes a second in slices of less than a millisecond and never blocks on a full pipe."""

    def __init__(self, fd: int = 1):
        self._fd = fd
        self._loop = gevent.get_hub().loop
        self._slices: deque[Iterator[None]] = deque()
        self._timer = self._loop.timer(_SLICE_S, _SLICE_S)
        self._watcher = self._loop.io(fd, _WRITE)
        self._unwritten = bytearray()
        os.set_blocking(fd, False)

    def second(self, second: Second) -> None:
        self._slices.append(self._encode(second))
        if not self._timer.active:
            self._timer.start(self._encode_slice)

    def message(self, message: dict[str, Any]) -> None:
        """Write everything that waits, then this message, at once."""
        self._finish_slices()
        self._queue(message)
        self._flush()

    def close(self) -> None:
        """Write what is left; waits for a slow parent, but not for one that is gone."""
        self._finish_slices()
        self._timer.stop()
        self._watcher.stop()
        os.set_blocking(self._fd, True)
        try:
            while self._unwritten:
                del self._unwritten[: os.write(self._fd, self._unwritten)]
        except OSError as error:
            print(f"The parent has stopped reading: {error}", file=sys.stderr)

    def _encode(self, second: Second) -> Iterator[None]:
        timings = {}
        for name, timing in second.timings.items():
            if timing.n:
                timings[name] = timing.to_json()
                yield
        data = Second(
            second.second,
            second.step,
            second.counters,
            second.errors,
            second.statuses,
            second.in_flight,
            vitals=second.vitals,
            examples=second.examples,
        ).to_json()
        self._queue({"type": "second", **data, "timings": timings})
        self._flush()

    def _encode_slice(self) -> None:
        if not self._slices:
            self._timer.stop()
        elif next(self._slices[0], self) is self:
            self._slices.popleft()

    def _finish_slices(self) -> None:
        while self._slices:
            for _ in self._slices.popleft():
                pass

    def _queue(self, message: dict[str, Any]) -> None:
        self._unwritten += json.dumps(message, separators=(",", ":")).encode() + b"\n"

    def _flush(self) -> None:
        try:
            while self._unwritten:
                del self._unwritten[: os.write(self._fd, self._unwritten)]
            self._watcher.stop()
        except BlockingIOError:
            if not self._watcher.active:
                self._watcher.start(self._flush)
        except OSError:
            self._unwritten.clear()
