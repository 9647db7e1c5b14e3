"""Ends what has stopped sending: runs with their summaries, searches and campaigns.

This is a thread of its own because the summary of a long run takes minutes, and so may the words of
a campaign with many tests: meanwhile the dispatcher goes on to start and to stop other runs.
"""

import logging
import threading
import time
from collections.abc import Callable

from campaigns.domain.lifecycle import RunState
from campaigns.queries.under_way import Waiting, under_way
from campaigns.services import dispatch, endings, searches
from workers.database import UNREACHABLE, drop_connection, use_own_connection

logger = logging.getLogger(__name__)

TIDY_EVERY_S = 2.0


class EndingsThread(threading.Thread):
    """Acts when it is asked to, and every two seconds."""

    def __init__(self, ended: threading.Event, is_active: Callable[[], bool]):
        super().__init__(name="endings", daemon=True)
        self._ended = ended
        self._is_active = is_active
        self._asked = threading.Event()
        self._tidied_at = -TIDY_EVERY_S

    def ask(self) -> None:
        """A run may have stopped sending."""
        self._asked.set()

    def run(self) -> None:
        use_own_connection()
        while not self._ended.is_set():
            self._asked.wait(TIDY_EVERY_S)
            self._asked.clear()
            if self._is_active() and not self._ended.is_set():
                self._act_safely()
        drop_connection()

    def _act_safely(self) -> None:
        try:
            self.act()
        except UNREACHABLE:
            drop_connection()
        except Exception:  # without this thread no run would end
            logger.exception("Runs were not ended; the next turn tries again")

    def act(self) -> None:
        """End runs; after one has ended, and every two seconds, what follows from ended runs."""
        known = under_way()
        n_ended = endings.finalise_runs() if RunState.FINALIZING in known else 0
        if not n_ended and time.monotonic() - self._tidied_at < TIDY_EVERY_S:
            return
        self._tidied_at = time.monotonic()
        if Waiting.CAMPAIGN in known:
            searches.advance_searches()
            dispatch.finish_campaigns()
        endings.summarise_late_runs()
