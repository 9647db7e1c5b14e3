"""`manage.py migrate` without the limits of pages: a statement may take as long as it needs.

It waits for locks only a minute, so that a forgotten transaction does not stop the site for ever.
"""

from django.core.management.commands.migrate import Command as Migrate
from django.db import connections

_LIMITS = {
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "lock_timeout": "60s",
}


class Command(Migrate):
    def handle(self, *args, **options):
        database = connections[options["database"]]
        with database.cursor() as cursor:
            for name, limit in _LIMITS.items():
                cursor.execute(f"SET {name} = '{limit}'")
        database.connection.answer_within_s = None
        super().handle(*args, **options)
