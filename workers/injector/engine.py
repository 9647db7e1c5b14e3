"""Runs one order: prepares, starts the load at the given instant, gathers seconds, ends."""

import base64
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import gevent
from gevent.event import Event

from campaigns.domain import arrivals
from campaigns.domain.plan import ConnectionMode, Resolve, Step
from campaigns.domain.session import makes_visits
from campaigns.domain.snapshot import Second, Timing, Total
from workers.injector import drivers, http1
from workers.injector.attempt import Request, Worker, interrupt_overdue
from workers.injector.connection import NS, Dialler, now
from workers.injector.credentials import signed_steps
from workers.injector.guard import Guard, is_literal, resolve
from workers.injector.loads import OpenLoad
from workers.injector.lookup import Lookups
from workers.injector.order import Order
from workers.injector.pipeline import worker_class
from workers.injector.preflight import find_room
from workers.injector.recorder import StepRecorder
from workers.injector.script import in_order
from workers.injector.users import Script, is_plain
from workers.injector.visit_book import VisitBook
from workers.injector.vitals import HubLag, Vitals, cpu_s
from workers.injector.websocket.talk import Talk
from workers.injector.websocket.worker import Speaker

SWEEP_S = 0.05
LAG_S = 0.01
DRAIN_ON_STOP_S = 0.7
# Conversations may be long: each of their waits has a limit of its own.
_NO_LIMIT_NS = 1 << 62
_EARLY_S = 0.02


class Output(Protocol):
    """Where a run's seconds go."""

    def second(self, second: Second) -> None: ...


class Engine:
    """One shard of one run. `prepare`, then `run`; `stop` may come at any time."""

    def __init__(self, order: Order, output: Output):
        self._order = order
        self._output = output
        self._loop = gevent.get_hub().loop
        self._guard = Guard(order.endpoint, order.allowed)
        self._over = Event()
        self._total = Total()
        self._vitals: Vitals | None = None
        self._hub_lag = HubLag(int(LAG_S * NS))
        self._recorders: list[StepRecorder] = []
        self._load: drivers.Load | None = None
        self._dialler: Dialler | None = None
        self._script: Script | None = None
        self._total_ns = int(order.plan.timeouts.total_s * NS)
        self._talk: Talk | None = None
        self._zero_ns = 0
        self._next_second = 0
        self._warnings: tuple[str, ...] = ()
        self._stop_reason: str | None = None
        self._abort_at_ns: int | None = None

    def prepare(self) -> dict[str, Any]:
        """Everything that can fail before a packet is sent. Facts for `ready`; raises Refusal."""
        order = self._order
        self._guard.admit(resolve(order.endpoint.host, order.endpoint.port))
        room = find_room(order, self._guard.addresses)
        self._warnings = room.warnings
        self._dialler = Dialler(
            order.endpoint, self._guard, order.mode, order.plan.timeouts, _lookups_of(order)
        )
        requests = self._make_requests()
        ordered = in_order(requests, order.plan.order, order.seed)
        self._load = drivers.make_driver(
            order, ordered, self._dialler, self._make_worker, room.connections, self._script
        )
        for recorder in self._recorders:
            recorder.queued_at = self._load.queued_at
        # Now, for with much in memory it takes longer than there is between ready and start.
        gc.collect()
        return {
            "resolved": self._guard.addresses,
            "connections": room.connections,
            "descriptors": room.descriptors,
            "planned_requests": drivers.requests_of(order.plan, order.shard),
            "warnings": list(room.warnings),
        }

    def _make_requests(self) -> list[Request]:
        order = self._order
        if order.plan.exchange is not None:
            self._talk = Talk.of(order)
            self._recorders.append(self._talk.recorder)
            return [self._talk]
        steps = signed_steps(order.plan, order.secret)
        requests = [self._make_request(number, step) for number, step in enumerate(steps)]
        if not is_plain(order.plan):
            self._script = Script(order, requests, self._request_bytes)
        return requests

    @property
    def _mode(self) -> ConnectionMode:
        return drivers.wire_mode(self._order.plan, self._order.mode)

    def _request_bytes(self, step: Step, is_last: bool = False) -> bytes:
        """`is_last`: a kept connection ends with this request."""
        endpoint = self._order.endpoint
        host = http1.authority(endpoint.scheme, endpoint.host, endpoint.port)
        mode = ConnectionMode.NEW if is_last else self._mode
        return http1.request_bytes(step, host, mode, self._order.plan.http_version)

    def _make_request(self, number: int, step: Step) -> Request:
        order = self._order
        data = self._request_bytes(step)
        plan = order.plan
        recorder = StepRecorder(
            number,
            len(data),
            arrivals.is_scheduled(plan.load),
            has_calls_between=makes_visits(plan.load, plan.session),
        )
        self._recorders.append(recorder)
        return Request(order.plan, step, data, recorder)

    def _make_worker(self) -> Worker:
        if self._talk is not None:
            return Speaker(self._dialler)
        keeps = self._mode == ConnectionMode.KEEP_ALIVE
        if self._script is not None:
            return worker_class(self._script, keeps)(self._script, self._dialler, keeps)
        return Worker(self._dialler, keeps)

    @property
    def _book(self) -> VisitBook | None:
        return self._script and self._script.book

    def run(self, start_ns: int) -> dict[str, Any]:
        """Send from `start_ns` (CLOCK_MONOTONIC) on, warm-up first; the end's facts when over."""
        plan = self._order.plan
        self._zero_ns = start_ns + plan.warm_up_s * NS
        self._next_second = -plan.warm_up_s
        for recorder in self._recorders:
            recorder.zero_ns = self._zero_ns
        with resting_garbage_collector():
            gevent.sleep(max(0.0, (start_ns - now()) / NS - _EARLY_S))
            timers = self._start_timers()
            began_cpu_s = cpu_s()
            self._vitals = Vitals()
            self._start_load(start_ns)
            self._over.wait()
        for timer in timers:
            timer.stop()
        self._finish_seconds(now())
        self._finish_last_seconds()
        self._vitals.close()
        self._dialler.close()
        return self._end(cpu_s() - began_cpu_s)

    def _start_load(self, start_ns: int) -> None:
        duration_s = self._order.plan.load.duration_s
        end_ns = None if duration_s is None else self._zero_ns + int(duration_s * NS)
        if self._talk is not None:
            self._talk.zero_ns, self._talk.end_ns = self._zero_ns, end_ns
        if not isinstance(self._load, OpenLoad):
            gevent.sleep(max(0.0, (start_ns - now()) / NS))
        if self._script is not None:
            self._script.begin(self._zero_ns, end_ns)
        if self._stop_reason is None:
            self._load.start(self._zero_ns, end_ns)

    def _start_timers(self) -> list[Any]:
        timers = []
        for every_s, callback in ((SWEEP_S, self._sweep), (LAG_S, self._measure_lag)):
            timer = self._loop.timer(every_s, every_s)
            timer.start(callback)
            timers.append(timer)
        return timers

    def stop(self, reason: str, drain_s: float = DRAIN_ON_STOP_S) -> None:
        """Send nothing new; what is under way has `drain_s` left."""
        if self._stop_reason is None:
            self._stop_reason = reason
            self._load.stop()
            for shared in (self._talk, self._script):
                if shared is not None:
                    shared.stop()
        self._abort_at_ns = min(now() + int(drain_s * NS), self._abort_at_ns or 1 << 62)
        self._sweep()

    def _sweep(self) -> None:
        instant = now()
        aborts = self._abort_at_ns is not None and instant >= self._abort_at_ns
        limit_ns = self._total_ns if self._talk is None else _NO_LIMIT_NS
        interrupt_overdue(self._load.workers, instant, limit_ns, aborts=aborts)
        self._dialler.sweep(instant)
        for recorder in self._recorders:
            recorder.compact_if_long()
        if self._zero_ns:
            self._finish_seconds(instant)
        if self._load.is_finished or (self._stop_reason is not None and not self._in_flight()):
            self._over.set()

    def _in_flight(self) -> list[Worker]:
        return [worker for worker in self._load.workers if worker.began]

    def _measure_lag(self) -> None:
        self._hub_lag.tick(now())

    def _finish_seconds(self, instant: int) -> None:
        """Hand out every second that is over, and in which no attempt is held back any more."""
        doubts = (w.held_end for w in self._load.workers if w.is_parting)
        until = min((end for end in doubts if end is not None), default=instant)
        while self._zero_ns + (self._next_second + 1) * NS <= min(until, instant):
            self._finish_second()

    def _finish_last_seconds(self) -> None:
        """Hand out what is left at the end; the last second is usually not a whole one."""
        for worker in self._load.workers:
            worker.settle()
        self._dialler.count_open(w.connection for w in self._load.workers if w.connection)
        for recorder in self._recorders:
            recorder.compact()
        unfinished = [r.last_second for r in self._recorders if r.last_second is not None]
        dropped = self._load.n_dropped
        if self._book is not None and self._book.last_second is not None:
            unfinished.append(self._book.last_second)
        last = max(unfinished, default=self._next_second if dropped else self._next_second - 1)
        while self._next_second <= last:
            self._finish_second(dropped if self._next_second == last else 0)

    def _finish_second(self, dropped: int = 0) -> None:
        number = self._next_second
        self._next_second += 1
        for worker in self._load.workers:
            if not worker.is_parting:
                worker.settle()
        parting = [worker for worker in self._load.workers if worker.is_parting]
        rows = []
        for recorder in self._recorders:
            recorder.compact()
            starts = [start for w in self._in_flight() for start in w.starts_of(recorder)]
            starts += [
                worker.doubtful_start
                for worker in parting
                if worker.held is not None and worker.request.recorder is recorder
            ]
            rows.append(recorder.finish(number, starts, 0 if recorder.step else dropped))
        rows[0].counters.update(self._dialler.take_wire())
        if self._book is not None:
            counters, timings = self._book.take(number)
            rows[0].counters.update(counters)
            rows[0].timings.update(timings)
        lags = self._hub_lag.take()
        rows[0].vitals = self._vitals.take(
            hub_lag_max_us=max(lags, default=0),
            lateness_p99_us=_p99_us(rows, "lateness"),
            own_delay_p99_us=_p99_us(rows, "own_delay"),
            open_connections=self._dialler.n_open,
        )
        if lags:
            rows[0].timings["hub_lag"] = Timing.of(lags)
        for row in rows:
            if row.step == 0 or row.counters or row.in_flight:
                self._total.add(Second(row.second, row.step, row.counters, row.errors))
                self._output.second(row)

    def _end(self, used_cpu_s: float) -> dict[str, Any]:
        dialler = self._dialler
        certificate = dialler.tls and dialler.tls.certificate
        handshakes = dialler.tls.handshakes if dialler.tls else {}
        last_end_ns = max(recorder.last_end_ns for recorder in self._recorders)
        last_start_ns = max(recorder.last_start_ns for recorder in self._recorders)
        return {
            "outcome": "complete" if self._stop_reason is None else "stopped",
            "reason": self._stop_reason or "",
            "totals": self._total.counters,
            "errors": self._total.errors,
            "in_flight": len(self._in_flight()),
            "duration_us": max(0, last_end_ns - self._zero_ns) // 1000,
            "sending_us": max(0, last_start_ns - self._zero_ns) // 1000,
            "cpu_us": round(used_cpu_s * 1e6),
            "tls": [
                {"version": version, "cipher": cipher, "bits": bits, "resumed": resumed, "count": n}
                for (version, cipher, bits, resumed), n in handshakes.items()
            ],
            "peers": dialler.peers,
            "warnings": list(self._warnings),
            "certificate_der_b64": certificate and base64.b64encode(certificate).decode(),
            **(self._book.facts if self._book is not None else {}),
        }


def _lookups_of(order: Order) -> Lookups | None:
    host, port = order.endpoint.host, order.endpoint.port
    each_time = order.plan.resolve == Resolve.PER_CONNECTION and not is_literal(host)
    return Lookups(host, port) if each_time else None


def _p99_us(rows: list[Second], name: str) -> float:
    merged = Timing()
    for row in rows:
        merged = merged.merged(row.timings.get(name) or Timing())
    return merged.percentile_us(99_000) or 0.0


@contextmanager
def resting_garbage_collector() -> Iterator[None]:
    """While measuring nothing is collected: a collection would delay every request under way."""
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()
