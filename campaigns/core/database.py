"""What all need of PostgreSQL beside rows: its time, as hosts' clocks differ; waits without holding
a connection, as connections are few and those who wait are many; what was deleted meanwhile; and
which texts its columns hold."""

import logging
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError, connection
from django.db.models import (
    Count,
    DateTimeField,
    ExpressionWrapper,
    Func,
    Model,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce
from psycopg.errors import ForeignKeyViolation

from campaigns.domain.typed_text import is_web_address


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


# Turns at the database for those who ask at once because something has happened. Whoever waits for
# a connection is refused after 5 s; a turn is waited for as long as it takes.
TURNS = threading.BoundedSemaphore(8)


def release_connection() -> None:
    """Give this thread's connection back, except inside a transaction (a test)."""
    if connection.connection is not None and not connection.in_atomic_block:
        connection.close()


@contextmanager
def connection_given_back() -> Iterator[None]:
    """For reads of which many wait for the result: afterwards this thread has no connection."""
    try:
        yield
    finally:
        release_connection()


def without_connection(parts: Iterable[str]) -> Iterator[str]:
    """The parts of a file, each sent without a connection: whoever reads it may be slow."""
    for part in parts:
        release_connection()
        yield part


@contextmanager
def held(lock: threading.Lock) -> Iterator[None]:
    """Hold the lock; a thread that must wait for it gives its connection back first."""
    if not lock.acquire(blocking=False):
        release_connection()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


logger = logging.getLogger(__name__)
_KEY = re.compile(r"\((\w+)\)=")


def is_of_what_is_gone(error: Exception) -> bool:
    """Whether a row was to be read again, or one was to refer to it, that somebody has deleted
    meanwhile, such as the project of a new plan: to those who ask from now on it is not there."""
    is_gone = isinstance(error, ObjectDoesNotExist) or _refers_to_nothing(error)
    if is_gone:
        logger.warning("Deleted meanwhile", exc_info=error)
    return is_gone


def _refers_to_nothing(error: Exception) -> bool:
    cause = error.__cause__ if isinstance(error, IntegrityError) else None
    if not isinstance(cause, ForeignKeyViolation):
        return False
    # In any language: "Key (project_id)=(5) is not present …", "Key (id)=(5) is still referenced …"
    key = _KEY.search(cause.diag.message_detail or "")
    return bool(key) and key[1] != "id"


def count_of(rows: QuerySet) -> Coalesce:
    """How many rows, for each row of an outer query. Unlike a join it costs only the rows of the
    page that is shown."""
    groups = rows.order_by().annotate(one=Value(1)).values("one").annotate(n=Count("pk"))
    return Coalesce(Subquery(groups.values("n")), 0)


def text_faults(model: type[Model], texts: Mapping[str, str]) -> dict[str, str]:
    """By name, of texts that their columns do not hold, and of a `link` that leads nowhere."""
    limits = {name: model._meta.get_field(name).max_length for name in texts}
    faults = {
        name: f"Use at most {most} characters; this has {len(texts[name]):,}."
        for name, most in limits.items()
        if most is not None and len(texts[name]) > most
    }
    if texts.get("link") and not is_web_address(texts["link"]):
        faults["link"] = "Enter an address that begins with https:// or http://."
    return faults
