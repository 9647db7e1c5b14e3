"""What beat enqueues and when: the schedule in the database, also while the database is away."""

import logging
import time
from typing import Any

from django.db import connection
from django.utils import timezone
from django_celery_beat.schedulers import DatabaseScheduler

from workers.database import UNREACHABLE, drop_connection, first_line_of, use_own_connection

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0


class PatientScheduler(DatabaseScheduler):
    """Begins when the database answers, and when it goes away goes on by what it knows.

    The library's own ends in both cases, with a traceback each time that it is started again.
    """

    def setup_schedule(self) -> None:
        _await_database()
        super().setup_schedule()

    @property
    def schedule(self) -> dict[str, Any]:
        try:
            return super().schedule
        except UNREACHABLE as error:
            logger.warning("The schedule was not read anew: %s", first_line_of(error))
            drop_connection()
            return self._schedule

    def tick(self, *args: Any, **kwargs: Any) -> float:
        self._follow_a_clock_that_was_set_back()
        return super().tick(*args, **kwargs)

    def _follow_a_clock_that_was_set_back(self) -> None:
        """Else nothing would be due until the clock is where it was."""
        now = timezone.now()
        ahead = [each for each in self.schedule.values() if each.last_run_at > now]
        for entry in ahead:
            entry.last_run_at = entry.model.last_run_at = now
            self._dirty.add(entry.name)  # stored before the schedule is read anew
        if ahead:
            self._heap = None  # made anew by the next tick


def _await_database() -> None:
    use_own_connection()
    is_said = False
    while True:
        try:
            connection.ensure_connection()
            return
        except UNREACHABLE as error:
            if not is_said:
                logger.warning("Beat waits for PostgreSQL: %s", first_line_of(error))
            is_said = True
            drop_connection()
            time.sleep(LOOK_EVERY_S)
