"""Notices that this whole process was frozen, which no thread that waits for an answer can tell."""

import threading
import time
from collections import deque
from itertools import pairwise

TICK_S = 0.2
KEPT = 1000


class FreezeDetector:
    """A thread that only looks at the clock, until it is closed."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._ticks = deque([time.monotonic()], maxlen=KEPT)
        self._thread = threading.Thread(target=self._work, name="freeze detector", daemon=True)
        self._thread.start()

    def longest_s(self, within_s: float) -> float:
        """The longest time without a tick of which a part was in the last `within_s` seconds."""
        now = time.monotonic()
        ticks = [*self._ticks, now]
        return max(later - tick for tick, later in pairwise(ticks) if later >= now - within_s)

    def close(self) -> None:
        self._over.set()

    def _work(self) -> None:
        while not self._over.wait(TICK_S):
            self._ticks.append(time.monotonic())
