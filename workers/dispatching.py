"""The dispatcher's loop: reads the rows several times a second and advances what can advance."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

from django.db import connection, transaction

from campaigns.domain.lifecycle import RunState as State
from campaigns.engine.queries.engine import Waiting, under_way
from campaigns.engine.services import dispatch
from campaigns.operations.services import load_control
from campaigns.probes.services import probes
from campaigns.search import services as searches
from workers.celery_worker import touch_pulse
from workers.database import (
    UNREACHABLE,
    ClockWatch,
    drop_connection,
    first_line_of,
    use_own_connection,
)
from workers.notifying import NotificationsThread
from workers.side_threads import (
    MESSAGES_EVERY_S,
    EndingsThread,
    MessagesThread,
    NamesThread,
    SchedulesThread,
)
from workers.single_requests import SingleRequestsThread

logger = logging.getLogger(__name__)

TICK_S = 0.2
TIDY_EVERY_S = 2.0
# An hour is what they wait for; less than what makes a row stuck.
EXPIRE_EVERY_S = 10.0
WAIT_AFTER_ERROR_S = 1.0
# Advisory lock id, arbitrary but the same in every dispatcher.
LEADER_LOCK = 0x6C656164
# What the shards of a run, a request for a stop, or their age may move.
MOVING = frozenset({State.PREPARING, State.ARMED, State.RUNNING, State.STOPPING})


class _ClockWasSet(Exception):
    """While a rule asked for ages."""


class Dispatcher:
    """Ticks until `shutdown` is set; survives outages of PostgreSQL and Redis."""

    def __init__(self, shutdown: threading.Event):
        self._shutdown = shutdown
        self._is_leader = False
        self._tidied_at = -TIDY_EVERY_S
        self._expired_at = -EXPIRE_EVERY_S
        self._clock = ClockWatch()
        how = {"shutdown": shutdown, "is_active": lambda: self._is_leader}
        self._messages = MessagesThread(**how)
        self._endings = EndingsThread(**how)
        self._requests = SingleRequestsThread(**how)
        others = (NamesThread(**how), SchedulesThread(**how), NotificationsThread(**how))
        self._threads = (self._endings, self._messages, self._requests, *others)

    @property
    def is_active(self) -> bool:
        """Whether this dispatcher holds the lock."""
        return self._is_leader

    def run(self) -> None:
        use_own_connection()
        for thread in self._threads:
            thread.start()
        while not self._shutdown.is_set():
            self._shutdown.wait(self._tick_safely())
            touch_pulse()
        for thread in self._threads:
            thread.ask()
        for thread in self._threads:
            thread.join(MESSAGES_EVERY_S)
        drop_connection()
        logger.info("The dispatcher has ended")

    def _tick_safely(self) -> float:
        """One tick that never raises; returns the seconds until the next."""
        try:
            if self._lead():
                self.tick()
            return TICK_S
        except UNREACHABLE as error:
            logger.warning("PostgreSQL does not answer: %s", first_line_of(error))
            drop_connection()
            self._is_leader = False
        except Exception:  # a fault in one rule must not end all runs of all teams
            logger.exception("A tick failed; the next one tries again")
        return WAIT_AFTER_ERROR_S

    def _lead(self) -> bool:
        """Try to become the active dispatcher; returns whether it is.

        The lock lives on the connection that all other queries here use, so it cannot get lost
        unnoticed.
        """
        if not self._is_leader:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_try_advisory_lock(%s)", [LEADER_LOCK])
                self._is_leader = cursor.fetchone()[0]
            if not self._is_leader:
                self._clock = ClockWatch()  # another one leads, and notices what is set
            else:
                logger.info("This dispatcher is the active one")
                if load_control.stay_off_if_restored():
                    logger.warning("Load is off: %s", load_control.RESTORED)
        return self._is_leader

    def tick(self) -> None:
        """Apply the rules that may have something to do. Stops come first: nothing before them
        takes longer for many runs than for one."""
        questions = under_way()
        n_moved = 0
        if questions & MOVING and dispatch.move_runs():
            n_moved = 1 + dispatch.move_runs()  # what was told to stop may have ended
        if n_moved or State.FINALIZING in questions:
            self._endings.ask()
        if State.QUEUED in questions and dispatch.admit_runs():
            self._messages.ask()
        if Waiting.REQUEST in questions:
            self._requests.ask()
        if time.monotonic() - self._tidied_at > TIDY_EVERY_S:
            self._tidied_at = time.monotonic()
            self.tidy(questions)

    def tidy(self, questions: frozenset[str]) -> None:
        """Apply the rules that can wait for a few seconds, of those that `under_way` asks for."""
        # First, because other rules ask for ages.
        if step_s := self._clock.step_s():
            n_ended = dispatch.end_for_clock_step(step_s)
            self._clock.accept()
            logger.warning(
                "The database's clock was set by %+.1f s; ending %d runs", step_s, n_ended
            )
        load_control.note_dispatcher()
        for rule in self._rules_for(questions):
            # What a rule has done while the clock was set is undone: it may have seen ages that are
            # none. The next turn ends what is under way.
            with suppress(_ClockWasSet), transaction.atomic():
                # It may lock many runs, and so does whoever stops all load, under this lock.
                dispatch.lock_admission()
                if rule() and self._clock.step_s():
                    raise _ClockWasSet

    def _rules_for(self, questions: frozenset[str]) -> Iterator[Callable[[], int]]:
        if questions & MOVING:
            yield lambda: dispatch.reap_shards() + dispatch.age_runs()
        if State.QUEUED in questions and time.monotonic() - self._expired_at > EXPIRE_EVERY_S:
            self._expired_at = time.monotonic()
            yield dispatch.expire_runs
        if {Waiting.SEARCH, State.QUEUED} <= questions:
            yield searches.end_late_searches
        if Waiting.REQUEST in questions:
            yield probes.expire_probes
        if Waiting.FIRST_REQUESTS in questions:
            yield probes.settle_campaigns
            yield searches.ask_silent_targets
            yield probes.decide_held_campaigns
