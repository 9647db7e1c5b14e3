"""The doorbell for injectors: whoever hears it does one waiting shard, if there still is one."""

import os

from celery import shared_task

from campaigns.queue import INJECT
from workers.launcher import launch_one
from workers.tasks.hosts import host_name


@shared_task(name=INJECT)
def inject() -> None:
    host = host_name()
    launch_one(worker=f"{host} {os.getpid()}", host=host)
