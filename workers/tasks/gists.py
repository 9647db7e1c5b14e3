"""Keeps what lists say of campaigns that ended before this release: 5 s of each minute at most."""

import logging
import time

from celery import shared_task

from campaigns.queue import GISTS
from campaigns.services.kept_gists import keep_missing_gists

logger = logging.getLogger(__name__)

# The queue is that of single requests, for which people wait.
AT_MOST_S = 5.0


@shared_task(name=GISTS)
def keep_gists() -> None:
    end = time.monotonic() + AT_MOST_S
    if n_kept := keep_missing_gists(is_over=lambda: time.monotonic() > end):
        logger.info("Lists of campaigns: kept what %d of them say", n_kept)
