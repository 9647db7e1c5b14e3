"""Adds up what runs under way have measured, so that a process that begins to show one need not
read it from its first second: 5 s of each half minute at most.
"""

from celery import shared_task

from campaigns.queue import SO_FAR
from campaigns.services.so_far import keep_so_far
from workers.tasks.turns import turn_over


@shared_task(name=SO_FAR)
def keep_measured() -> None:
    keep_so_far(is_over=turn_over())
