"""Threads beside the dispatcher's loop, for what may hang or take long: it must not stop ticks."""

import logging
import threading
import time
from collections.abc import Callable

from django.utils import timezone

from campaigns.core import queue
from campaigns.domain.lifecycle import RunState
from campaigns.engine.queries.engine import Waiting, names_to_look_up, under_way
from campaigns.engine.services import dispatch, endings
from campaigns.operations.queries import why_load_is_off
from campaigns.schedules.services import fire_due, note_silence
from campaigns.search import services as searches
from workers.database import UNREACHABLE, drop_connection, use_own_connection
from workers.dialling import addresses_of

logger = logging.getLogger(__name__)

MESSAGES_EVERY_S = 5.0
NAMES_EVERY_S = 0.5
TIDY_EVERY_S = 2.0
SCHEDULES_EVERY_S = 1.0
SILENCE_EVERY_S = 60.0
# A name may move to another machine while its run waits.
NAMES_AGAIN_AFTER_S = 30.0
# What is done periodically, and how often. A message expires when the next one is due.
PERIODIC_TASKS_S = {
    queue.SO_FAR: 30.0,
    queue.RETENTION: 60.0,
    queue.HOUSEKEEPING: 3600.0,
}


class SideThread(threading.Thread):
    """Acts when it is asked to, and every so often, while its dispatcher is the active one."""

    def __init__(
        self, name: str, every_s: float, shutdown: threading.Event, is_active: Callable[[], bool]
    ):
        super().__init__(name=name, daemon=True)
        self._every_s = every_s
        self._shutdown = shutdown
        self._is_active = is_active
        self._wake_up = threading.Event()

    def ask(self) -> None:
        """There may be something to do, or nothing more to wait for."""
        self._wake_up.set()

    def run(self) -> None:
        use_own_connection()
        while not self._shutdown.is_set():
            self._wake_up.wait(self._every_s)
            self._wake_up.clear()
            if not self._is_active() or self._shutdown.is_set():
                continue
            try:
                self.act()
            except UNREACHABLE:
                drop_connection()
            except Exception:  # without this thread every later run would wait
                logger.exception("The thread of %s failed; its next turn tries again", self.name)
        drop_connection()

    def act(self) -> None:
        raise NotImplementedError


class MessagesThread(SideThread):
    """Rings for waiting shards, and starts periodic tasks: a broker may hang."""

    def __init__(
        self,
        shutdown: threading.Event,
        is_active: Callable[[], bool],
        clock: Callable[[], float] = time.monotonic,
    ):
        super().__init__("messages", MESSAGES_EVERY_S, shutdown, is_active)
        self._clock = clock
        self._due_at = dict.fromkeys(PERIODIC_TASKS_S, clock())

    def act(self) -> None:
        dispatch.ring_doorbells()
        now = self._clock()
        for task, every_s in PERIODIC_TASKS_S.items():
            if now >= self._due_at[task]:
                if not queue.send(task, expires_s=every_s):
                    return
                # Not from when it was due: what was missed is done once.
                self._due_at[task] = now + every_s


class NamesThread(SideThread):
    """Looks up the host names of the runs that come next: no two runs measure one machine at
    once. A name server may hang."""

    def __init__(self, shutdown: threading.Event, is_active: Callable[[], bool]):
        super().__init__("names", NAMES_EVERY_S, shutdown, is_active)
        self._looked_up_at: dict[int, float] = {}

    def act(self) -> None:
        """Ask for each name that is new, or was asked for a while ago; none while load is off."""
        is_due = RunState.QUEUED in under_way() and not why_load_is_off()
        waiting = names_to_look_up() if is_due else []
        now = time.monotonic()
        recent = {run for run, at in self._looked_up_at.items() if now - at < NAMES_AGAIN_AFTER_S}
        for run, host, port in waiting:
            if run not in recent:
                dispatch.note_machines(run_id=run, addresses=addresses_of(host, port))
                self._looked_up_at[run] = time.monotonic()
        still = {run for run, _, _ in waiting}
        self._looked_up_at = {run: at for run, at in self._looked_up_at.items() if run in still}


class EndingsThread(SideThread):
    """Ends what has stopped sending: runs with their summaries, searches and campaigns. The summary
    of a long run takes minutes, and so may the words of a campaign with many tests."""

    def __init__(self, shutdown: threading.Event, is_active: Callable[[], bool]):
        super().__init__("endings", TIDY_EVERY_S, shutdown, is_active)
        self._tidied_at = -TIDY_EVERY_S

    def act(self) -> None:
        """End runs; after one has ended, and every two seconds, what follows from ended runs."""
        questions = under_way()
        n_ended = endings.finalise_runs() if RunState.FINALIZING in questions else 0
        if not n_ended and time.monotonic() - self._tidied_at < TIDY_EVERY_S:
            return
        self._tidied_at = time.monotonic()
        if Waiting.CAMPAIGN in questions:
            searches.advance_searches()
            dispatch.finish_campaigns()
        endings.summarise_late_runs()


class SchedulesThread(SideThread):
    """Starts campaigns by timetable. When many are due at once, the general worker helps."""

    def __init__(self, shutdown: threading.Event, is_active: Callable[[], bool]):
        super().__init__("schedules", SCHEDULES_EVERY_S, shutdown, is_active)
        self._looked_at = -SILENCE_EVERY_S

    def act(self) -> None:
        n_turns = 0
        while fire_due(timezone.now()) and not self._shutdown.is_set():
            n_turns += 1
            if n_turns == 1:
                queue.send(queue.SCHEDULES, expires_s=SCHEDULES_EVERY_S)
        if time.monotonic() - self._looked_at >= SILENCE_EVERY_S:
            self._looked_at = time.monotonic()
            note_silence(timezone.now())
