"""Wakes greenlets at exact instants; one pacer serves all waiters of this process."""

import heapq
import itertools
from collections.abc import Callable
from typing import Any

from gevent import get_hub, getcurrent

from workers.injector.connection import now
from workers.injector.pacer import make_pacer


class Alarm:
    def __init__(self) -> None:
        self._heap: list[list[Any]] = []
        self._numbers = itertools.count()
        self._pacer = make_pacer(self._ring)

    def set(self, instant: int, wake: Callable[[], Any]) -> list[Any]:
        """Call `wake` at the instant, unless the returned entry is cancelled first."""
        entry = [instant, next(self._numbers), wake]
        heapq.heappush(self._heap, entry)
        if self._heap[0] is entry:
            self._pacer.wake_at(instant)
        return entry

    @staticmethod
    def cancel(entry: list[Any]) -> None:
        entry[2] = None

    def ring_now(self) -> None:
        """Wake all who wait, in the hub, whatever their instants."""
        for entry in self._heap:
            entry[0] = 0
        heapq.heapify(self._heap)
        if self._heap:
            self._pacer.wake_at(0)

    def sleep_until(self, instant: int) -> None:
        """Let others run until then; an instant in the past costs one turn of the hub."""
        entry = self.set(instant, getcurrent().switch)
        try:
            get_hub().switch()
        finally:
            # A greenlet that was killed while sleeping must not be woken.
            self.cancel(entry)

    def close(self) -> None:
        self._pacer.close()

    def _ring(self) -> None:
        instant = now()
        while self._heap and self._heap[0][0] <= instant:
            wake = heapq.heappop(self._heap)[2]
            if wake is not None:
                wake()
        if self._heap:
            self._pacer.wake_at(self._heap[0][0])
