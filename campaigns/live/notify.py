"""Notices through Redis that a run or a campaign has changed, as they are sent and received.

A notice carries ids, never data: the data are read from PostgreSQL. A lost one costs a second at
most, as does Redis that is away, so errors are logged and never raised.
"""

import json
import logging
import threading
import time
from collections.abc import Callable
from functools import cache
from math import inf

import redis
from django.conf import settings
from django.db import transaction

from campaigns.core.cache import ask_redis

CHANNEL = "benchsite:live"
TIMEOUT_S = 0.5
OLDEST_S = 0.9
_MOST_TOPICS = 1000
_RETRY_S = 2.0
# As in a notice: "run" or "campaign", and its id.
Topic = tuple[str, int]
_log = logging.getLogger(__name__)


@cache
def _client() -> redis.Redis:
    # Retries would publish twice and wait longer; protocol 2 keeps the shape of replies fixed.
    wait = {"socket_timeout": TIMEOUT_S, "socket_connect_timeout": TIMEOUT_S}
    return redis.Redis.from_url(settings.REDIS_URL, protocol=2, retry=None, **wait)


def notify_viewers(*, run_id: int | None = None, campaign_id: int | None = None) -> None:
    """Notify viewers of this change once the surrounding transaction is committed."""
    topics = {"run": run_id, "campaign": campaign_id}
    text = json.dumps({kind: pk for kind, pk in topics.items() if pk is not None})
    transaction.on_commit(lambda: _publish(text), robust=True)


def _publish(text: str) -> None:
    ask_redis(lambda: _client().publish(CHANNEL, text), 0)


class Signal:
    """The versions of topics in this process: another one with each notice, and after a second
    without. Only threading primitives are used: a gevent server patches them, in tests they are
    real threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._changed = threading.Condition()
        self._newest = 0
        self._versions: dict[Topic, tuple[int, float]] = {}  # with when they were given
        self._reader: threading.Thread | None = None

    def version(self, topic: Topic) -> int:
        version, since = self._versions.get(topic, (0, -inf))
        if self._clock() - since > OLDEST_S:
            with self._changed:
                self._give_version(topic)
                version = self._newest
        return version

    def notify(self, *topics: Topic) -> None:
        """These have changed, or all may have."""
        with self._changed:
            if not topics or len(self._versions) > _MOST_TOPICS:
                self._versions.clear()
            self._give_version(*topics)
            self._changed.notify_all()

    def _give_version(self, *topics: Topic) -> None:
        self._newest += 1
        self._versions.update(dict.fromkeys(topics, (self._newest, self._clock())))

    def wait(self, topic: Topic, version: int, timeout_s: float) -> None:
        """Return when the topic has a later version, or after `timeout_s`."""
        with self._changed:
            if self._reader is None or not self._reader.is_alive():
                self._reader = threading.Thread(target=self._read_forever, daemon=True)
                self._reader.start()
            self._changed.wait_for(lambda: self.version(topic) > version, timeout_s)

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
                if notice := notices.get_message(timeout=2.0):
                    self.notify(*json.loads(notice["data"]).items())


SIGNAL = Signal()
