"""Writes seconds and rounds to the spool and the database, in its own thread, so that the
injector's output is still read while PostgreSQL is slow or unreachable.
"""

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Sequence
from typing import Any

from django.db import connection

from campaigns.domain.errors import Refused
from campaigns.engine.services.shards import Lease, record_requests, record_rounds, record_seconds
from workers.database import (
    RETRY_S,
    UNREACHABLE,
    drop_connection,
    first_line_of,
    use_own_connection,
)
from workers.spool import Spool

logger = logging.getLogger(__name__)

MAX_BATCH = 500
OF_ROUNDS = ("pace", "round")
STORED = ("second", "requests", *OF_ROUNDS)


def store_lines(lease: Lease, lines: Sequence[dict[str, Any]]) -> None:
    """What an injector said; may be stored twice. Raises Refused."""
    seconds = [line for line in lines if line["type"] == "second"]
    record_seconds(lease=lease, seconds=seconds)
    record_rounds(lease=lease, lines=[line for line in lines if line["type"] in OF_ROUNDS])
    record_requests(lease=lease, lines=[line for line in lines if line["type"] == "requests"])


class Delivery:
    """Takes lines, writes each to disk first, and stores them in order."""

    def __init__(self, lease: Lease, spool: Spool):
        self._lease = lease
        self._spool = spool
        self._waiting: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._give_up = threading.Event()
        self.failure = ""
        # Whether every second is on disk; with a full one, only memory has the rest.
        self.is_spooled = True
        self._thread = threading.Thread(target=self._work, name="delivery", daemon=True)
        self._thread.start()

    def take(self, line: dict[str, Any]) -> None:
        """Spool a line of `STORED`, and queue it for storing."""
        try:
            self._spool.append(line)
        except OSError as error:
            if self.is_spooled:  # said once, not every second
                logger.error(
                    "The spool %s cannot be written: %s. Seconds that PostgreSQL does not take are "
                    "now only in this process's memory: make room on the disk, and while "
                    "PostgreSQL is away do not restart this worker, or they are lost",
                    self._spool.path,
                    error,
                )
            self.is_spooled = False
        self._waiting.put(line)

    def finish(self, for_s: float) -> bool:
        """Wait up to `for_s` until everything is stored; returns whether it is."""
        self._waiting.put(None)
        self._thread.join(for_s)
        if self._thread.is_alive():
            self._give_up.set()
            self._thread.join(RETRY_S * 4)
            return False
        return not self.failure

    def _work(self) -> None:
        use_own_connection()
        try:
            while (batch := self._next_batch()) is not None:
                with contextlib.suppress(OSError):
                    self._spool.sync()
                self._store(batch)
        finally:
            with contextlib.suppress(*UNREACHABLE):
                connection.close()

    def _next_batch(self) -> list[dict[str, Any]] | None:
        """All waiting seconds, at least one; None after the last one or when giving up."""
        first = self._waiting.get()
        if first is None or self._give_up.is_set():
            return None
        batch = [first]
        while len(batch) < MAX_BATCH and not self._waiting.empty():
            second = self._waiting.get()
            if second is None:
                self._waiting.put(None)
                break
            batch.append(second)
        return batch

    def _store(self, batch: list[dict[str, Any]]) -> None:
        away_since = None
        while not self._give_up.is_set():
            try:
                store_lines(self._lease, batch)
                return
            except UNREACHABLE as error:
                drop_connection()
                if away_since is None:
                    away_since = time.monotonic()
                    logger.warning(
                        "PostgreSQL does not answer; seconds wait %s: %s",
                        "in the spool" if self.is_spooled else "in memory",
                        first_line_of(error),
                    )
                self._give_up.wait(RETRY_S)
            except Refused as error:
                self.failure = str(error)
                return
            except Exception as error:  # one bad batch must not end the thread
                logger.exception("Seconds of run %s were not stored", self._lease.run_id)
                self.failure = f"Seconds could not be stored: {error!r}"
                return
