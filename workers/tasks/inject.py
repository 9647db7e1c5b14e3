"""The doorbell for injectors: the worker that gets it runs one waiting shard, if any is left."""

import os

from celery import shared_task

from campaigns.queue import INJECT
from workers.launcher import launch_one
from workers.tasks.hosts import host_name


@shared_task(name=INJECT)
def inject() -> None:
    host = host_name()
    launch_one(worker=f"{host} {os.getpid()}", host=host)
