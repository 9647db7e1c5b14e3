"""Waits without holding a database connection: connections are few, those who wait are many."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.db import connection

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
