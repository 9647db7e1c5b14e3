"""How a Celery worker connects to Redis again."""

import errno
import logging
import time
from typing import Any

from celery.worker.consumer import Consumer
from kombu.exceptions import OperationalError
from redis.exceptions import ResponseError

RETRY_S = 1.0

logger = logging.getLogger(__name__)


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
                time.sleep(RETRY_S)
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
