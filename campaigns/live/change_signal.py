"""The signal that something has changed, in each process; and values read once for all readers.

Redis only signals that something changed; the data come from PostgreSQL. So without Redis the
streams still work, by polling once a second. Only threading primitives are used here: a gevent
server patches them, in tests they are real threads.
"""

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

import redis
from django.conf import settings

from campaigns.live.notify import CHANNEL
from campaigns.live.waiting import held

_OLDEST_S = 0.9
_RETRY_S = 2.0
_T = TypeVar("_T")
_R = TypeVar("_R")
_log = logging.getLogger(__name__)


class ChangeSignal:
    """Rings for every notice that this process receives; streams sleep until the next ring."""

    def __init__(self):
        self.count = 0
        self._rung = threading.Condition()
        self._reader: threading.Thread | None = None

    def wait(self, heard: int, timeout_s: float) -> None:
        """Return when it has rung more than `heard` times, or after `timeout_s`."""
        self._listen()
        with self._rung:
            self._rung.wait_for(lambda: self.count != heard, timeout_s)

    def notify(self) -> None:
        with self._rung:
            self.count += 1
            self._rung.notify_all()

    def _listen(self) -> None:
        with self._rung:
            if self._reader is None or not self._reader.is_alive():
                self._reader = threading.Thread(target=self._read_forever, daemon=True)
                self._reader.start()

    def _read_forever(self) -> None:
        while True:
            try:
                self._read()
            except (redis.RedisError, OSError) as error:
                _log.info("Redis sends no notices (%s); streams poll once a second.", error)
            time.sleep(_RETRY_S)

    def _read(self) -> None:
        client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=5, retry=None)
        with client, client.pubsub(ignore_subscribe_messages=True) as notices:
            notices.subscribe(CHANNEL)
            while True:
                if notices.get_message(timeout=2.0):
                    self.notify()


class Shared(Generic[_T]):
    """A value shared by all viewers; re-read after a ring or when it is too old."""

    def __init__(self, signal: ChangeSignal, clock: Callable[[], float] = time.monotonic):
        self._signal, self._clock = signal, clock
        self._lock = threading.Lock()
        self._heard = -1
        self._read_at = 0.0
        self._value: _T | None = None

    def get(self, read: Callable[[_T | None], _T]) -> _T:
        """The value; `read(previous)` is called at most once per ring."""
        return self.use(read, lambda value: value)

    def use(self, read: Callable[[_T | None], _T], make: Callable[[_T], _R]) -> _R:
        """`make(value)`, called while nobody else can re-read the value."""
        with held(self._lock):
            heard, now = self._signal.count, self._clock()
            if heard != self._heard or now - self._read_at > _OLDEST_S:
                # If reading fails midway, the partly updated value is discarded.
                known, self._value, self._heard = self._value, None, -1
                self._value = read(known)
                self._heard, self._read_at = heard, now
            return make(self._value)
