"""The dispatcher's loop: looks at the rows several times a second and moves on what can move."""

import logging
import threading
import time
from collections.abc import Callable

from django.db import connection

from campaigns.domain.lifecycle import RunState as State
from campaigns.queries.engine import count_by_state
from campaigns.services import dispatch, endings, probes
from workers.database import AWAY, drop_connection, in_short, use_own_connection

logger = logging.getLogger(__name__)

TICK_S = 0.2
TIDY_EVERY_S = 2.0
RING_EVERY_S = 5.0
WAIT_AFTER_ERROR_S = 1.0
# Any number, the same in every dispatcher.
LEADER_LOCK = 0x6C656164


class Dispatcher:
    """Ticks until `ended` is set; neither PostgreSQL's nor Redis's absence ends it."""

    def __init__(self, ended: threading.Event):
        self._ended = ended
        self._is_leader = False
        self._tidied_at = 0.0
        self._bell = Bell(ended, rings=lambda: self._is_leader)

    @property
    def is_active(self) -> bool:
        """Whether this one holds the lock; others wait."""
        return self._is_leader

    def run(self) -> None:
        use_own_connection()
        self._bell.start()
        while not self._ended.is_set():
            self._ended.wait(self._tick_safely())
        self._bell.ring()
        self._bell.join(RING_EVERY_S)
        drop_connection()
        logger.info("The dispatcher has ended")

    def _tick_safely(self) -> float:
        """One tick, whatever happens; seconds until the next."""
        try:
            if self._lead():
                self.tick()
            return TICK_S
        except AWAY as error:
            logger.warning("PostgreSQL is away: %s", in_short(error))
            drop_connection()
            self._is_leader = False
        except Exception:  # a fault in one rule must not end all runs of all teams
            logger.exception("A tick failed; the next one tries again")
        return WAIT_AFTER_ERROR_S

    def _lead(self) -> bool:
        """Whether this is the active dispatcher. The lock is lost with its connection, which is
        the one that everything else here uses, so it cannot be lost unnoticed."""
        if not self._is_leader:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_try_advisory_lock(%s)", [LEADER_LOCK])
                self._is_leader = cursor.fetchone()[0]
            if self._is_leader:
                logger.info("This dispatcher is the active one")
        return self._is_leader

    def tick(self) -> None:
        """Do what the states that there are call for."""
        there = count_by_state()
        n_moved = 0
        if there.keys() & {State.PREPARING, State.ARMED, State.RUNNING}:
            dispatch.stop_requested_runs()
        if State.PREPARING in there:
            dispatch.arm_runs()
        if there.keys() & {State.PREPARING, State.ARMED, State.RUNNING, State.STOPPING}:
            n_moved = dispatch.advance_runs()
        n_ended = endings.finalise_runs() if n_moved or State.FINALIZING in there else 0
        if State.QUEUED in there and dispatch.admit_runs():
            self._bell.ring()
        if n_ended or time.monotonic() - self._tidied_at > TIDY_EVERY_S:
            self._tidied_at = time.monotonic()
            self._tidy()

    def _tidy(self) -> None:
        """What may wait for a few seconds."""
        rules: tuple[Callable[[], int], ...] = (
            dispatch.reap_shards,
            dispatch.age_runs,
            dispatch.expire_runs,
            dispatch.finish_campaigns,
            endings.summarise_late_runs,
            probes.expire_probes,
        )
        for rule in rules:
            rule()


class Bell(threading.Thread):
    """Rings for waiting shards at once when asked; for them and for probes again every 5 s.

    In a thread of its own: a broker that hangs must not keep the dispatcher from its ticks.
    """

    def __init__(self, ended: threading.Event, rings: Callable[[], bool]):
        super().__init__(name="bell", daemon=True)
        self._ended = ended
        self._rings = rings
        self._asked = threading.Event()

    def ring(self) -> None:
        self._asked.set()

    def run(self) -> None:
        use_own_connection()
        while not self._ended.is_set():
            self._asked.wait(RING_EVERY_S)
            self._asked.clear()
            if self._rings() and not self._ended.is_set():
                self._ring()
        drop_connection()

    def _ring(self) -> None:
        try:
            dispatch.ring_doorbells()
            probes.ring_waiting_probes()
        except AWAY:
            drop_connection()
        except Exception:  # a bell that broke would leave every later run waiting
            logger.exception("The doorbell was not rung")
