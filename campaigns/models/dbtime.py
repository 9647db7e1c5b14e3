"""Database time as expressions: machines' clocks differ, PostgreSQL's is the one that counts."""

from datetime import timedelta

from django.db.models import DateTimeField, ExpressionWrapper, F, Func, Value


class ClockTimestamp(Func):
    """Now, read when the row is looked at: a statement that waited for a lock sees the time after.

    Django's Now() is the time at which the statement arrived.
    """

    function = "clock_timestamp"
    arity = 0
    output_field = DateTimeField()


def db_now(offset_s: float = 0.0):
    """The database's time, `offset_s` seconds from now (negative: ago)."""
    return _shifted(ClockTimestamp(), offset_s)


def after(field: str, offset_s: float):
    """A column's instant plus seconds."""
    return _shifted(F(field), offset_s)


def _shifted(instant, offset_s: float):
    if not offset_s:
        return instant
    shift = Value(timedelta(seconds=offset_s))
    return ExpressionWrapper(instant + shift, output_field=DateTimeField())
