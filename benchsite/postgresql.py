"""The web's connections to PostgreSQL, which wait for no answer for ever.

A server that is frozen keeps its sockets open and its kernel answers for it, so neither its own
statement_timeout nor tcp_user_timeout ends the wait.
"""

import psycopg
from psycopg.errors import _WaitTimeout

# Longer than statement_timeout: a server that works says itself that a statement took too long.
ANSWER_WITHIN_S = 20.0


class BoundedConnection(psycopg.Connection):
    """Closes itself and raises OperationalError when a statement has no answer within
    `answer_within_s`; None: it waits for ever."""

    answer_within_s: float | None = ANSWER_WITHIN_S

    def wait(self, gen, *args, **options):
        options.setdefault("timeout", self.answer_within_s)
        try:
            return super().wait(gen, *args, **options)
        except _WaitTimeout:
            self.close()
            raise psycopg.OperationalError(
                f"no answer from PostgreSQL within {self.answer_within_s:g} s"
            ) from None
