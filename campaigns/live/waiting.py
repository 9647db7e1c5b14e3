"""Waiting without a database connection: there are few of them, and many who watch one page."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


def release_connection() -> None:
    """Inside a transaction (a test) there is none to give."""
    if not connection.in_atomic_block:
        connection.close()


@contextmanager
def held(lock: threading.Lock) -> Iterator[None]:
    """The lock; whoever has to wait for it gives its connection back first."""
    if not lock.acquire(blocking=False):
        release_connection()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
