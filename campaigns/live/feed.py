"""One reader per process behind all streams: what a second holds is decoded once, not per viewer.

Redis only says that something is new; what is new is read from PostgreSQL. So without Redis the
streams still move, by asking once a second. Only threading primitives are used here: under a gevent
server they are patched, under tests they are real threads.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import redis
from django.conf import settings
from django.db import connection
from django.db.models import Max

from campaigns.live.events import BEFORE_ALL, Look, RunLook
from campaigns.models import Campaign, Run, RunEvent
from campaigns.queries import series

CHANNEL = "benchsite:live"
_OLDEST_S = 0.9
_MOST_KEPT = 200
_RETRY_S = 2.0
_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class Bell:
    """Rings for every poke that this process hears; streams sleep until it has rung again."""

    def __init__(self):
        self.count = 0
        self._rung = threading.Condition()
        self._reader: threading.Thread | None = None

    def wait(self, heard: int, timeout_s: float) -> None:
        """Return when the bell has rung more than `heard` times, at the latest after the time."""
        self._listen()
        with self._rung:
            self._rung.wait_for(lambda: self.count != heard, timeout_s)

    def ring(self) -> None:
        with self._rung:
            self.count += 1
            self._rung.notify_all()

    def _listen(self) -> None:
        with self._rung:
            if self._reader is None:
                self._reader = threading.Thread(target=self._read_forever, daemon=True)
                self._reader.start()

    def _read_forever(self) -> None:
        while True:
            try:
                self._read()
            except (redis.RedisError, OSError) as error:
                _log.info("No pokes from Redis (%s); streams ask once a second.", error)
            time.sleep(_RETRY_S)

    def _read(self) -> None:
        client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=5, retry=None)
        with client, client.pubsub(ignore_subscribe_messages=True) as pokes:
            pokes.subscribe(CHANNEL)
            while True:
                if pokes.get_message(timeout=2.0):
                    self.ring()


class Shared(Generic[_T]):
    """A value that all viewers share; it is read again when the bell rang or it grew old."""

    def __init__(self, bell: Bell, clock: Callable[[], float] = time.monotonic):
        self._bell, self._clock = bell, clock
        self._lock = threading.Lock()
        self._heard = -1
        self._read_at = 0.0
        self._value: _T | None = None

    def get(self, read: Callable[[_T | None], _T]) -> _T:
        """The value; `read(previous)` is called at most once for each ring."""
        with self._lock:
            heard, now = self._bell.count, self._clock()
            if heard != self._heard or now - self._read_at > _OLDEST_S:
                self._value = read(self._value)
                self._heard, self._read_at = heard, now
            return self._value


class Feed:
    """The shared values by what they are about; the least used fall out."""

    def __init__(self):
        self.bell = Bell()
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple, Shared] = OrderedDict()

    def campaign(self, campaign_id: int) -> Look:
        return self._shared("campaign", campaign_id).get(lambda _: _look_at_campaign(campaign_id))

    def run(self, run_id: int) -> Look:
        return self._shared("run", run_id).get(lambda _: _look_at_run(run_id))

    def points(self, run_id: int, after: int = BEFORE_ALL) -> list[dict[str, Any]]:
        """The run's points later than second `after`, oldest first."""
        points = self._shared("points", run_id).get(lambda known: _more_points(run_id, known))
        return [point for point in points if point["second"] > after]

    def _shared(self, *key) -> Shared:
        with self._lock:
            shared = self._kept.setdefault(key, Shared(self.bell))
            self._kept.move_to_end(key)
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
            return shared


FEED = Feed()


def release_connection() -> None:
    """A stream sleeps without a connection; inside a transaction (a test) there is none to give."""
    if not connection.in_atomic_block:
        connection.close()


def _more_points(run_id: int, known: list[dict] | None) -> list[dict]:
    """The known points and those since; a finished run is read anew, with its late seconds."""
    run = Run.objects.get(pk=run_id)
    if run.is_done or not known:
        return series.run_points(run)
    return known + series.run_points(run, after=known[-1]["second"])


def _look_at_campaign(campaign_id: int) -> Look:
    campaign = Campaign.objects.get(pk=campaign_id)
    runs = Run.objects.filter(campaign=campaign).order_by("position").values_list("pk", "state")
    return Look(
        event=_newest_event(run__campaign=campaign_id),
        state=campaign.state,
        is_over=campaign.state == "done",
        runs=tuple(RunLook(*run) for run in runs),
    )


def _look_at_run(run_id: int) -> Look:
    run = Run.objects.get(pk=run_id)
    return Look(
        event=_newest_event(run=run_id),
        state=run.state,
        is_over=run.is_done,
        runs=(RunLook(run.pk, run.state),),
    )


def _newest_event(**of) -> int:
    return RunEvent.objects.filter(**of).aggregate(newest=Max("pk"))["newest"] or 0
