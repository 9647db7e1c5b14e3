"""Shows the supervisor that a process goes on: a file that each turn of its work touches."""

import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from celery import bootsteps
from django.conf import settings

EVERY_S = 2.0


def touch_pulse() -> None:
    """A full disk is no reason to end."""
    if settings.PULSE_FILE:
        with suppress(OSError):
            Path(settings.PULSE_FILE).touch()


class WorkerPulse(bootsteps.StartStopStep):
    """Of a Celery worker: its loop touches the file. Without Redis there is no loop, only the next
    attempt to connect, so that a thread does it then; what hangs otherwise is not excused."""

    requires = ("celery.worker.components:Timer",)

    def __init__(self, worker: Any, **options: Any):
        super().__init__(worker, **options)
        self._ended = threading.Event()

    def start(self, worker: Any) -> None:
        worker.timer.call_repeatedly(EVERY_S, touch_pulse)
        threading.Thread(target=self._without_redis, args=(worker,), daemon=True).start()

    def stop(self, worker: Any) -> None:
        self._ended.set()

    def _without_redis(self, worker: Any) -> None:
        while not self._ended.wait(EVERY_S):
            if not _is_connected(worker):
                touch_pulse()


def _is_connected(worker: Any) -> bool:
    return getattr(worker.consumer, "connection", None) is not None
