"""Migrations have time: the limits of pages are not theirs."""

import pytest
from django.core.management import call_command
from django.db import connection


@pytest.mark.django_db(transaction=True)
def test_a_migration_may_take_longer_than_a_page():
    try:
        call_command("migrate", verbosity=0)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT current_setting('statement_timeout'), current_setting('lock_timeout')"
            )
            assert cursor.fetchone() == ("0", "1min")
            assert connection.connection.answer_within_s is None
    finally:
        connection.connection.close()  # the pool would lend it to the next test
        connection.close()
