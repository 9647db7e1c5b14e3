"""The door to Celery: enqueue by task name, so that no page and no service imports the workers.

A message is only a doorbell. Losing one costs a few seconds until it is rung again, so an error
here is logged and never reaches the person who asked.
"""

import logging

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)

INJECT = "workers.inject"
PROBE = "workers.probe"
KEEP_HOUSE = "workers.keep_house"


def enqueue(task_name: str, args: list | None = None) -> None:
    """Send once the surrounding transaction is committed; the row is the truth by then."""
    transaction.on_commit(lambda: send(task_name, args or []), robust=True)


def send(task_name: str, args: list) -> bool:
    """Send now; whether the broker took it."""
    try:
        current_app.send_task(task_name, args=args)
    except (OperationalError, OSError) as error:
        logger.warning("The broker did not take %s: %s", task_name, error)
        return False
    return True
