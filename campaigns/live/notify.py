"""Notices tell the viewers of a page, through Redis, that something changed.

A notice carries ids, never data: the data are read from PostgreSQL. A lost one costs at most a
second, so errors are logged, never raised, and Redis is then not used for a while: a run must not
wait for a frozen Redis every second.
"""

import json
import logging
import time
from functools import cache

import redis
from django.conf import settings
from django.db import transaction

logger = logging.getLogger(__name__)

CHANNEL = "benchsite:live"
TIMEOUT_S = 0.5
REST_AFTER_ERROR_S = 3.0
_rest_until = 0.0


@cache
def _client() -> redis.Redis:
    # Retries would publish twice and wait longer; protocol 2 keeps the shape of replies fixed.
    return redis.Redis.from_url(
        settings.REDIS_URL,
        protocol=2,
        retry=None,
        socket_timeout=TIMEOUT_S,
        socket_connect_timeout=TIMEOUT_S,
    )


def notify_viewers(*, run_id: int | None = None, campaign_id: int | None = None) -> None:
    """Notify viewers of this change once the surrounding transaction is committed."""
    message = {"run": run_id, "campaign": campaign_id}
    text = json.dumps({name: pk for name, pk in message.items() if pk is not None})
    transaction.on_commit(lambda: _publish(text), robust=True)


def _publish(text: str) -> None:
    global _rest_until
    if time.monotonic() < _rest_until:
        return
    try:
        _client().publish(CHANNEL, text)
    except (redis.RedisError, OSError) as error:
        _rest_until = time.monotonic() + REST_AFTER_ERROR_S
        logger.warning(
            "Redis does not answer, no live pokes for %g s: %s", REST_AFTER_ERROR_S, error
        )
