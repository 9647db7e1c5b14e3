"""Server processes that stand still, as those of a PostgreSQL that is frozen: the kernel keeps
their connections open and takes what is sent, and nothing answers.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from django.db import connection, connections

# By this name PostgreSQL knows the connections that a test may freeze.
APPLICATION = "to be frozen"
_BACKENDS = (
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s"
)


@pytest.fixture
def impatient(monkeypatch) -> None:
    """Threads that take a connection of their own get one that may be frozen, and that waits for an
    answer for a moment only."""
    connection.ensure_connection()  # the web's pool is made before, and stays as it is
    options = connection.settings_dict["OPTIONS"]
    monkeypatch.setitem(options, "answer_within_s", 0.3)
    monkeypatch.setitem(options, "application_name", APPLICATION)


@contextmanager
def frozen_backends() -> Iterator[list[int]]:
    """All of that name that there are now; new connections are answered."""
    pids = _backends()
    assert pids, "there is something to freeze"
    try:
        _send(pids, signal.SIGSTOP)
        yield pids
    finally:
        _send(pids, signal.SIGCONT)


def _backends() -> list[int]:
    """Asked on a connection of its own: the caller's may be one of them."""
    asking = connections.create_connection("default")
    try:
        with asking.cursor() as cursor:
            cursor.execute(_BACKENDS, [APPLICATION])
            return [pid for (pid,) in cursor.fetchall()]
    finally:
        asking.close()


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
