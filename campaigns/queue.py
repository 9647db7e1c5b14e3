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
# Somebody waits in front of a page meanwhile: without Redis all of it takes less than a second.
# Workers, who have time, wait longer; see CELERY_BROKER_TRANSPORT_OPTIONS.
PATIENCE = {"socket_connect_timeout": 0.4, "socket_timeout": 0.4, "max_retries": 0}


def enqueue(task_name: str, args: list | None = None) -> None:
    """Send once the surrounding transaction is committed; the row is the truth by then."""
    transaction.on_commit(lambda: send(task_name, args or []), robust=True)


def send(task_name: str, args: list) -> bool:
    """Send now; whether the broker took it."""
    try:
        with current_app.connection_for_write(transport_options=PATIENCE) as connection:
            current_app.send_task(task_name, args=args, connection=connection)
    except (OperationalError, OSError) as error:
        logger.warning("The broker did not take %s: %s", task_name, error)
        return False
    return True
