"""PostgreSQL for long-lived threads: one plain connection each, given up and made anew on trouble.

The web's pool is not for workers: a pool's threads and sockets do not survive the fork of a Celery
child, and a heartbeat must never wait for somebody else's connection.
"""

import copy
import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connection, connections

logger = logging.getLogger(__name__)

AWAY = (OperationalError, InterfaceError)
RETRY_S = 0.5
T = TypeVar("T")


def use_own_connection() -> None:
    """Give this thread its own plain connection for everything that follows."""
    pooled = connections[DEFAULT_DB_ALIAS]
    settings = copy.deepcopy(pooled.settings_dict)
    if settings["OPTIONS"].pop("pool", None) is not None:
        connections[DEFAULT_DB_ALIAS] = type(pooled)(settings, DEFAULT_DB_ALIAS)


def drop_connection() -> None:
    """Forget a connection that failed; the next query makes a new one."""
    try:
        connection.close()
    except AWAY:
        connection.connection = None


def in_short(error: Exception) -> str:
    """The first line: libpq adds advice for each address that it tried."""
    return str(error).strip().partition("\n")[0]


def persist(act: Callable[[], T], *, for_s: float, give_up: threading.Event | None = None) -> T:
    """Do `act` until PostgreSQL takes it. Raises what PostgreSQL's absence raises after `for_s`."""
    deadline = time.monotonic() + for_s
    give_up = give_up or threading.Event()
    while True:
        try:
            return act()
        except AWAY as error:
            drop_connection()
            if time.monotonic() > deadline or give_up.wait(RETRY_S):
                raise
            logger.warning("PostgreSQL is away, trying again: %s", in_short(error))
