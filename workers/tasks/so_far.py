"""Adds up what runs under way have measured, so that a process that begins to show one need not
read it from its first second: 5 s of each half minute at most.
"""

import time

from celery import shared_task

from campaigns.queue import SO_FAR
from campaigns.services.so_far import keep_so_far

# The queue is that of single requests, for which people wait.
AT_MOST_S = 5.0


@shared_task(name=SO_FAR)
def keep_measured() -> None:
    end = time.monotonic() + AT_MOST_S
    keep_so_far(is_over=lambda: time.monotonic() > end)
