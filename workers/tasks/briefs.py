"""Makes the summaries of earlier releases in brief: 5 s of each minute at most."""

import logging

from celery import shared_task

from campaigns.queue import BRIEFS
from campaigns.services.kept_briefs import keep_missing_briefs
from workers.tasks.turns import turn_over

logger = logging.getLogger(__name__)


@shared_task(name=BRIEFS)
def keep_briefs() -> None:
    if n_kept := keep_missing_briefs(is_over=turn_over()):
        logger.info("Summaries of earlier releases: those of %d tests are in brief now", n_kept)
