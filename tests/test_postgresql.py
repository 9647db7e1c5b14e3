"""A statement without an answer ends, although the server is frozen and says nothing itself."""

import pytest
from django.db import OperationalError, connection

from benchsite.postgresql import ANSWER_WITHIN_S, BoundedConnection

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def bounded():
    """A connection of the web's own, which waits for an answer for a moment only."""
    with connection.cursor():
        own = connection.connection
    own.answer_within_s = 0.2
    yield own
    own.close()  # the pool would lend it to the next test
    connection.close()


def test_the_webs_connections_wait_longer_than_the_server_lets_a_statement_take():
    with connection.cursor() as cursor:
        cursor.execute("SELECT setting::int FROM pg_settings WHERE name = 'statement_timeout'")
        (most_ms,) = cursor.fetchone()
    assert isinstance(connection.connection, BoundedConnection)
    assert 0 < most_ms / 1000 < connection.connection.answer_within_s == ANSWER_WITHIN_S


def test_a_server_that_says_nothing_is_away_and_its_connection_is_gone(bounded):
    with (
        pytest.raises(OperationalError, match="no answer from PostgreSQL within"),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT pg_sleep(1)")
    assert bounded.closed


def test_the_next_request_has_another_connection(bounded):
    with pytest.raises(OperationalError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(1)")
    connection.close()  # as Django does at the end of a request in which a connection failed
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)


def test_an_answer_in_time_is_one(bounded):
    assert bounded.execute("SELECT 1").fetchone() == (1,)


def test_a_connection_without_a_bound_waits_as_psycopg_does(bounded):
    bounded.answer_within_s = None
    assert bounded.execute("SELECT pg_sleep(0.5)").rowcount == 1
