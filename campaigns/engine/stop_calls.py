"""Calls launchers to stop through Redis, before PostgreSQL has stored the request.

PostgreSQL decides: the request is stored as well, and a launcher that did not hear the call reads
it there. The call only makes a stop quick where every statement takes a second.
"""

import json
import logging
from dataclasses import asdict, dataclass
from typing import Self

import redis
from django.conf import settings

logger = logging.getLogger(__name__)

CHANNEL = "benchsite:stops"
TIMEOUT_S = 0.5


@dataclass(frozen=True, slots=True)
class StopCall:
    """Of one run, of a campaign, or of all load, where neither is named."""

    reason: str  # a StopReason
    run: int | None = None
    campaign: int | None = None

    def is_for(self, run: int, campaign: int) -> bool:
        if self.run is None and self.campaign is None:
            return True
        return self.run == run or self.campaign == campaign

    @classmethod
    def read(cls, text: bytes) -> Self | None:
        """None for what is no call."""
        try:
            return cls(**json.loads(text))
        except (TypeError, ValueError):
            return None


def call(*stops: StopCall) -> None:
    """Whoever calls has checked that it may. Without Redis it returns within half a second, however
    many there are."""
    try:
        with client(TIMEOUT_S) as connection:
            for stop in stops:
                connection.publish(CHANNEL, json.dumps(asdict(stop)))
    except (redis.RedisError, OSError) as error:
        logger.warning("Redis does not answer, the stop goes through PostgreSQL only: %s", error)


def client(timeout_s: float) -> redis.Redis:
    return redis.Redis.from_url(
        settings.REDIS_URL,
        protocol=2,
        retry=None,
        socket_timeout=timeout_s,
        socket_connect_timeout=TIMEOUT_S,
    )
