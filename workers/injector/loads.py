"""The drivers: they decide which worker makes which attempt, and when.

The engine starts a driver before anything is due, and polls it until it is finished. In closed
loads the workers continue on their own. In open loads the pacer wakes the driver, which hands each
arrival to an idle worker.

Load over all addresses of a name: connections go round them, and each has figures of its own.

An address that does not answer is not passed over: what it fails is its own. Of each attempt the
recorder is told the address, by its start, before its worker waits for anything."""

import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import gevent

from campaigns.domain.plan.arrivals import AnySchedule, LoadSlice
from campaigns.domain.plan.load import WhenSaturated
from workers.injector.attempt import Worker
from workers.injector.connection import Connection, Dialler, now
from workers.injector.following import Follow, FollowingWorker
from workers.injector.guard import peer_name
from workers.injector.pacer import Lead, make_pacer
from workers.injector.request import Request

# An arrival: its number, when it is due, and when it found no free connection, or 0.
Arrival = tuple[int, int, int]

_ARRIVALS_PER_WAKE = 256
_NEVER = sys.maxsize
# How long other work of the hub takes at most, and a fast server's reply.
_MOMENT_NS, _REPLY_NS = 2_000_000, 1_000_000


@dataclass(slots=True)
class ClosedStage:
    """A stage of a closed load: it ends at an instant, or before request number `limit`.

    `take` returns the run-wide number of this process's next request.
    """

    until: int
    limit: int
    take: Callable[[], int]


NoteLeft = Callable[[int, int], None]


def note_nothing(instant: int, n_left: int) -> None:
    """Where only time ends a load."""


class ClosedLoad:
    """Each connection sends its next request when the reply to the previous one is complete."""

    def __init__(
        self,
        requests: list[Request],
        make_worker: Callable[[], Worker],
        shard: LoadSlice,
        offsets_ns: list[int],
        limit: int | None,
    ):
        """`offsets_ns`: when each connection begins, in order, counted from the start."""
        self._requests = requests
        self._shard = shard
        self._limit = _NEVER if limit is None else shard.nth(limit)
        self._n_running = 0
        # Unlike those that run, without those that only wait for their connection to end.
        self._n_sending = 0
        self._stages: list[ClosedStage] = []
        # Made in starting order, because the order is the number of the user they simulate.
        self.workers = [make_worker() for _ in offsets_ns]
        self._idle = list(zip(offsets_ns, self.workers, strict=True))[::-1]
        self._start_ns = 0
        self._pacer = make_pacer(self._start_due_workers)
        self.n_dropped = 0
        self.queued_at: dict[int, int] = {}
        self.note_left: NoteLeft = note_nothing

    def start(self, zero_ns: int, end_ns: int | None) -> None:
        """Send from now on, as warm-up until `zero_ns`."""
        self._stages = [
            ClosedStage(zero_ns, _NEVER, self._shard.all().__next__),
            ClosedStage(end_ns or _NEVER, self._limit, self._shard.all().__next__),
        ]
        self._start_ns = now()
        self._start_due_workers()

    def _start_due_workers(self) -> None:
        """In the hub or before it runs: start the workers whose ramp-up time has come."""
        while self._idle:
            due = self._start_ns + self._idle[-1][0]
            if due > now():
                self._pacer.wake_at(due)
                return
            _, worker = self._idle.pop()
            self._n_running += 1
            self._n_sending += 1
            worker.switch = gevent.spawn(self._run, worker).switch

    def _run(self, worker: Worker) -> None:
        try:
            for stage in self._stages:
                self._go_through(worker, stage)
        finally:
            worker.wind_down()
            self._n_running -= 1

    def _go_through(self, worker: Worker, stage: ClosedStage) -> None:
        attempt, take, limit, requests = worker.attempt, stage.take, stage.limit, self._requests
        n_steps = len(requests)
        follow = self._follow_in(stage) if isinstance(worker, FollowingWorker) else None
        start = now()
        while start < stage.until:
            number = take()
            if number >= limit:
                self._leave_rest(start)
                return
            pause_s = attempt(requests[number % n_steps], start, start)
            if follow is not None and pause_s is None:
                pause_s = worker.go_on(follow)
            if pause_s is not None:
                gevent.sleep(pause_s)
            start = now()

    def _leave_rest(self, instant: int) -> None:
        """A connection has nothing left to send: it and all that are yet to begin end."""
        self._idle.clear()
        self._n_sending -= 1
        self.note_left(instant, self._n_sending)

    def _follow_in(self, stage: ClosedStage) -> Follow:
        """Which request follows in a stage; None where it is over."""
        take, limit, requests = stage.take, stage.limit, self._requests
        n_steps = len(requests)

        def follow() -> tuple[Request, int] | None:
            start = now()
            if start >= stage.until:
                return None
            number = take()
            return (requests[number % n_steps], start) if number < limit else None

        return follow

    def is_calm(self, _: int) -> bool:
        """Replies decide when the next request is sent, so no instant is better than another."""
        return True

    def stop(self) -> None:
        """Send nothing new."""
        self._idle.clear()
        for stage in self._stages:
            stage.until = 0

    @property
    def is_finished(self) -> bool:
        return not self._n_running and not self._idle


class OpenLoad:
    """Arrivals at their due times, whatever the replies do, up to `max_in_flight` at once.

    An arrival that is due while all are busy waits in a queue, growing late, or is dropped.
    """

    def __init__(
        self,
        requests: list[Request],
        make_worker: Callable[[], Worker],
        schedule: AnySchedule,
        max_in_flight: int,
        drain_ns: int,
        when_saturated: WhenSaturated = WhenSaturated.QUEUE,
        lead: Lead | None = None,
    ):
        self._requests = requests
        self._make_worker = make_worker
        self._schedule = schedule
        self._max_in_flight = max_in_flight
        self._drain_ns = drain_ns
        self._drops = when_saturated == WhenSaturated.DROP
        self._arrivals: Iterator[tuple[int, int]] = iter(schedule)
        self._next: tuple[int, int] | None = next(self._arrivals, None)
        self._queue: deque[Arrival] = deque()
        self._idle: list[Worker] = []
        self._zero_ns = self._latest_due = 0
        self._n_busy = 0
        self._give_up_ns = _NEVER
        self._pacer = make_pacer(self._dispatch_due, lead)
        self.workers: list[Worker] = []
        self.n_dropped = 0
        # Actual start of an arrival that waited → when it found no free connection. Not by when it
        # was due: others may have been due at the same instant.
        self.queued_at: dict[int, int] = {}

    def start(self, zero_ns: int, end_ns: int | None) -> None:
        self._zero_ns = zero_ns
        self._wake_for_next()

    def is_calm(self, instant: int) -> bool:
        """Whether the hub can be busy with something else for a moment: no arrival is due so soon
        that it would be late, and none was due just now, whose reply a fast server gives at once.
        """
        next_due = _NEVER if self._next is None else self._zero_ns + self._next[1]
        return instant - self._latest_due > _REPLY_NS and next_due - instant > _MOMENT_NS

    def _wake_for_next(self) -> None:
        if self._next is not None:
            self._pacer.wake_at(self._zero_ns + self._next[1])

    def _dispatch_due(self) -> None:
        """In the hub: hand over due arrivals; limited per turn, so that replies are read too."""
        for _ in range(_ARRIVALS_PER_WAKE):
            if self._next is None:
                break
            number, offset = self._next
            if self._zero_ns + offset > now():
                break
            self._next = next(self._arrivals, None)
            self._latest_due = self._zero_ns + offset
            self._hand_over(number, self._latest_due)
        if self._next is None:
            self._give_up_ns = now() + self._drain_ns
        else:
            self._wake_for_next()

    def _hand_over(self, number: int, due: int) -> None:
        if self._idle:
            self._idle.pop().switch((number, due, 0))
        elif self._n_busy < self._max_in_flight:
            self._take_slot((number, due, 0))
        else:
            self._queue_or_drop(number, due)

    def _take_slot(self, arrival: Arrival) -> None:
        worker = self._make_worker()
        self.workers.append(worker)
        self._n_busy += 1
        worker.switch = gevent.Greenlet(self._run, worker, arrival).switch
        worker.switch()

    def _queue_or_drop(self, number: int, due: int) -> None:
        events = self._events_of(number)
        if self._drops:
            events["dropped"].append(due)
        else:
            events["queued"].append(due)
            self._queue.append((number, due, now()))

    def _events_of(self, number: int) -> dict[str, list[int]]:
        return self._requests[number % len(self._requests)].events

    def _run(self, worker: Worker, arrival: Arrival) -> None:
        n_steps = len(self._requests)
        while True:
            number, due, queued = arrival
            start = self._begin(due, queued)
            if worker.attempt(self._requests[number % n_steps], due, start) is not None:
                gevent.sleep(0)
            if self._queue and now() < self._give_up_ns:
                arrival = self._queue.popleft()
            else:
                arrival = self._wait_for_arrival(worker)
                worker.check_for_strays()

    def _begin(self, due: int, queued: int) -> int:
        """An arrival begins now, or when it is due: that instant."""
        start = max(due, now())
        if queued:
            self.queued_at[start] = queued
        return start

    def _wait_for_arrival(self, worker: Worker) -> Arrival:
        """Be idle until an arrival is handed over."""
        self._n_busy -= 1
        self._idle.append(worker)
        to_hub = gevent.get_hub().switch
        while True:
            arrival = to_hub()
            if isinstance(arrival, tuple) and arrival:
                self._n_busy += 1
                return arrival
            if worker.connection is not None:
                worker.check_idle()

    def stop(self) -> None:
        """Send nothing new; drop the arrivals that wait in the queue."""
        self._next = None
        self._drop_queue()

    def _drop_queue(self) -> None:
        self.n_dropped += len(self._queue)
        self._queue.clear()

    @property
    def is_finished(self) -> bool:
        if self._next is None and now() >= self._give_up_ns:
            self._drop_queue()
        return self._next is None and not self._n_busy and not self._queue


class SpreadDialler(Dialler):
    """`first`: the number of the address that the first connection goes to."""

    def __init__(self, *args: Any, first: int = 0, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self._next = first

    def _dial_first_that_answers(self, worker: Any, first: bytes) -> Connection:
        addresses = self._guard.addresses
        address = addresses[self._next % len(addresses)]
        self._next += 1
        peer = worker.request.recorder.by_peer.at[worker.began] = peer_name(
            address, self._guard.port
        )
        connection = self._connect(worker, address, first)
        connection.peer = peer
        self._n_by_address[address] += 1
        return connection


class OverAddresses:
    """What a worker does besides: it tells the address of the connection that it has kept."""

    __slots__ = ()

    def attempt(self, request: Any, intended: int, start: int) -> float | None:
        if self.connection is not None:
            request.recorder.by_peer.at[start] = self.connection.peer
        return super().attempt(request, intended, start)


class CallsOverAddresses:
    """The same of a user, whose calls are its attempts."""

    __slots__ = ()

    def make_call(self, call: Any, is_last: bool, intended: int, start: int) -> float | None:
        if self.connection is not None:
            call.recorder.by_peer.at[start] = self.connection.peer
        return super().make_call(call, is_last, intended, start)


class StreamsOverAddresses:
    """The same on shared connections, which are not the worker's own."""

    __slots__ = ()

    def _open(self, link: Any) -> tuple[int, int]:
        instants = super()._open(link)
        link.peer = link.connection.peer
        return instants

    def _record(self, stream: Any) -> None:
        self._tell_address()
        super()._record(stream)

    def _note_failure(self, error: Exception) -> float:
        self._tell_address()
        return super()._note_failure(error)

    def _tell_address(self) -> None:
        if self.place is not None and self.place.peer:
            self.request.recorder.by_peer.at[self._marks[1]] = self.place.peer


@cache
def over_addresses(kind: type[Worker]) -> type[Worker]:
    """The worker that does the same, and tells its addresses."""
    if hasattr(kind, "place"):
        besides = StreamsOverAddresses
    else:
        besides = CallsOverAddresses if hasattr(kind, "make_call") else OverAddresses
    return type(f"{kind.__name__}OverAddresses", (besides, kind), {"__slots__": ()})
