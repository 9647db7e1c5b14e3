"""What our Celery workers do that Celery's own do not: show that they go on, and wait for Redis."""

import errno
import logging
import threading
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any

from celery import bootsteps
from celery.worker.consumer import Consumer
from django.conf import settings
from kombu.exceptions import OperationalError
from redis.exceptions import ResponseError

logger = logging.getLogger(__name__)

RETRY_S = 1.0
PULSE_EVERY_S = 2.0


def touch_pulse() -> None:
    """Show the supervisor that this process goes on. A full disk is no reason to end."""
    if settings.PULSE_FILE:
        with suppress(OSError):
            Path(settings.PULSE_FILE).touch()


class WorkerPulse(bootsteps.StartStopStep):
    """Of a Celery worker: its loop touches the file. Without Redis there is no loop, only the next
    attempt to connect, so that a thread does it then; what hangs otherwise is not excused."""

    requires = ("celery.worker.components:Timer",)

    def __init__(self, worker: Any, **options: Any):
        super().__init__(worker, **options)
        self._shutdown = threading.Event()

    def start(self, worker: Any) -> None:
        worker.timer.call_repeatedly(PULSE_EVERY_S, touch_pulse)
        threading.Thread(target=self._without_redis, args=(worker,), daemon=True).start()

    def stop(self, worker: Any) -> None:
        self._shutdown.set()

    def _without_redis(self, worker: Any) -> None:
        while not self._shutdown.wait(PULSE_EVERY_S):
            if getattr(worker.consumer, "connection", None) is None:
                touch_pulse()


class PatientConsumer(Consumer):
    """Tries again where Celery's own ends the worker and its launchers: when no file can be opened
    to reach Redis, or Redis answers that it takes nothing, as with a full disk. The runs that they
    measure need no Redis."""

    class Blueprint(Consumer.Blueprint):
        def start(self, parent: Any) -> None:
            """Raises ConnectionError, after which Celery starts it again, instead of such an
            error."""
            try:
                super().start(parent)
            except (OSError, OperationalError, ResponseError) as error:
                why = _why_to_wait(error)
                if not why:
                    raise
                logger.warning("%s; next in %g s.", why, RETRY_S)
                sleep(RETRY_S)
                raise ConnectionError(str(error)) from error


def _why_to_wait(error: BaseException | None) -> str:
    """In words, also where the broker's library raised it because of that; "" for other errors."""
    if error is None:
        return ""
    if getattr(error, "errno", None) == errno.EMFILE:
        return "No file can be opened to reach Redis"
    if isinstance(error, ResponseError):
        return f"Redis refuses: {str(error).rstrip('.')}"
    return _why_to_wait(error.__cause__)
