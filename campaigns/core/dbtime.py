"""Database time as expressions: hosts' clocks differ, so only PostgreSQL's counts."""

from datetime import datetime, timedelta

from django.db import connection
from django.db.models import DateTimeField, ExpressionWrapper, Func, Value


class ClockTimestamp(Func):
    """The time when the row is evaluated, so after any wait for a lock.

    Django's Now() is the time at which the statement arrived, before the wait.
    """

    function = "clock_timestamp"
    arity = 0
    output_field = DateTimeField()


def db_now(offset_s: float = 0.0):
    """The database's time, `offset_s` seconds from now (negative: ago)."""
    if not offset_s:
        return ClockTimestamp()
    shift = Value(timedelta(seconds=offset_s))
    return ExpressionWrapper(ClockTimestamp() + shift, output_field=DateTimeField())


def database_time() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        return cursor.fetchone()[0]
