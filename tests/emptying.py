"""The database as each test finds it: empty after a test whose transactions are real, and on
connections with the limits of a page.

Django truncates every table, used or not, and makes all content types and permissions anew. That
took longer than most of these tests.
"""

from unittest import mock

import pytest
from django.db import connection
from django.test import TransactionTestCase

# The lock waits for what threads and processes of the test are still writing, as TRUNCATE would.
# The role leaves out foreign keys, and the trigger that keeps the audit log from being deleted.
EMPTY = """
DO $$
DECLARE
  name text;
  names text[] := ARRAY(
    SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema()
    AND tablename NOT IN ('django_migrations', 'django_content_type', 'auth_permission')
    ORDER BY tablename);
BEGIN
  SET LOCAL session_replication_role = replica;
  EXECUTE 'LOCK TABLE ' || array_to_string(names, ', ') || ' IN SHARE ROW EXCLUSIVE MODE';
  FOREACH name IN ARRAY names LOOP
    EXECUTE 'DELETE FROM ' || name;
  END LOOP;
END $$
"""


def empty_all_tables(_test_case=None) -> None:
    """All but what the migrations made: their own table, content types and permissions."""
    with connection.cursor() as cursor:
        cursor.execute(EMPTY)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    """Django makes the database with `migrate`, which takes its limits off the connection: the pool
    would lend that one to a test."""
    with django_db_blocker.unblock():
        connection.ensure_connection()
        connection.connection.close()
        connection.close()


@pytest.fixture(scope="session", autouse=True)
def _tables_are_emptied_quickly(django_test_environment):
    with mock.patch.object(TransactionTestCase, "_fixture_teardown", empty_all_tables):
        yield
