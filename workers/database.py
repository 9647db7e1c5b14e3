"""PostgreSQL for long-lived threads: one plain connection each, replaced when it fails.

Workers do not use the web's pool: its threads and sockets do not survive the fork of a Celery
child, and a heartbeat must never wait for another thread's connection.
"""

import copy
import errno
import logging
import os
import resource
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connection, connections

logger = logging.getLogger(__name__)

# An OSError: at the limit of open files there is none left for a connection.
UNREACHABLE = (OperationalError, InterfaceError, OSError)
RETRY_S = 0.5
_NO_FILES = (errno.EMFILE, errno.ENFILE)
T = TypeVar("T")


def use_own_connection() -> None:
    """Give this thread its own plain connection from now on."""
    pooled = connections[DEFAULT_DB_ALIAS]
    settings = copy.deepcopy(pooled.settings_dict)
    if settings["OPTIONS"].pop("pool", None) is not None:
        connections[DEFAULT_DB_ALIAS] = type(pooled)(settings, DEFAULT_DB_ALIAS)


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
