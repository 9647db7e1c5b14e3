"""Keeps what lists say of campaigns that ended before this release: 5 s of each minute at most."""

import logging

from celery import shared_task

from campaigns.queue import GISTS
from campaigns.services.kept_gists import keep_missing_gists
from workers.tasks.turns import turn_over

logger = logging.getLogger(__name__)


@shared_task(name=GISTS)
def keep_gists() -> None:
    if n_kept := keep_missing_gists(is_over=turn_over()):
        logger.info("Lists of campaigns: kept what %d of them say", n_kept)
