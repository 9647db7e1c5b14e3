"""Launches waiting shards: when the doorbell rings, and those that wait although it was rung,
because Redis is away or its messages come to nobody.

One child of each injector worker looks for the latter. What it launches has a thread and a
connection of its own; a worker that is asked to end waits for it, as for every launch.
"""

import logging
import os
import threading

from billiard import current_process
from billiard.common import terminate_handler_fired
from celery import current_app, shared_task
from celery.signals import worker_process_init, worker_process_shutdown

from campaigns.core.queue import INJECT
from campaigns.engine.queries.engine import unheard_shards
from workers.database import UNREACHABLE, drop_connection, first_line_of, use_own_connection
from workers.launcher import launch_one
from workers.tasks.hosts import host_name

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0
# The dispatcher rings every 5 s, so twice in vain.
UNHEARD_AFTER_S = 12.0


@shared_task(name=INJECT)
def inject() -> None:
    """The worker that gets the doorbell runs one waiting shard, if any is left."""
    _launch_one(host_name())


@worker_process_init.connect
def _begin(**_) -> None:
    if "inject" in current_app.amqp.queues.consume_from and current_process().index == 0:
        Lookout().start()


class Lookout(threading.Thread):
    """Looks until its child of the worker is to end, and then waits for what it has launched: a
    child ends with all its threads."""

    def __init__(self):
        super().__init__(name="lookout", daemon=True)
        self._ended = threading.Event()
        worker_process_shutdown.connect(self.end, weak=False)

    def end(self, **_) -> None:
        """A child that was told to drop what it does waits for nothing."""
        self._ended.set()
        if not terminate_handler_fired():
            self.join()

    def run(self) -> None:
        use_own_connection()
        launches: list[threading.Thread] = []
        while not self._ended.wait(LOOK_EVERY_S):
            launches = [each for each in launches if each.is_alive()]
            try:
                launches += launch_unheard()
            except UNREACHABLE:  # as the announcing thread says already
                pass
            except Exception:  # the next look may go better
                logger.exception("Looking for waiting shards failed")
            drop_connection()
        for each in launches:
            each.join()


def launch_unheard() -> list[threading.Thread]:
    """Begin a launch of each shard that has waited for too long and has a free slot here; their
    threads. Raises PostgreSQL's errors."""
    host = host_name()
    n_unheard = unheard_shards(host, UNHEARD_AFTER_S)
    if n_unheard:
        logger.warning("%d shards wait, and no doorbell has come through Redis", n_unheard)
    launches = [
        threading.Thread(target=_launch, args=[host], name="unheard", daemon=True)
        for _ in range(n_unheard)
    ]
    for each in launches:
        each.start()
    return launches


def _launch(host: str) -> None:
    use_own_connection()
    try:
        _launch_one(host)
    except UNREACHABLE as error:
        logger.warning("A waiting shard was not claimed: %s", first_line_of(error))
    finally:
        drop_connection()


def _launch_one(host: str) -> None:
    launch_one(worker=f"{host} {os.getpid()}", host=host)
