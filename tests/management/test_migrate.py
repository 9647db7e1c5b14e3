"""Migrations have time: the limits of pages are not theirs. And a release goes forward only."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder


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


@pytest.mark.django_db
def test_a_database_of_a_newer_release_is_refused_in_words(settings):
    settings.MIGRATION_MODULES = {}  # the real ones, which tests read from SQL
    MigrationRecorder(connection).record_applied("campaigns", "9999_of_tomorrow")
    with pytest.raises(CommandError, match=r"newer release: it has 9999_of_tomorrow, which"):
        call_command("migrate", verbosity=0)
