"""Renews a shard's lease and looks for stop requests, with its own thread and connection. Calls to
stop, which come through Redis, have a thread of their own."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable

import redis
from django.conf import settings
from django.db import connection

from campaigns.engine.services.endings import CHANNEL, StopCall, client
from campaigns.engine.services.shards import Lease, heartbeat, look
from workers.database import (
    UNREACHABLE,
    drop_connection,
    file_limit,
    first_line_of,
    use_own_connection,
)

logger = logging.getLogger(__name__)

LISTEN_S = 0.5
REST_AFTER_ERROR_S = 2.0


class StopListener:
    """Calls `on_call` with each call that it hears, until it is closed; Redis may come and go."""

    def __init__(self, on_call: Callable[[StopCall], None]):
        self._on_call = on_call
        self._shutdown = threading.Event()
        self._thread = threading.Thread(target=self._work, name="stops", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Without waiting: at the end of a shard nobody has time for a frozen Redis."""
        self._shutdown.set()

    def _work(self) -> None:
        while not self._shutdown.is_set():
            try:
                self._listen()
            except (redis.RedisError, OSError) as error:
                logger.warning("Calls to stop are not heard, Redis does not answer: %s", error)
                self._shutdown.wait(REST_AFTER_ERROR_S)
            except Exception:  # PostgreSQL tells of a stop as well
                logger.exception("A call to stop was not understood")

    def _listen(self) -> None:
        with client(LISTEN_S * 4) as connection, connection.pubsub() as subscription:
            subscription.subscribe(CHANNEL)
            while not self._shutdown.is_set():
                message = subscription.get_message(ignore_subscribe_messages=True, timeout=LISTEN_S)
                call = message and StopCall.read(message["data"])
                if call:
                    self._on_call(call)


# More often than heartbeats, so that Stop takes effect within a second.
LOOK_EVERY_S = 0.3


class Watch:
    """`is_refused`: the lease is gone. `stop_requested`: the StopReason in the run's row, or of a
    call through Redis, if any. `is_settled`: all that several shards saw together. `file_limit`:
    that the last look failed for lack of files, in words.

    `on_renewed` is called in the watch's thread each time the lease was renewed.
    """

    def __init__(self, lease: Lease, on_renewed: Callable[[], None] = lambda: None):
        self._lease = lease
        self._on_renewed = on_renewed
        self._shutdown = threading.Event()
        # Counted from before the statement was sent, to be on the safe side.
        self._renewed_at = time.monotonic()
        self._worst = 0.0, ""
        self.is_refused = False
        self.stop_requested: str | None = None
        self.is_settled = False
        self.file_limit = ""
        # Whether the injector has ended; set by the launcher, told with each heartbeat.
        self.has_ended = False
        self._thread = threading.Thread(target=self._work, name="heartbeat", daemon=True)
        self._thread.start()
        self._ear = StopListener(self._hear)

    def silent_for_s(self) -> float:
        """Seconds since the lease was last renewed."""
        return time.monotonic() - self._renewed_at

    def worst_silence(self) -> tuple[float, str]:
        """The longest time without a renewal, the present one included, s; and its file limit."""
        return max(self._worst, (self.silent_for_s(), self.file_limit))

    @property
    def is_fresh(self) -> bool:
        """Whether the lease certainly holds, by this host's own clock."""
        return self.silent_for_s() < settings.DEAD_MAN_S

    def _hear(self, call: StopCall) -> None:
        if call.is_for(self._lease.run_id, self._lease.campaign_id):
            self.stop_requested = self.stop_requested or call.reason

    def close(self) -> None:
        self._ear.close()
        self._shutdown.set()
        self._thread.join(2)

    def _work(self) -> None:
        use_own_connection()
        while not self._shutdown.wait(LOOK_EVERY_S) and not self.is_refused:
            try:
                self._beat()
                self.file_limit = ""
            except UNREACHABLE as error:
                self.file_limit = file_limit()
                logger.warning("Heartbeat failed: %s", first_line_of(error))
                drop_connection()
            except Exception:  # whatever it is, the dead man's switch will act
                logger.exception("Heartbeat failed")
        with contextlib.suppress(*UNREACHABLE):
            connection.close()

    def _beat(self) -> None:
        asked_at = time.monotonic()
        is_due = asked_at - self._renewed_at >= settings.HEARTBEAT_S
        if is_due:
            pulse = heartbeat(lease=self._lease, has_ended=self.has_ended, is_fresh=self.is_fresh)
        else:
            pulse = look(lease=self._lease)
        if pulse is None:
            self.is_refused = not self._shutdown.is_set()
            return
        self.stop_requested = pulse.stop_requested or self.stop_requested
        self.is_settled = pulse.is_settled
        if is_due:
            self._worst = self.worst_silence()
            self._renewed_at = asked_at
            self._on_renewed()
