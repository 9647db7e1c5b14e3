"""A statement without an answer ends, although the server is frozen and says nothing itself."""

import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import OperationalError, connection

from benchsite.postgresql import bounded as bounds
from benchsite.postgresql.bounded import BoundedConnection, PooledConnection
from local.servers import prepare_postgres
from local.supervisor import end_together, spawn
from tests.engine.scenes import at_once
from tests.frozen_backends import frozen_backends
from tests.process_tree import descendants
from tests.waiting import eventually
from workers.database import drop_connection, use_own_connection

pytestmark = pytest.mark.django_db(transaction=True)


def of_the_web() -> None:
    """What a thread has unless it asks for another: one of the pool's."""


KINDS = pytest.mark.parametrize("take", [of_the_web, use_own_connection])


def within_a_thread(take, act):
    """What `act` returns, on a connection that this thread took in this way."""

    def work():
        take()
        try:
            return act()
        finally:
            drop_connection()

    (result,) = at_once(work)
    return result


@pytest.fixture
def own_connection():
    """A connection of the web's own, which waits for an answer for a moment only."""
    with connection.cursor():
        own = connection.connection
    own.answer_within_s = 0.2
    yield own
    own.close()  # the pool would lend it to the next test
    connection.close()


@KINDS
def test_every_connection_waits_longer_than_the_server_lets_a_statement_take(take):
    def limits():
        with connection.cursor() as cursor:
            cursor.execute("SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout'")
            (most_ms,) = cursor.fetchone()
        assert isinstance(connection.connection, BoundedConnection)
        return most_ms / 1000, connection.connection.answer_within_s

    most_s, answer_within_s = within_a_thread(take, limits)
    assert 0 < most_s < answer_within_s == settings.DB_ANSWER_S


def test_a_server_that_stands_still_is_away_and_its_connection_is_gone(impatient):
    def ask():
        with connection.cursor() as cursor:
            driver = connection.connection
            with (
                frozen_backends(),
                pytest.raises(OperationalError, match="no answer from PostgreSQL"),
            ):
                cursor.execute("SELECT 1")
        return driver.closed

    assert within_a_thread(use_own_connection, ask)


def test_an_answer_that_takes_too_long_is_none(own_connection):
    with (
        pytest.raises(OperationalError, match="no answer from PostgreSQL within"),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT pg_sleep(1)")
    assert own_connection.closed


def test_the_next_request_has_another_connection(own_connection):
    with pytest.raises(OperationalError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(1)")
    connection.close()  # as Django does at the end of a request in which a connection failed
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)


def test_an_answer_in_time_is_one(own_connection):
    assert own_connection.execute("SELECT 1").fetchone() == (1,)


def test_a_connection_without_a_bound_waits_as_psycopg_does(own_connection):
    own_connection.answer_within_s = None
    assert own_connection.execute("SELECT pg_sleep(0.5)").rowcount == 1


@pytest.fixture(scope="module")
def own_server():
    """A PostgreSQL of these tests alone: (where it is, its process)."""
    folder = Path(tempfile.mkdtemp(prefix="benchsite-test-"))
    folder.chmod(0o711)
    server = prepare_postgres(folder, is_throw_away=True)
    process = spawn(server.program, folder / "log")
    try:
        eventually(server.accepts_connections, 60, "PostgreSQL takes connections")
        yield server.url_of("postgres"), process.pid
    finally:
        end_together([(server.program, process)])
        shutil.rmtree(folder, ignore_errors=True)


def test_a_reader_waits_six_seconds_at_most_for_a_frozen_server(own_server):
    url, pid = own_server
    own = PooledConnection.connect(url, answer_within_s=20)
    own.execute("SELECT 1")
    processes = [pid, *descendants(pid)]
    began_s = time.monotonic()
    for each in processes:
        os.kill(each, signal.SIGSTOP)
    try:
        with pytest.raises(psycopg.OperationalError, match="answers nothing"):
            own.execute("SELECT 1")
        assert time.monotonic() - began_s < 6
        assert own.closed
    finally:
        for each in processes:
            os.kill(each, signal.SIGCONT)


def test_a_long_statement_of_a_server_that_works_is_waited_for(own_server, monkeypatch):
    monkeypatch.setattr(bounds, "DOUBT_AFTER_S", 0.2)
    with PooledConnection.connect(own_server[0], answer_within_s=20) as own:
        assert own.execute("SELECT pg_sleep(1), 7").fetchone()[1] == 7
