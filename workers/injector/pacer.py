"""Wakes the hub at exact instants of CLOCK_MONOTONIC.

gevent's own timers round up to whole milliseconds. A timerfd that the hub watches is only late by
the time a sleeping process takes to wake up, 0.03 to 0.1 ms. The pacer learns that time and sets
the timer earlier by it; if it wakes too early, it spins until the instant. Without timerfd in the
C library it falls back to gevent's timer.

Wakes greenlets at exact instants; one pacer serves all waiters of this process."""

import ctypes
import heapq
import itertools
import os
import time
from collections.abc import Callable
from typing import Any

import gevent
from gevent import get_hub, getcurrent

from workers.injector.connection import NS, now

_CLOCK_MONOTONIC = 1
_NONBLOCK_CLOEXEC = 0o4000 | 0o2000000
_ABSOLUTE = 1
_READ = 1
# The hub serves nothing else while the pacer spins, so this must be short.
_MOST_LEAD_NS = 100_000
_LATE_STEP_NS, _EARLY_STEP_NS = 4_000, -1_000


class _Timespec(ctypes.Structure):
    _fields_ = [("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long)]


class _Itimerspec(ctypes.Structure):
    _fields_ = [("it_interval", _Timespec), ("it_value", _Timespec)]


class Lead:
    """How much earlier a timer must be set so that four of five wake-ups come early."""

    def __init__(self):
        self.ns = 0

    def learn(self, late_ns: int) -> None:
        """Learn from one wake-up that was late by `late_ns`, or early if negative."""
        step_ns = _LATE_STEP_NS if late_ns > 0 else _EARLY_STEP_NS
        self.ns = min(max(0, self.ns + step_ns), _MOST_LEAD_NS)


class TimerfdPacer:
    """Calls `callback` in the hub at the instant given to `wake_at`; OSError without timerfd."""

    def __init__(self, callback: Callable[[], None], lead: Lead | None = None):
        libc = ctypes.CDLL(None, use_errno=True)
        if not hasattr(libc, "timerfd_create"):
            raise OSError("this C library has no timerfd")
        self._settime = libc.timerfd_settime
        self._spec = _Itimerspec()
        self._callback = callback
        self._instant_ns = 0
        self._was_ahead = False
        self._lead = lead or Lead()
        self._fd = libc.timerfd_create(_CLOCK_MONOTONIC, _NONBLOCK_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create failed")
        self._watcher = gevent.get_hub().loop.io(self._fd, _READ)
        self._watcher.start(self._fire)

    def wake_at(self, instant_ns: int) -> None:
        """Wake once at an instant of time.monotonic_ns; at once if it is in the past."""
        self._instant_ns = instant_ns
        self._was_ahead = instant_ns > time.monotonic_ns()
        early_ns = max(instant_ns - self._lead.ns, 1)
        self._spec.it_value.tv_sec, self._spec.it_value.tv_nsec = divmod(early_ns, NS)
        self._settime(self._fd, _ABSOLUTE, ctypes.byref(self._spec), None)

    def _fire(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:
            return
        if self._was_ahead:
            self._lead.learn(time.monotonic_ns() - self._instant_ns)
        while time.monotonic_ns() < self._instant_ns:
            pass
        self._callback()

    def close(self) -> None:
        self._watcher.stop()
        self._watcher.close()
        os.close(self._fd)


class TimerPacer:
    """The same with gevent's timer, up to a millisecond late."""

    def __init__(self, callback: Callable[[], None]):
        self._callback = callback
        self._timer = gevent.get_hub().loop.timer(0.0)

    def wake_at(self, instant_ns: int) -> None:
        self._timer.stop()
        self._timer.close()
        wait_s = max(0.0, (instant_ns - time.monotonic_ns()) / NS)
        self._timer = gevent.get_hub().loop.timer(wait_s)
        self._timer.start(self._callback)

    def close(self) -> None:
        self._timer.stop()
        self._timer.close()


def make_pacer(callback: Callable[[], None], lead: Lead | None = None) -> TimerfdPacer | TimerPacer:
    """The most precise pacer that this machine supports. `lead`: what pacers learn together."""
    try:
        return TimerfdPacer(callback, lead)
    except (OSError, AttributeError):
        return TimerPacer(callback)


class Alarm:
    def __init__(self, lead: Lead | None = None) -> None:
        self._heap: list[list[Any]] = []
        self._numbers = itertools.count()
        self._pacer = make_pacer(self._ring, lead)

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

    def ring_now(self, since: int = 0) -> None:
        """Wake all who wait for this instant or a later one, in the hub."""
        for entry in self._heap:
            if entry[0] >= since:
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
