"""Makes the summaries of earlier releases in brief: 5 s of each minute at most."""

import logging
import time

from celery import shared_task

from campaigns.queue import BRIEFS
from campaigns.services.kept_briefs import keep_missing_briefs

logger = logging.getLogger(__name__)

# The queue is that of single requests, for which people wait.
AT_MOST_S = 5.0


@shared_task(name=BRIEFS)
def keep_briefs() -> None:
    end = time.monotonic() + AT_MOST_S
    if n_kept := keep_missing_briefs(is_over=lambda: time.monotonic() > end):
        logger.info("Summaries of earlier releases: those of %d tests are in brief now", n_kept)
