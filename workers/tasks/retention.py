"""Removes the seconds of old runs, a few seconds of every minute."""

import logging
import time
from datetime import UTC, datetime

from celery import shared_task

from campaigns.queue import RETENTION
from campaigns.services.agents import database_time
from campaigns.services.retention import remove_old_seconds

logger = logging.getLogger(__name__)

# The queue is that of single requests, for which people wait.
AT_MOST_S = 5.0
PAUSE_S = 0.05


@shared_task(name=RETENTION)
def remove_seconds() -> None:
    end = time.monotonic() + AT_MOST_S
    n_removed = remove_old_seconds(
        # Not this host's clock: what one that is wrong would remove is gone.
        now=datetime.fromtimestamp(database_time(), UTC),
        is_over=lambda: time.monotonic() > end,
        pause=lambda: time.sleep(PAUSE_S),
    )
    if n_removed:
        logger.info("Retention: removed %d seconds of old runs", n_removed)
