"""`manage.py migrate` without the limits of pages: a statement may take as long as it needs. It
waits for locks only a minute, so that a forgotten transaction does not stop the site for ever."""

from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as Migrate
from django.db import connections
from django.db.migrations.loader import MigrationLoader

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
        # Django's own has nothing to do there, and this release would write into tables whose rules
        # it does not know.
        loader = MigrationLoader(database)
        names, applied = (
            {name for app, name in migrations if app == "campaigns"}
            for migrations in (loader.disk_migrations, loader.applied_migrations)
        )
        if newer := sorted(name for name in applied - names if name > max(names, default=name)):
            raise CommandError(
                f"The database is that of a newer release: it has {', '.join(newer)}, which this "
                "one does not know. Run the newer release, or restore a backup that was written "
                "before the upgrade."
            )
        super().handle(*args, **options)
