"""Runs one shard from claim to end: starts the injector, renews the lease, relays its seconds.

The injector's process sends the load. The launcher holds the right to send: as soon as the lease is
in doubt it stops the injector, whatever else is going on, also after its own process was frozen.
"""

import logging
import os
import threading
import time
from collections import deque
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Any

from django.conf import settings
from django.db import connection

from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import StopReason, as_told_to_injectors
from campaigns.domain.metrics.injector_end import InjectorEnd, ends_of
from campaigns.domain.metrics.kept_requests import requests_fault
from campaigns.engine.services import rounds, shards
from campaigns.engine.services.shards import Lease
from campaigns.machines.services import ScrapeOrder, exporters_to_scrape
from campaigns.projects.services import with_secrets
from workers.database import (
    LEAST_STEP_NS,
    UNREACHABLE,
    FileReserve,
    drop_connection,
    first_line_of,
    retry,
    start_of,
)
from workers.host_use import HostWatch
from workers.injector_process import (
    OF_A_PACE,
    InjectorProcess,
    OutputEnded,
    SecondChecker,
    end_fault,
    pace_fault,
    round_fault,
)
from workers.scraping import Scraping
from workers.spool import Delivery, Spool, SpoolFull
from workers.watch import Watch

TICK_S = 0.2
MOST_TICKS = 1000


class FreezeDetector:
    """A thread that only looks at the clock, until it is closed."""

    def __init__(self) -> None:
        self._over = threading.Event()
        self._ticks = deque([time.monotonic()], maxlen=MOST_TICKS)
        self._thread = threading.Thread(target=self._work, name="freeze detector", daemon=True)
        self._thread.start()

    def longest_s(self, within_s: float) -> float:
        """The longest time without a tick of which a part was in the last `within_s` seconds."""
        now = time.monotonic()
        ticks = [*self._ticks, now]
        return max(later - tick for tick, later in pairwise(ticks) if later >= now - within_s)

    def close(self) -> None:
        self._over.set()

    def _work(self) -> None:
        while not self._over.wait(TICK_S):
            self._ticks.append(time.monotonic())


logger = logging.getLogger(__name__)

NS = 1_000_000_000
POLL_S = 0.05
# Take the right to send this long before the start, so that no load is ever sent without it.
START_TAKEN_S = 0.15
TAKE_START_FOR_S = 2.0
# The dispatcher ends runs where the database's clock was set by more than this.
CLOCK_SLACK_S = LEAST_STEP_NS / NS
# Of DEAD_MAN_S: so long without a renewal is why an injector heard nothing.
SILENT_SHARE = 0.9
STOP_GRACE_S = 5.0
EXIT_GRACE_S = 3.0
STORE_FOR_S = 600.0
# What only memory has nobody else can store; later than that it would be refused.
ONLY_IN_MEMORY_FOR_S = shards.LATE_SECONDS_FOR_S
_NOT_ALL_KEPT = (
    "The injector host could keep a part of what it measured neither on its disk nor in PostgreSQL."
)
# Kept before a limit is reached; each child of the worker inherits its own.
_files = FileReserve()


class ShardFailed(Exception):
    """The shard cannot start or finish; the text says why and becomes its reason."""


class Withdrawn(Exception):
    """The run was stopped or the lease is lost; there is nothing to report."""


def launch_one(*, worker: str, host: str, command=None) -> bool:
    """Claim one shard and run it to its end; False if there is none."""
    with _files.free():
        lease = shards.claim_shard(worker=worker, host=host)
    if lease is None:
        return False
    logger.info("Run %s shard %s: claimed by %s", lease.order["run"], lease.number, worker)
    try:
        # Kept apart from the lease, which is written to the spool and the log.
        find = partial(with_secrets, lease.order, lease.runs)
        order = retry(find, for_s=settings.DEAD_MAN_S)
        launch = _begin(lease, command, order, _exporters(lease))
    except (OSError, SpoolFull, Refused) as error:
        reason = f"The injector could not be started: {first_line_of(error)}"
        retry(lambda: shards.mark_lost(lease=lease, reason=reason), for_s=settings.LEASE_S)
    else:
        launch.run()
    return True


def _begin(lease: Lease, command, order: dict[str, Any], exporters: list[ScrapeOrder]) -> "Launch":
    """With its injector started. Raises OSError, SpoolFull."""
    order = {**order, "dead_man_s": settings.DEAD_MAN_S}
    with ExitStack() as undo:
        spool = Spool.create(lease)
        # Nothing will have been measured, so nothing is left to be stored.
        undo.callback(spool.close, is_stored=True)
        try:
            # Child first, threads later: a fork among busy threads may never reach its exec.
            injector = InjectorProcess(order, command)
            undo.callback(injector.abandon)
            launch = Launch(lease, spool, injector, exporters)
        except RuntimeError as error:
            raise OSError(f"{error}: raise the host's limit of processes (pids)") from None
        undo.pop_all()
    return launch


def _exporters(lease: Lease) -> list[ScrapeOrder]:
    """What the host of the run's first shard scrapes; nothing while arms take turns, when nobody
    can tell whose CPU it was."""
    find = partial(exporters_to_scrape, run_id=lease.run_id)
    return [] if lease.number or len(lease.runs) > 1 else retry(find, for_s=settings.DEAD_MAN_S)


class Launch:
    """One shard under way."""

    def __init__(
        self, lease: Lease, spool: Spool, injector: InjectorProcess, exporters: list[ScrapeOrder]
    ):
        self._lease = lease
        self._spool = spool
        self._injector = injector
        self._freeze_detector = FreezeDetector()
        # If this process freezes, these messages stop, and the injector stops by itself.
        self._watch = Watch(lease, lambda: self._injector.tell({"alive": True}))
        self._delivery = Delivery(lease, spool)
        self._scraping = Scraping(lease, exporters)
        self._checker = SecondChecker()
        self._is_sending = False
        self._stopped_at: float | None = None
        self._cut_off_reason = ""
        self._start_error_us = 0
        self._host_use: HostWatch | None = None
        self._start_at_ns = 0
        # Where others have the same turns: whether it waits for their paces, and for the end.
        self._waits_to_begin = self._waits_for_all = False
        # By the clock since boot: when the run's start was certainly not set yet.
        self._unarmed_ns = time.monotonic_ns()

    def run(self) -> None:
        """Run from the injector's start to the shard's end. Never raises for a fault of a run."""
        ends: list[InjectorEnd] = []
        reason, is_wanted = "", True
        try:
            self._await_ready()
            self._start()
            ends = self._relay()
        except ShardFailed as error:
            reason = str(error)
        except Withdrawn:
            is_wanted = bool(self._cut_off_reason)
        except UNREACHABLE as error:
            reason = f"PostgreSQL did not answer before the start: {first_line_of(error)}"
        except Exception as error:  # whatever it is, the injector must not be left running
            logger.exception("Run %s: the launcher failed", self._lease.order["run"])
            reason = f"The launcher failed: {error!r}"
        self._scraping.end()
        exit_text = self._injector.end(EXIT_GRACE_S)
        self._watch.has_ended = True
        with suppress(OutputEnded, ShardFailed):
            while self._is_sending and (message := self._injector.next_message(POLL_S)):
                self._take(message)
        try:
            self._settle(ends, (self._cut_off_reason or reason or exit_text) if is_wanted else "")
        finally:
            self._scraping.close()
            if self._host_use:
                self._host_use.close()
            self._watch.close()
            self._freeze_detector.close()

    # --- before the start ------------------------------------------------------------------------
    def _await_ready(self) -> None:
        message = self._next_message()
        if message["type"] == "refused":
            raise ShardFailed(message.get("reason", "The injector refused the order."))
        if message["type"] != "ready":
            raise ShardFailed(f"The injector answered {message['type']!r} instead of ready.")
        self._unarmed_ns = time.monotonic_ns()
        with suppress(OSError):
            self._host_use = HostWatch(os.getppid())
        if not retry(lambda: shards.mark_ready(**self._fresh_lease()), for_s=settings.DEAD_MAN_S):
            raise Withdrawn

    def _start(self) -> None:
        """Wait for the common start, take the right to send, and tell the injector when."""
        start_at_ns = self._start_at_ns = self._await_start_instant()
        while time.monotonic_ns() < start_at_ns - START_TAKEN_S * NS:
            self._check_limits()
            time.sleep(POLL_S / 5)
        if not retry(lambda: shards.mark_running(**self._fresh_lease()), for_s=TAKE_START_FOR_S):
            raise Withdrawn
        self._is_sending = True
        self._injector.tell({"start_at_ns": start_at_ns})
        connection.close()

    def _await_start_instant(self) -> int:
        while True:
            self._check_limits()
            try:
                asked_ns, pulse = time.monotonic_ns(), shards.look(lease=self._lease)
                if pulse is None or pulse.stop_requested:
                    raise Withdrawn
                if pulse.t0 is None:
                    self._unarmed_ns = asked_ns
                elif start_at_ns := self._start_by_own_clock(pulse.t0):
                    return start_at_ns
            except UNREACHABLE:
                drop_connection()
            time.sleep(POLL_S)

    def _start_by_own_clock(self, t0: datetime) -> int | None:
        """None where the start would be before it was set, or later than any: the database's clock
        was set meanwhile, and the dispatcher is about to end the run."""
        start_at_ns, error_ns = start_of(t0)
        slack_ns = CLOCK_SLACK_S * NS + error_ns
        latest_ns = time.monotonic_ns() + settings.START_DELAY_HOSTS_S * NS
        if not self._unarmed_ns - slack_ns < start_at_ns < latest_ns + slack_ns:
            return None
        self._start_error_us = error_ns // 1000
        self._scraping.begin(start_at_ns, t0)
        return start_at_ns

    def _fresh_lease(self) -> dict[str, Any]:
        return {"lease": self._lease, "is_fresh": self._watch.is_fresh}

    # --- while it sends --------------------------------------------------------------------------
    def _relay(self) -> list[InjectorEnd]:
        """Relay every line until the end; returns the end of each arm."""
        while True:
            message = self._next_message()
            if message["type"] == "end":
                break
            self._take(message)
        _check(end_fault(message))
        ends = ends_of(message)
        # An injector that heard nothing cannot know what kept this process from telling it that it
        # lives, and may have stopped a moment before `_check_limits` would have stopped it.
        silent_s, files = self._watch.worst_silence()
        is_known = silent_s > SILENT_SHARE * settings.DEAD_MAN_S
        if ends[0].reason == StopReason.DEAD_MAN and is_known and not self._cut_off_reason:
            self._cut_off_reason = _why_cut_off(self._freeze_detector.longest_s(silent_s), files)
        # What else used the host's CPU since the injector was ready, the most first.
        use = None
        with suppress(OSError):
            use = self._host_use and self._host_use.take()
        programs = use and [
            (each["name"], each["cores"] / use["cores"]) for each in use["programs"]
        ]
        values = {"start_error_us": self._start_error_us, "programs": programs}
        return [replace(end, **values) for end in ends]

    def _take(self, message: dict[str, Any]) -> None:
        """Lines of other types are skipped."""
        if message["type"] == "second":
            _check(self._checker.fault(message))
        elif message["type"] == "round":
            _check(round_fault(message))
        elif message["type"] == "requests":
            _check(requests_fault(message))
        elif message["type"] == "pace":
            _check(pace_fault(message))
            if self._lease.order["shard"]["count"] > 1:
                message["clock_error_us"] = self._start_error_us
                self._waits_to_begin = True
        else:
            return
        self._delivery.take(message)

    def _tell_of_all(self) -> None:
        """What the shards of a run have together: when their rounds begin, and when all that they
        saw is settled."""
        if self._waits_for_all and self._watch.is_settled:
            self._injector.tell({"settled": True})
            self._waits_for_all = False
        if not self._waits_to_begin:
            return
        try:
            begin = rounds.begin_of_rounds(lease=self._lease)
        except UNREACHABLE:
            drop_connection()
            return
        if begin is not None:
            # By the conversion of the start, so that its error is still that of each turn.
            at_ns = self._start_at_ns + round(begin.after_start_s * NS)
            pace = {name: begin.pace[name] for name in OF_A_PACE}
            self._injector.tell({"begin_at_ns": at_ns, "pace": pace})
            self._waits_to_begin, self._waits_for_all = False, True
            connection.close()

    def _next_message(self) -> dict[str, Any]:
        """The injector's next line; checks the lease and stop requests while waiting."""
        while True:
            self._check_limits()
            self._tell_of_all()
            try:
                message = self._injector.next_message(POLL_S)
            except OutputEnded:
                raise ShardFailed("") from None
            if message is not None:
                return message

    def _check_limits(self) -> None:
        """Stop the injector if the lease is gone, PostgreSQL is silent, or a stop is requested.

        Where both is true, it is gone because PostgreSQL was silent, which its run is to be told.
        """
        silent_s = self._watch.silent_for_s()
        if silent_s > settings.DEAD_MAN_S and not self._cut_off_reason:
            stood_still_s = self._freeze_detector.longest_s(silent_s)
            self._cut_off_reason = _why_cut_off(stood_still_s, self._watch.file_limit)
            self._injector.close_input()
            self._stopped_at = time.monotonic()
        if self._watch.is_refused:
            self._injector.kill()
            raise Withdrawn
        if self._watch.stop_requested and not self._is_sending:
            raise Withdrawn
        if self._watch.stop_requested and self._stopped_at is None:
            self._injector.tell({"stop": as_told_to_injectors(self._watch.stop_requested)})
            self._stopped_at = time.monotonic()
        if self._stopped_at and time.monotonic() - self._stopped_at > STOP_GRACE_S:
            self._injector.kill()

    # --- the end ---------------------------------------------------------------------------------
    def _settle(self, ends: list[InjectorEnd], reason: str) -> None:
        """Store what is left, then report how the shard ended; a leftover spool is stored later.

        With neither end nor reason there is nothing to report: the dispatcher took the shard.
        """
        is_whole = bool(ends) and not self._cut_off_reason
        is_spooled = self._delivery.is_spooled
        if is_whole:
            reason = "" if is_spooled else _NOT_ALL_KEPT
        # Whoever stores the rest also says how it ended, or why it is not whole.
        records = [{"type": "lost", "reason": reason}] if reason else []
        with suppress(OSError):
            for record in records or [end.to_json() for end in ends]:
                self._spool.append(record)
        is_stored = self._delivery.finish(STORE_FOR_S if is_spooled else ONLY_IN_MEMORY_FOR_S)
        reason = self._delivery.failure or reason
        try:
            if is_whole and is_stored:
                whole = {"lease": self._lease, "end": ends[0], "others": ends[1:]}
                retry(lambda: shards.mark_done(**whole), for_s=STORE_FOR_S)
            elif reason:
                retry(lambda: shards.mark_lost(lease=self._lease, reason=reason), for_s=STORE_FOR_S)
        except UNREACHABLE:
            is_stored = False
            logger.error(
                "Run %s: PostgreSQL does not answer; the spool is kept", self._lease.run_id
            )
        finally:
            self._spool.close(is_stored=is_stored)


def _why_cut_off(stood_still_s: float, file_limit: str = "") -> str:
    """A launcher that was frozen for most of the time asked nobody."""
    because = f": {file_limit}" if file_limit else "."
    if stood_still_s > settings.DEAD_MAN_S / 2:
        return f"The launcher on the injector host was frozen for {stood_still_s:.0f} s."
    return (
        f"The injector host had no contact with PostgreSQL for {settings.DEAD_MAN_S:g} s "
        f"and stopped sending{because}"
    )


def _check(fault: str | None) -> None:
    if fault:
        raise ShardFailed(f"The injector wrote a line that breaks its contract: {fault}.")
