"""Enqueues Celery tasks by name, so that no page and no service imports the workers.

A message is only a doorbell. A lost one is rung again a few seconds later, so errors here are
logged and never reach the user.
"""

import logging

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)

INJECT = "workers.inject"
HOUSEKEEPING = "workers.housekeeping"
RETENTION = "workers.retention"
RESULTS = "workers.results"
SCHEDULES = "workers.schedules"
SO_FAR = "workers.so_far"
OWNERSHIP = "workers.ownership"
EXPORTER = "workers.exporter"
# A page is waiting: without Redis this must fail in under a second. For workers, which have more
# time, see CELERY_BROKER_TRANSPORT_OPTIONS.
PATIENCE = {"socket_connect_timeout": 0.4, "socket_timeout": 0.4, "max_retries": 0}


def enqueue(task_name: str, args: list | None = None) -> None:
    """Send once the surrounding transaction is committed and its rows are visible."""
    transaction.on_commit(lambda: send(task_name, args), robust=True)


def send(task_name: str, args: list | None = None, expires_s: float | None = None) -> bool:
    """Send now; returns whether the broker accepted it. After `expires_s` no worker takes it."""
    try:
        with current_app.connection_for_write(transport_options=PATIENCE) as connection:
            current_app.send_task(task_name, args=args, expires=expires_s, connection=connection)
    except (OperationalError, OSError) as error:
        logger.warning("The broker did not take %s: %s", task_name, error)
        return False
    return True
