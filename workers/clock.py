"""Converts database time to this host's CLOCK_MONOTONIC, which is never set or stepped."""

import time
from datetime import UTC, datetime, timedelta

from django.db import connection

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ROUND_TRIPS = 8


def start_of(instant: datetime) -> tuple[int, int]:
    """(the CLOCK_MONOTONIC value at which the database's clock shows `instant`, its maximum error),
    ns; the error is half of the quickest of 8 round trips."""
    took_ns, offset_ns = _quickest_round_trip()
    at_ns = (instant - EPOCH) // timedelta(microseconds=1) * 1000 - offset_ns
    return at_ns, took_ns // 2


def _quickest_round_trip() -> tuple[int, int]:
    return min(_round_trip() for _ in range(ROUND_TRIPS))


def _round_trip() -> tuple[int, int]:
    """(duration, offset), both ns; the offset is wrong by at most half of the duration."""
    with connection.cursor() as cursor:
        asked_ns = time.monotonic_ns()
        cursor.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        answered_ns = time.monotonic_ns()
        database_ns = cursor.fetchone()[0] * 1000
    return answered_ns - asked_ns, database_ns - (asked_ns + answered_ns) // 2
