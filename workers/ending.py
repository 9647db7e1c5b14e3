"""Ends what has stopped sending: runs with their summaries, searches and campaigns.

This is a thread of its own because the summary of a long run takes minutes, and so may the words of
a campaign with many tests: meanwhile the dispatcher goes on to start and to stop other runs.
"""

import threading
import time
from collections.abc import Callable

from campaigns.domain.lifecycle import RunState
from campaigns.queries.under_way import Waiting, under_way
from campaigns.services import dispatch, endings, searches
from workers.side_thread import SideThread

TIDY_EVERY_S = 2.0


class EndingsThread(SideThread):
    def __init__(self, ended: threading.Event, is_active: Callable[[], bool]):
        super().__init__("endings", TIDY_EVERY_S, ended, is_active)
        self._tidied_at = -TIDY_EVERY_S

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
