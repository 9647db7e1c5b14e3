"""Database time as expressions: hosts' clocks differ, so only PostgreSQL's counts."""

from datetime import timedelta

from django.db.models import DateTimeField, ExpressionWrapper, F, Func, Value


class ClockTimestamp(Func):
    """The time when the row is evaluated, so after any wait for a lock.

    Django's Now() is the time at which the statement arrived, before the wait.
    """

    function = "clock_timestamp"
    arity = 0
    output_field = DateTimeField()


def db_now(offset_s: float = 0.0):
    """The database's time, `offset_s` seconds from now (negative: ago)."""
    return _shifted(ClockTimestamp(), offset_s)


def after(field: str, offset_s: float):
    """A column's time plus `offset_s` seconds."""
    return _shifted(F(field), offset_s)


def _shifted(instant, offset_s: float):
    if not offset_s:
        return instant
    shift = Value(timedelta(seconds=offset_s))
    return ExpressionWrapper(instant + shift, output_field=DateTimeField())
