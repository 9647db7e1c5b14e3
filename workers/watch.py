"""Keeps a shard's lease and listens for Stop, in a thread and on a connection of its own."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable

from django.conf import settings
from django.db import connection

from campaigns.services.shards import Lease, heartbeat, look
from workers.database import AWAY, drop_connection, in_short, use_own_connection

logger = logging.getLogger(__name__)

# Between two heartbeats, so that Stop is felt within a second.
LOOK_EVERY_S = 0.3


class Watch:
    """`is_refused`: the lease is gone. `stop_requested`: what the run's row says (a StopReason).

    `on_renewed` is called in the watch's thread each time that the lease was renewed.
    """

    def __init__(self, lease: Lease, on_renewed: Callable[[], None] = lambda: None):
        self._lease = lease
        self._on_renewed = on_renewed
        self._ended = threading.Event()
        # The lease counts from before the statement was sent: that is the safe side.
        self._renewed_at = time.monotonic()
        self.is_refused = False
        self.stop_requested: str | None = None
        self._thread = threading.Thread(target=self._work, name="heartbeat", daemon=True)
        self._thread.start()

    def silent_for_s(self) -> float:
        """Seconds since the lease was last renewed."""
        return time.monotonic() - self._renewed_at

    def close(self) -> None:
        self._ended.set()
        self._thread.join(2)

    def _work(self) -> None:
        use_own_connection()
        while not self._ended.wait(LOOK_EVERY_S) and not self.is_refused:
            try:
                self._beat()
            except AWAY as error:
                logger.warning("No heartbeat: %s", in_short(error))
                drop_connection()
            except Exception:  # the dead-man switch answers for whatever this is
                logger.exception("No heartbeat")
        with contextlib.suppress(*AWAY):
            connection.close()

    def _beat(self) -> None:
        asked_at = time.monotonic()
        is_due = asked_at - self._renewed_at >= settings.HEARTBEAT_S
        pulse = heartbeat(lease=self._lease) if is_due else look(lease=self._lease)
        if pulse is None:
            self.is_refused = not self._ended.is_set()
            return
        self.stop_requested = pulse.stop_requested
        if is_due:
            self._renewed_at = asked_at
            self._on_renewed()
