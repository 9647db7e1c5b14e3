"""Scrapes the exporters of a run's target once a second while the run is under way. Of an agent it
has perf count and record, where the campaign asks for that.

Each exporter has a thread, and one more stores what they told, so that neither an exporter nor the
database can delay the run. The host of the run's first shard does it; the injector's own process
knows nothing of it.
"""

import contextlib
import json
import logging
import queue
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import connection

from campaigns.domain.errors import InvalidFields
from campaigns.domain.metrics.exporter import (
    SHORTEST_S,
    ExporterSeconds,
    NotExposition,
    NothingKnown,
    ScrapedSecond,
)
from campaigns.domain.metrics.profiles import read_profile
from campaigns.engine.services.shards import Lease
from campaigns.machines.services.scrapes import (
    Scraped,
    ScrapeOrder,
    machine_second,
    take_profile,
    take_scraped,
)
from campaigns.models import MachineSecond
from workers.clock import EPOCH
from workers.database import UNREACHABLE, drop_connection, first_line_of, retry, use_own_connection
from workers.exporter_client import ExporterClient, ScrapeFailed

logger = logging.getLogger(__name__)

STORE_EVERY_S = 2.0
CLOSE_S = 3.0
# One answer that is missing makes a second of two; two make a gap, which is said.
FAILURES_TO_SAY = 2
MOST_SAID = 10  # of an exporter in a run
PERF, PROFILE = "Benchsite-Perf", "Benchsite-Profile"
_NS = 1_000_000_000


class RunClock(NamedTuple):
    """The seconds of a run and of the site, by CLOCK_MONOTONIC: sending starts at `start_ns`, when
    the site's clock shows `t0`."""

    start_ns: int
    t0: datetime
    warm_up_s: float

    def second_of(self, at_ns: int) -> int | None:
        """The run's second; None before it sends."""
        if at_ns < self.start_ns:
            return None
        return (at_ns - self.start_ns - round(self.warm_up_s * _NS)) // _NS

    def time_of(self, at_ns: int) -> float:
        """By the site's clock, in seconds since 1970."""
        return self.t0.timestamp() + (at_ns - self.start_ns) / _NS

    def to_next_second_s(self, now_ns: int) -> float:
        """Until the site's clock shows a whole second, but not at once."""
        t0_ns = (self.t0 - EPOCH) // timedelta(microseconds=1) * 1000
        left_s = 1 - (now_ns - self.start_ns + t0_ns) % _NS / _NS
        return left_s if left_s > SHORTEST_S else left_s + 1


class _Scrape(threading.Thread):
    """Asks one exporter at each whole second of the site's clock until `ended`, and then once more:
    the last part of a second counts as well."""

    def __init__(
        self,
        order: ScrapeOrder,
        run_id: int,
        clock: RunClock,
        ended: threading.Event,
        tell: Callable[[Scraped], None],
    ):
        super().__init__(name=f"scrape {order.name}", daemon=True)
        self._order, self._run_id, self._clock = order, run_id, clock
        self._ended, self._tell = ended, tell
        self._seconds = ExporterSeconds(order.name if order.is_server else "")
        self._profile = {PROFILE: f"{order.profile} run-{run_id}-{secrets.token_hex(8)}"}
        self._n_failed, self._n_said, self._said = 0, 0, ""

    def run(self) -> None:
        try:
            with contextlib.closing(ExporterClient(self._order)) as client:
                self._take(client)
                while not self._ended.wait(self._clock.to_next_second_s(time.monotonic_ns())):
                    self._take(client)
                self._take(client, is_last=True)
                if self._order.profile and not self._order.is_server:
                    self._store_profile(client)
        except Exception:  # a fault of ours: the run goes on without this exporter
            logger.exception("The exporter %s is not scraped any more", self._order.name)

    def _take(self, client: ExporterClient, is_last: bool = False) -> None:
        try:
            answer = client.ask(self._headers())
            second = self._seconds.take(*answer)
        except (ScrapeFailed, NotExposition, NothingKnown) as fault:
            self._n_failed += 1
            if is_last or self._n_failed >= FAILURES_TO_SAY:
                self._say(str(fault))
            return
        self._n_failed = 0
        if self._seconds.trouble:
            self._say(self._seconds.trouble)
        elif second:
            self._said = ""
            self._tell(Scraped(self._order, self._row(second), tuple(self._seconds.offers)))

    def _headers(self) -> dict[str, str]:
        """What an agent is to do. A profile is of the measurement, without the warm-up."""
        headers = {PERF: str(self._order.perf)} if self._order.perf else {}
        second = self._clock.second_of(time.monotonic_ns())
        is_measured = second is not None and second >= 0
        return headers | self._profile if self._order.profile and is_measured else headers

    def _store_profile(self, client: ExporterClient) -> None:
        """Reading it may take longer than the run is waited for."""
        ended_s = self._clock.time_of(time.monotonic_ns())
        use_own_connection()
        try:
            profile = read_profile(json.loads(client.profile(self._profile)), ended_s)
            retry(
                lambda: take_profile(run_id=self._run_id, source=self._order.name, profile=profile),
                for_s=60,
            )
        except (ScrapeFailed, ValueError, InvalidFields) as fault:  # it is no agent, or went away
            logger.info("%s has no profile: %s", self._order.name, fault)
        finally:
            with contextlib.suppress(*UNREACHABLE):
                connection.close()

    def _row(self, scraped: ScrapedSecond) -> MachineSecond | None:
        """None before the run sends."""
        second = self._clock.second_of(scraped.middle_ns)
        if second is None:
            return None
        return machine_second(
            run=self._run_id,
            source=self._order.name,
            second=second,
            lasted_s=scraped.lasted_s,
            did=scraped.did,
        )

    def _say(self, problem: str) -> None:
        """Once, until it tells something or fails in another way."""
        if problem != self._said and self._n_said < MOST_SAID:
            self._said, self._n_said = problem, self._n_said + 1
            self._tell(Scraped(self._order, problem=problem))


class Scraping:
    """The exporters of a run, from shortly before its start to its end. No method raises."""

    def __init__(self, lease: Lease, orders: Sequence[ScrapeOrder]):
        self._lease, self._orders = lease, orders
        self._told: queue.SimpleQueue[Scraped] = queue.SimpleQueue()
        self._ended, self._closed = threading.Event(), threading.Event()
        self._scrapes: list[_Scrape] = []
        self._storing: threading.Thread | None = None

    def begin(self, start_ns: int, t0: datetime) -> None:
        """Sending starts at `start_ns`, CLOCK_MONOTONIC, which is `t0` by the site's clock."""
        if not self._orders:
            return
        clock = RunClock(start_ns, t0, self._lease.order["plan"].get("warm_up_s", 0))
        self._scrapes = [
            _Scrape(order, self._lease.run_id, clock, self._ended, self._told.put)
            for order in self._orders
        ]
        self._storing = threading.Thread(target=self._store_all, name="scraped", daemon=True)
        for thread in (*self._scrapes, self._storing):
            thread.start()

    def end(self) -> None:
        """The load has ended. Does not wait."""
        self._ended.set()

    def close(self) -> None:
        """Wait a moment for the last seconds to be stored."""
        self._ended.set()
        if self._storing:
            self._storing.join(CLOSE_S)
        self._closed.set()

    def _store_all(self) -> None:
        use_own_connection()
        try:
            waiting: list[Scraped] = []
            while not self._ended.wait(STORE_EVERY_S):
                waiting = self._store_some([*waiting, *self._new()])
            for scrape in self._scrapes:
                scrape.join(CLOSE_S)
            waiting += self._new()
            retry(lambda: self._store(waiting), for_s=3600, give_up=self._closed)
        except UNREACHABLE as error:
            logger.warning("What exporters told is not stored: %s", first_line_of(error))
        except Exception:  # a fault of ours: the run goes on without them
            logger.exception("What exporters told is not stored any more")
        finally:
            with contextlib.suppress(*UNREACHABLE):
                connection.close()

    def _new(self) -> list[Scraped]:
        return [self._told.get() for _ in range(self._told.qsize())]

    def _store_some(self, told: list[Scraped]) -> list[Scraped]:
        """What is left, because PostgreSQL does not answer."""
        try:
            self._store(told)
        except UNREACHABLE:
            drop_connection()
            return told
        return []

    def _store(self, told: list[Scraped]) -> None:
        if told:
            take_scraped(run_id=self._lease.run_id, scraped=told)
