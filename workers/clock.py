"""Converts database time to this host's CLOCK_MONOTONIC, which is never set or stepped."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.db import connection

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ROUND_TRIPS = 8
LEAST_STEP_NS = 2_000_000_000


class ClockWatch:
    """Notices when the database's clock was set, by this host's clock since its boot."""

    def __init__(self):
        self._known_ns: int | None = None
        self._last_ns = 0

    def step_s(self) -> float:
        """By how many seconds the clock was set since the last call, or since `accept`; 0.0 where
        it only drifted. Tells the same again until it is accepted."""
        took_ns, self._last_ns = _round_trip(_since_boot_ns)
        if self._known_ns is None:
            self._known_ns = self._last_ns
        step_ns = self._last_ns - self._known_ns
        if abs(step_ns) < LEAST_STEP_NS + took_ns:
            self.accept()
            return 0.0
        return step_ns / 1e9

    def accept(self) -> None:
        """What `step_s` told has been dealt with."""
        self._known_ns = self._last_ns


def _since_boot_ns() -> int:
    """Unlike CLOCK_MONOTONIC it goes on while the host is suspended."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def start_of(instant: datetime) -> tuple[int, int]:
    """(the CLOCK_MONOTONIC value at which the database's clock shows `instant`, its maximum error),
    ns; the error is half of the quickest of 8 round trips."""
    took_ns, offset_ns = min(_round_trip() for _ in range(ROUND_TRIPS))
    at_ns = (instant - EPOCH) // timedelta(microseconds=1) * 1000 - offset_ns
    return at_ns, took_ns // 2


def _round_trip(now_ns: Callable[[], int] = time.monotonic_ns) -> tuple[int, int]:
    """(duration, offset), both ns; the offset is wrong by at most half of the duration."""
    with connection.cursor() as cursor:
        asked_ns = now_ns()
        cursor.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        answered_ns = now_ns()
        database_ns = cursor.fetchone()[0] * 1000
    return answered_ns - asked_ns, database_ns - (asked_ns + answered_ns) // 2
