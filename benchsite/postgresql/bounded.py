"""A connection to PostgreSQL that gives up a server which says nothing."""

from typing import Self

import psycopg
from psycopg.errors import _WaitTimeout


class BoundedConnection(psycopg.Connection):
    """Closes itself and raises OperationalError when a statement has no answer within
    `answer_within_s`; None: it waits for ever."""

    answer_within_s: float | None = None

    @classmethod
    def connect(
        cls, conninfo: str = "", *, answer_within_s: float | None = None, **options
    ) -> Self:
        """As psycopg's; `connect_timeout` is the bound until it is connected."""
        made = super().connect(conninfo, **options)
        made.answer_within_s = answer_within_s
        return made

    def wait(self, gen, *args, **options):
        options.setdefault("timeout", self.answer_within_s)
        try:
            return super().wait(gen, *args, **options)
        except _WaitTimeout:
            self.close()
            raise psycopg.OperationalError(
                f"no answer from PostgreSQL within {self.answer_within_s:g} s"
            ) from None
