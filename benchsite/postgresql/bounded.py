"""Connections to PostgreSQL that give up a server which says nothing."""

from collections.abc import Generator
from time import monotonic
from typing import Any, Self

import psycopg
from psycopg.errors import ConnectionTimeout, _WaitTimeout

# A statement may take longer on a server that works; one that is frozen takes no connection either.
DOUBT_AFTER_S = 3.0
CONNECT_WITHIN_S = 2  # libpq's shortest


class BoundedConnection(psycopg.Connection):
    """Closes itself and raises OperationalError when a statement has no answer within
    `answer_within_s`; None: it waits for ever."""

    answer_within_s: float | None = None

    @classmethod
    def connect(
        cls, conninfo: str = "", *, answer_within_s: float | None = None, **options
    ) -> Self:
        """As psycopg's; `connect_timeout` is the bound until it is connected."""
        connection = super().connect(conninfo, **options)
        connection.answer_within_s = answer_within_s
        connection.made_by = (conninfo, options)
        return connection

    def wait(self, gen, *args, **options):
        options.setdefault("timeout", self.answer_within_s)
        try:
            return super().wait(gen, *args, **options)
        except _WaitTimeout:
            why = f"no answer from PostgreSQL within {self.answer_within_s:g} s"
            raise self._give_up(why) from None

    def _give_up(self, why: str) -> psycopg.OperationalError:
        self.close()
        return psycopg.OperationalError(why)


class PooledConnection(BoundedConnection):
    """The web's, whose readers wait: a server that is frozen is given up within
    DOUBT_AFTER_S + CONNECT_WITHIN_S, however long a statement may take."""

    def wait(self, gen, *args, **options):
        return super().wait(self._doubting(gen), *args, **options)

    def _doubting(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """psycopg goes on with it ten times a second, without a state while nothing comes."""
        doubted_at = monotonic()
        try:
            state = next(gen)
            while True:
                ready = yield state
                if not ready and monotonic() - doubted_at > DOUBT_AFTER_S:
                    self._require_server()
                    doubted_at = monotonic()
                state = gen.send(ready)
        except StopIteration as end:
            return end.value

    def _require_server(self) -> None:
        """Whatever it answers to a new connection: a refusal is an answer, too."""
        conninfo, options = self.made_by
        try:
            psycopg.connect(conninfo, **{**options, "connect_timeout": CONNECT_WITHIN_S}).close()
        except ConnectionTimeout:
            raise self._give_up("PostgreSQL takes no connections and answers nothing") from None
        except psycopg.Error:
            return
