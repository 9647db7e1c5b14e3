"""How a Celery worker connects to Redis again."""

import errno
import logging
import time
from typing import Any

from celery.worker.consumer import Consumer

RETRY_S = 1.0

logger = logging.getLogger(__name__)


class PatientConsumer(Consumer):
    """Tries again where Celery's own ends the worker and its launchers: when no file can be opened
    to reach Redis. The runs that they measure need no Redis."""

    class Blueprint(Consumer.Blueprint):
        def start(self, parent: Any) -> None:
            """Raises ConnectionError, after which Celery starts it again, instead of EMFILE."""
            try:
                super().start(parent)
            except OSError as error:
                if error.errno != errno.EMFILE:
                    raise
                logger.warning("No file can be opened to reach Redis; next in %g s.", RETRY_S)
                time.sleep(RETRY_S)
                raise ConnectionError(str(error)) from error
