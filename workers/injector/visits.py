"""Arriving sessions, and connections with several calls: a visit of each, and their drivers."""

from collections.abc import Callable, Sequence
from typing import Any

import gevent

from campaigns.domain.plan.session import MAX_RETRIES
from workers.injector.attempt import Worker
from workers.injector.connection import now
from workers.injector.loads import Arrival, OpenLoad
from workers.injector.request import Request
from workers.injector.session import SessionWorker
from workers.injector.users import SessionContext
from workers.injector.window import WindowLoad

_GO, _DONE = "go", "done"


class Visitor:
    """`lead` makes the first call of each burst; helpers are added when needed.

    `add_worker` makes a worker that the engine supervises.
    """

    def __init__(
        self,
        lead: SessionWorker,
        context: SessionContext,
        requests: Sequence[Request],
        add_worker: Callable[[], SessionWorker],
        note_first: Callable[[], None] = lambda: None,
    ):
        """`note_first` is called when the first call of a visit has ended, ok or failed."""
        self._lead = lead
        self._note_first = note_first
        self._user = lead.user
        self._context = context
        self._visits = lead.user.flow.visits
        self._requests = requests
        self._add_worker = add_worker
        self._helpers: list[SessionWorker] = []
        self._loop = gevent.get_hub().loop
        self._n_calls = self._number = 0
        # Calls of this visit that were started; calls of this burst that may still be started.
        self._n_made = self._n_allowed = 0
        self._n_helping = 0
        self._is_waiting = False

    def receive(self, number: int, due: int, start: int) -> None:
        """Make the visit of arrival `number`: all its calls, or those up to the first failure."""
        self._user.arrive(number)
        self._visits = self._user.flow.visits
        self._n_calls = self._visits.n_calls
        self._number = number
        self._n_made = 0
        intended = due
        self._visits.note_begin(start)
        while True:
            self._make_burst(intended, start)
            if self._is_over:
                break
            if pause_ns := self._user.drawn_pause_ns():
                self._lead.pause_until(now() + pause_ns)
            if pause_ns or self._helpers:
                self._lead.check_for_strays()
            if self._is_over:
                break
            intended = start = now()
        for worker in (self._lead, *self._helpers):
            worker.check_for_strays()
        n_failed = self._user.n_failed
        if self._n_made < self._n_calls and self._context.is_stopped and not n_failed:
            # Still in progress when the run ends.
            return
        n_made, has_failed = self._n_made, n_failed > 0
        self._visits.note_end(due, now(), n_made - n_failed, n_made, has_failed=has_failed)

    def leave(self) -> None:
        """Close the connections that are still open."""
        for worker in (self._lead, *self._helpers):
            worker.leave()

    @property
    def _is_over(self) -> bool:
        return self._n_made == self._n_calls or self._is_cut_short

    @property
    def _is_cut_short(self) -> bool:
        if self._user.n_failed or self._context.is_stopped:
            return True
        # If connections arrive, one that the server closes is not replaced.
        has_lost_its_own = not self._visits.has_sessions and not self._lead.is_connected
        return has_lost_its_own and self._n_made > 0

    # --- bursts ----------------------------------------------------------------------------------
    def _make_burst(self, intended: int, start: int) -> None:
        session = self._context.session
        self._n_allowed = min(session.burst_length, self._n_calls - self._n_made)
        if session.first_call_alone and self._n_allowed > 1:
            self._make_call(self._lead, intended, start)
            self._lead.finish_replies()
            intended = start = now()
        most = min(self._context.at_once, self._n_allowed)
        n_helpers = 0 if self._is_cut_short else max(0, most - 1)
        while len(self._helpers) < n_helpers:
            helper = self._add_worker()
            helper.join(self._lead)
            helper.switch = gevent.spawn(self._help, helper).switch
            self._helpers.append(helper)
        self._n_helping = n_helpers
        for helper in self._helpers[:n_helpers]:
            self._loop.run_callback(helper.switch, _GO)
        self._work(self._lead, intended, start)
        if self._n_helping:
            self._is_waiting = True
            self._lead.idle_until(_DONE)
            self._is_waiting = False

    def _work(self, worker: SessionWorker, intended: int, start: int) -> None:
        """Make calls on one connection until the burst has no more."""
        while self._n_allowed and not self._is_cut_short:
            self._make_call(worker, intended, start)
            intended = start = now()
        worker.finish_replies()

    def _make_call(self, worker: SessionWorker, intended: int, start: int) -> None:
        nth = self._number * self._n_calls + self._n_made
        self._n_allowed -= 1
        self._n_made += 1
        pause_s = worker.call(self._requests[nth % len(self._requests)], intended, start)
        if self._context.session.retry_on_failure:
            self._retry(worker, pause_s)
        if self._n_made == 1:
            self._note_first()

    def _retry(self, worker: SessionWorker, pause_s: float | None) -> None:
        for _ in range(MAX_RETRIES):
            call = None if self._context.is_stopped else worker.take_failed_call()
            if call is None:
                return
            gevent.sleep(pause_s or 0)
            if self._context.is_stopped:
                self._user.n_failed += 1
                return
            start = now()
            self._visits.note_retry(start)
            pause_s = worker.call_again(call, start)

    # --- several at once ---------------------------------------------------------------------
    def _help(self, helper: SessionWorker) -> None:
        while True:
            helper.idle_until(_GO)
            helper.check_for_strays()
            start = now()
            self._work(helper, start, start)
            self._n_helping -= 1
            if self._is_waiting and not self._n_helping:
                self._loop.run_callback(self._lead.switch, _DONE)


class _AddsWorkers:
    """A driver whose visitors make several calls at a time."""

    def _add_worker(self) -> SessionWorker:
        worker = self._make_worker()
        self.workers.append(worker)
        return worker


class VisitLoad(_AddsWorkers, OpenLoad):
    """An open load whose `max_in_flight` counts visits, not requests."""

    def __init__(self, *settings: Any, context: SessionContext):
        super().__init__(*settings)
        self._context = context

    def _run(self, worker: Worker, arrival: Arrival) -> None:
        visitor = Visitor(worker, self._context, self._requests, self._add_worker)
        while True:
            number, due, queued = arrival
            visitor.receive(number, due, self._begin(due, queued))
            visitor.leave()
            # A failure may take no turn of the hub, and others want theirs.
            gevent.sleep(0)
            if self._queue and now() < self._give_up_ns:
                arrival = self._queue.popleft()
            else:
                arrival = self._wait_for_arrival(worker)

    def _events_of(self, number: int) -> dict[str, list[int]]:
        """The events of the step that the arrival's first call would send."""
        context, flow = self._context, self._context.flow_at(number)
        if not context.plan.keeps_sessions:
            return super()._events_of(number * flow.n_calls)
        first = context.plan.order.step_at(0, flow.n_steps, context.seed + number)
        return context.requests[flow.first + first].events

    def _queue_or_drop(self, number: int, due: int) -> None:
        super()._queue_or_drop(number, due)
        if self._drops:
            self._context.flow_at(number).visits.note_drop(due)

    def _drop_queue(self) -> None:
        for number, _, _ in self._queue:
            self._context.flow_at(number).visits.note_drop(now())
            if self._context.has_flows:
                self._events_of(number)["dropped"].append(now())
        if self._context.has_flows:
            self._queue.clear()
        super()._drop_queue()


class VisitWindow(_AddsWorkers, WindowLoad):
    """A window whose connections make several calls each.

    A connection is open when its first reply is complete; its other calls are not in the window.
    """

    def __init__(self, requests: Sequence[Request], context: SessionContext, *settings: Any):
        super().__init__(_open_nothing, *settings)
        self._requests = requests
        self._context = context
        self._n_calling = 0

    def _run(self, worker: Worker, task: tuple[int, bool]) -> None:
        to_hub = gevent.get_hub().switch
        add_worker, note_first = self._add_worker, self._note_first
        visitor = Visitor(worker, self._context, self._requests, add_worker, note_first)
        while True:
            start, (number, is_warm_up) = now(), task
            if self._has_ended(start):
                self._leave(worker)
            else:
                visitor.receive(number, start, start)
                connection = worker.detach()
                gevent.sleep(0)
                if connection is not None:
                    self._keep_or_close(connection, is_warm_up)
                self._idle.append(worker)
                self._n_calling -= 1
                self._note_left()
                self._refill()
                self._close_if_all_open()
            task = to_hub()

    def _note_first(self) -> None:
        self._n_calling += 1
        self._note_opened()

    @property
    def _n_open(self) -> int:
        return super()._n_open + self._n_calling

    @property
    def _n_left(self) -> int:
        return super()._n_left + self._n_calling

    def _close_if_all_open(self) -> None:
        if not self._n_calling:
            super()._close_if_all_open()

    @property
    def is_finished(self) -> bool:
        return not self._n_calling and super().is_finished


def _open_nothing(worker: Worker, number: int) -> None:
    """Visits open their own connections."""
