"""How a Celery worker connects to Redis again."""

import errno
import logging
import time
from typing import Any

from celery.worker.consumer import Consumer
from kombu.exceptions import OperationalError

RETRY_S = 1.0

logger = logging.getLogger(__name__)


class PatientConsumer(Consumer):
    """Tries again where Celery's own ends the worker and its launchers: when no file can be opened
    to reach Redis. The runs that they measure need no Redis."""

    class Blueprint(Consumer.Blueprint):
        def start(self, parent: Any) -> None:
            """Raises ConnectionError, after which Celery starts it again, instead of what says that
            no file could be opened."""
            try:
                super().start(parent)
            except (OSError, OperationalError) as error:
                if not _lacks_files(error):
                    raise
                logger.warning("No file can be opened to reach Redis; next in %g s.", RETRY_S)
                time.sleep(RETRY_S)
                raise ConnectionError(str(error)) from error


def _lacks_files(error: BaseException | None) -> bool:
    """Whether it is EMFILE, or the broker's library raised it because of that."""
    if error is None:
        return False
    return getattr(error, "errno", None) == errno.EMFILE or _lacks_files(error.__cause__)
