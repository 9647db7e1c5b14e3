"""Hears calls to stop, which come through Redis, in a thread of its own."""

import logging
import threading
from collections.abc import Callable

import redis

from campaigns.engine.stop_calls import CHANNEL, StopCall, client

logger = logging.getLogger(__name__)

LISTEN_S = 0.5
REST_AFTER_ERROR_S = 2.0


class StopListener:
    """Calls `on_call` with each call that it hears, until it is closed; Redis may come and go."""

    def __init__(self, on_call: Callable[[StopCall], None]):
        self._on_call = on_call
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="stops", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Without waiting: at the end of a shard nobody has time for a frozen Redis."""
        self._ended.set()

    def _work(self) -> None:
        while not self._ended.is_set():
            try:
                self._listen()
            except (redis.RedisError, OSError) as error:
                logger.warning("Calls to stop are not heard, Redis does not answer: %s", error)
                self._ended.wait(REST_AFTER_ERROR_S)
            except Exception:  # PostgreSQL tells of a stop as well
                logger.exception("A call to stop was not understood")

    def _listen(self) -> None:
        with client(LISTEN_S * 4) as connection, connection.pubsub() as heard:
            heard.subscribe(CHANNEL)
            while not self._ended.is_set():
                message = heard.get_message(ignore_subscribe_messages=True, timeout=LISTEN_S)
                call = message and StopCall.read(message["data"])
                if call:
                    self._on_call(call)
