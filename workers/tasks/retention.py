"""Removes the seconds of old runs, a few seconds of every minute."""

import logging
import time
from datetime import UTC, datetime

from celery import shared_task

from campaigns.queue import RETENTION
from campaigns.services.agents import database_time
from campaigns.services.retention import remove_old_seconds
from workers.tasks.turns import turn_over

logger = logging.getLogger(__name__)

PAUSE_S = 0.05


@shared_task(name=RETENTION)
def remove_seconds() -> None:
    n_removed = remove_old_seconds(
        is_over=turn_over(),
        # Not this host's clock: what one that is wrong would remove is gone.
        now=datetime.fromtimestamp(database_time(), UTC),
        pause=lambda: time.sleep(PAUSE_S),
    )
    if n_removed:
        logger.info("Retention: removed %d seconds of old runs", n_removed)
