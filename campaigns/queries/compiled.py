"""Statements that never change, for the dispatcher's loop and for every page: writing one takes the
ORM longer than answering it takes PostgreSQL.
"""

from typing import Any

from django.db import connection
from django.db.models import QuerySet


class Compiled:
    """A query that is compiled once. What it compares with the present must be a function of the
    database, such as `ClockTimestamp`."""

    def __init__(self, query: QuerySet):
        self._sql = query.query.sql_with_params()

    def rows(self) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(*self._sql)
            return cursor.fetchall()
