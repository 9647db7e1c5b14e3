"""PostgreSQL for long-lived threads: one plain connection each, replaced when it fails. Workers do
not use the web's pool: its threads and sockets do not survive the fork of a Celery child, and a
heartbeat must never wait for another thread's connection.

Its time as this host's CLOCK_MONOTONIC, which is never set or stepped. And files kept open, for the
moment when no other can be opened."""

import copy
import errno
import logging
import os
import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connection, connections

from workers.agent import boot_ns

logger = logging.getLogger(__name__)

# An OSError: at the limit of open files there is none left for a connection.
UNREACHABLE = (OperationalError, InterfaceError, OSError)
RETRY_S = 0.5
_NO_FILES = (errno.EMFILE, errno.ENFILE)
T = TypeVar("T")


def use_own_connection() -> None:
    """Give this thread its own plain connection from now on."""
    wrapper = connections[DEFAULT_DB_ALIAS]
    settings = copy.deepcopy(wrapper.settings_dict)
    if settings["OPTIONS"].pop("pool", None) is not None:
        connections[DEFAULT_DB_ALIAS] = type(wrapper)(settings, DEFAULT_DB_ALIAS)


def drop_connection() -> None:
    """Drop a failed connection; the next query opens a new one."""
    try:
        connection.close()
    except UNREACHABLE:
        connection.connection = None


def first_line_of(error: Exception) -> str:
    """The error's first line: libpq adds one per address that it tried. At the limit of open files
    it only says that the connection is bad; then that limit."""
    return file_limit(error) or str(error).strip().partition("\n")[0]


def file_limit(error: Exception | None = None) -> str:
    """In words, where the error says, or a try, that this process may open no other file; else
    ""."""
    if getattr(error, "errno", None) not in _NO_FILES:
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
            return ""
        except OSError as refusal:
            if refusal.errno not in _NO_FILES:
                return ""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return f"this process has all {soft} files open that it may; raise its limit (ulimit -n)"


def retry(act: Callable[[], T], *, for_s: float, give_up: threading.Event | None = None) -> T:
    """Call `act` until PostgreSQL answers; after `for_s` seconds, raise its error."""
    deadline = time.monotonic() + for_s
    give_up = give_up or threading.Event()
    while True:
        try:
            return act()
        except UNREACHABLE as error:
            drop_connection()
            if time.monotonic() > deadline or give_up.wait(RETRY_S):
                raise
            logger.warning("PostgreSQL does not answer, trying again: %s", first_line_of(error))


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
        took_ns, self._last_ns = _round_trip(boot_ns)
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


# A connection to PostgreSQL, what its library reads to make one, and a spool.
RESERVE_FILES = 8


class FileReserve:
    """Open files, to be given up for a moment. A worker and its launchers that have all their files
    open still say that they are there, and claim what waits for them: so it fails at once and says
    why, instead of waiting for an hour."""

    def __init__(self):
        self._files: list[int] = []
        self._fill()

    @contextmanager
    def free(self) -> Iterator[None]:
        while self._files:
            os.close(self._files.pop())
        try:
            yield
        finally:
            self._fill()

    def _fill(self) -> None:
        with suppress(OSError):
            while len(self._files) < RESERVE_FILES:
                self._files.append(os.open(os.devnull, os.O_RDONLY))
