"""Runs one order: prepares it, starts the load at the given instant, supervises it, ends it."""

import base64
import gc
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import gevent
from gevent.event import Event

from campaigns.domain.lifecycle import StopReason
from campaigns.domain.metrics.injector_end import COMPLETE, STOPPED, InjectorEnd
from campaigns.domain.metrics.snapshot import Second, is_tail
from campaigns.domain.plan.addresses import is_address
from campaigns.domain.plan.load import planned_duration_s
from campaigns.domain.plan.plan import Plan, Resolve
from campaigns.domain.plan.step import OrderKind, StepOrder
from workers.injector.attempt import interrupt_overdue
from workers.injector.connection import NS, Dialler, now
from workers.injector.crew import Crew, Load, arrivals_of, make_driver, protocol_of, requests_of
from workers.injector.guard import Guard, resolve
from workers.injector.loads import OpenLoad, SpreadDialler
from workers.injector.lookup import Lookups
from workers.injector.order import Order
from workers.injector.preflight import find_capacity
from workers.injector.read_delay import ReadSample
from workers.injector.recorder import NEVER
from workers.injector.request import Request, streams_of
from workers.injector.seconds import AFTER_REPLIES, TICK_S, Seconds, in_flight_of
from workers.injector.tls_library import KeyLog
from workers.injector.vitals import RestingCollector, VitalsReader, cpu_s

# Not a whole number of milliseconds: requests that are due every 5 or 10 ms, and their replies,
# would else meet the end of every second, or none.
SWEEP_S = 0.0497
# The end line and the exit, which takes a busy machine longest, follow within a second of a stop.
DRAIN_ON_STOP_S = 0.5
_NO_LIMIT_NS = 1 << 62
_EARLY_S = 0.02


class Output(Protocol):
    """Where a run's seconds go, and at its end the requests that were kept."""

    def second(self, second: Second) -> None: ...

    def requests(self, line: dict[str, Any]) -> None: ...


class Engine:
    """One shard of one run. `prepare`, then `run`; `stop` may come at any time."""

    def __init__(self, order: Order, output: Output, key_log: KeyLog | None = None):
        self._order = order
        self._key_log = key_log
        self._output = output
        self._guard = Guard(order.endpoint, order.allowed, order.never)
        self._over = Event()
        self._dialler: Dialler | None = None
        self._crew: Crew | None = None
        self._load: Load | None = None
        self._seconds: Seconds | None = None
        self._limit_ns = longest_attempt_ns(order.plan)
        self._zero_ns = 0
        self._warnings: tuple[str, ...] = ()
        self._stop_reason: StopReason | None = None
        self._abort_at_ns: int | None = None

    def prepare(self) -> dict[str, Any]:
        """All that can fail before a packet is sent. The facts of `ready`; raises Refusal."""
        order = self._order
        self._guard.admit(resolve(order.endpoint.dialled, order.endpoint.port))
        capacity = find_capacity(order, self._guard.addresses)
        self._warnings = capacity.warnings
        reads = ReadSample(is_on=reads_one_by_one(order))
        self._dialler = make_dialler(order, self._guard, reads, self._key_log)
        crew = self._crew = Crew(order, self._dialler)
        requests = in_order(crew.requests, order.plan.order, order.seed)
        load = self._load = make_driver(
            order, requests, crew.make_worker, capacity.connections, crew.sessions
        )
        for recorder in crew.recorders:
            recorder.queued_at = load.queued_at
        n_all = arrivals_of(order.plan, order.shard)
        if n_all is not None and not isinstance(load, OpenLoad):
            load.note_left = partial(self._note_left, n_all)
        self._seconds = Seconds(
            crew, self._dialler, load.workers, self._output.second, load.is_calm
        )
        # Collect now: with a large heap it can take longer than the time from ready to start.
        gc.collect()
        return {
            "resolved": self._guard.addresses,
            "connections": capacity.connections,
            "descriptors": capacity.descriptors,
            "cpu_quota": capacity.cpu_quota,
            "planned_requests": requests_of(order.plan, order.shard),
            "warnings": list(capacity.warnings),
        }

    def run(self, start_ns: int) -> InjectorEnd:
        """Send from `start_ns` (CLOCK_MONOTONIC) on, warm-up first; returns the end."""
        plan = self._order.plan
        self._zero_ns = start_ns + plan.warm_up_s * NS
        self._dialler.reads.begin()
        planned_s = planned_duration_s(plan.load)
        until_ns = NEVER if planned_s is None else self._zero_ns + round(planned_s * NS)
        self._seconds.begin(self._zero_ns, plan.warm_up_s, until_ns)
        with RestingCollector() as collector:
            self._wait_until(start_ns, _EARLY_S)
            timers = start_timers(self._sweep, self._seconds.tick)
            began_cpu_s = cpu_s()
            self._seconds.watch(partial(watch_memory, collector, self.stop))
            duration_s = self._order.plan.load.duration_s
            end_ns = None if duration_s is None else self._zero_ns + int(duration_s * NS)
            if not isinstance(self._load, OpenLoad):
                self._wait_until(start_ns)
            self._crew.begin(self._zero_ns, end_ns)
            if self._stop_reason is None:
                self._load.start(self._zero_ns, end_ns)
            self._over.wait()
            for timer in timers:
                timer.stop()
            self._crew.close()
            # A collection after the last reply has delayed none, so the last second has none.
            self._seconds.end(self._load.n_dropped)
        if line := self._crew.keeper.line():
            self._output.requests(line)
        self._dialler.close()
        user_s, system_s = (
            after - before for after, before in zip(cpu_s(), began_cpu_s, strict=True)
        )
        return self._end(user_s, system_s)

    def _wait_until(self, start_ns: int, early_s: float = 0.0) -> None:
        """Wait until `early_s` before the start, or until the run is stopped."""
        self._over.wait(max(0.0, (start_ns - now()) / NS - early_s))

    def _note_left(self, n_all: int, instant: int, n_left: int) -> None:
        """Nothing is left to send, and of `n_all` so many have not ended."""
        if is_tail(n_left, n_all):
            self._seconds.end_measuring(instant)

    def stop(self, reason: StopReason, drain_s: float = DRAIN_ON_STOP_S) -> None:
        """Send nothing new; requests in flight get `drain_s` to finish."""
        if self._stop_reason is None:
            self._stop_reason = reason
            self._load.stop()
            self._crew.stop()
        self._abort_at_ns = min(now() + int(drain_s * NS), self._abort_at_ns or 1 << 62)
        self._sweep()

    def _sweep(self) -> None:
        instant = now()
        aborts = self._abort_at_ns is not None and instant >= self._abort_at_ns
        workers = self._load.workers
        interrupt_overdue(workers, instant, self._limit_ns, aborts=aborts)
        self._dialler.sweep(instant)
        is_drained = self._stop_reason is not None and not in_flight_of(workers)
        if self._load.is_finished or is_drained:
            # What is left is written at the end, with what the connections carried by then.
            self._over.set()
        else:
            self._seconds.sweep(instant)

    def _end(self, user_s: float, system_s: float) -> InjectorEnd:
        return replace(
            connections_end(self._crew, self._dialler),
            outcome=COMPLETE if self._stop_reason is None else STOPPED,
            reason=self._stop_reason or "",
            totals=self._seconds.total.counters,
            errors=self._seconds.total.errors,
            in_flight=len(in_flight_of(self._load.workers)),
            sessions_in_flight=self._crew.sessions_in_flight,
            **self._seconds.times_us(),
            cpu_us=round((user_s + system_s) * 1e6),
            cpu_user_us=round(user_s * 1e6),
            warnings=self._warnings,
        )


def start_timers(sweep: Callable[[], None], tick: Callable[[], None]) -> list[Any]:
    timers = []
    for every_s, callback in ((SWEEP_S, sweep), (TICK_S, tick)):
        timer = gevent.get_hub().loop.timer(every_s, every_s, priority=AFTER_REPLIES)
        timer.start(callback)
        timers.append(timer)
    return timers


def watch_memory(
    collector: RestingCollector, stop: Callable[..., None], vitals: VitalsReader
) -> None:
    collector.look(vitals.rss_bytes)
    if vitals.is_near_memory_limit:
        stop(StopReason.MEMORY, drain_s=0.0)


def longest_attempt_ns(plan: Plan) -> int:
    """Conversations may be long; each of their waits has its own limit."""
    return _NO_LIMIT_NS if plan.exchange is not None else int(plan.timeouts.total_s * NS)


def connections_end(crew: Crew, dialler: Dialler) -> InjectorEnd:
    """What the connections were, of an end line that has yet to say how much was sent."""
    certificate = dialler.tls and dialler.tls.certificate
    speaking = [each.tls for each in (dialler, *dialler.others) if each.tls]
    return InjectorEnd(
        connect_burst=dialler.longest_burst,
        connections_at_once=dialler.most_at_once,
        streams_limit=dialler.streams_limit,
        tls=[each for tls in speaking for each in tls.tally.handshakes()],
        tls_library=speaking[0].library if speaking else None,
        peers=dialler.peers,
        by_peer={peer: total.to_json() for peer, total in crew.by_peer.items()},
        servers=crew.servers,
        certificate_der_b64=certificate and base64.b64encode(certificate).decode(),
    )


def make_dialler(
    order: Order, guard: Guard, reads: ReadSample, key_log: KeyLog | None = None
) -> Dialler:
    """What opens the order's connections."""
    make = Dialler
    if order.plan.resolve == Resolve.ALL_ADDRESSES and len(guard.addresses) > 1:
        make = partial(SpreadDialler, first=order.shard.index)
    host, lookups = order.endpoint.dialled, None
    if order.plan.resolve == Resolve.PER_CONNECTION and not is_address(host):
        lookups = Lookups(host, order.endpoint.port)
    return make(
        order.endpoint,
        guard,
        order.mode,
        order.plan.timeouts,
        lookups,
        reads,
        key_log,
        protocol_of(order.plan),
    )


def reads_one_by_one(order: Order) -> bool:
    """Whether what is read on a connection belongs to the one attempt under way on it."""
    plan = order.plan
    is_shared = plan.session.pipeline_depth > 1 or streams_of(plan, order.mode) > 1
    return plan.exchange is None and not is_shared


# Drivers take their number modulo the length; an order that never repeats is "endless".
_ENDLESS = 1 << 62


class OrderedRequests(Sequence):
    """The requests of a run by number; the length is the order's period."""

    def __init__(self, requests: list[Request], order: StepOrder, seed: int):
        self._requests = requests
        self._order = order
        self._seed = seed

    def __len__(self) -> int:
        if self._order.kind == OrderKind.BLOCKS:
            return self._order.block_repeat * len(self._requests)
        return _ENDLESS

    def __getitem__(self, number: int) -> Request:
        requests = self._requests
        return requests[self._order.step_at(number, len(requests), self._seed)]


def in_order(requests: list[Request], order: StepOrder, seed: int) -> Sequence[Request]:
    """A sequence with request k at index k modulo its length; for round robin, the list itself."""
    if order.kind == OrderKind.ROUND_ROBIN or len(requests) == 1:
        return requests
    return OrderedRequests(requests, order, seed)
