"""Where Django looks for a backend: every connection of every process is a bounded one."""

import psycopg
from django.db.backends.postgresql import base

from benchsite.postgresql.bounded import BoundedConnection


class _BoundedPsycopg:
    """The driver, but for the class of its connections."""

    connect = BoundedConnection.connect

    def __getattr__(self, name: str):
        return getattr(psycopg, name)


class DatabaseWrapper(base.DatabaseWrapper):
    """The pool has the class from the settings."""

    Database = _BoundedPsycopg()
