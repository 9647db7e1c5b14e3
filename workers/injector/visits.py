"""The drivers for arriving sessions, and for connections with several calls."""

from collections.abc import Sequence
from typing import Any

import gevent

from workers.injector.attempt import Worker
from workers.injector.connection import now
from workers.injector.loads import Arrival, OpenLoad
from workers.injector.request import Request
from workers.injector.session import SessionWorker
from workers.injector.users import SessionContext
from workers.injector.visit import Visitor
from workers.injector.window import WindowLoad


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
        context = self._context
        if not context.plan.keeps_sessions:
            return super()._events_of(number * context.visits.n_calls)
        n_steps = len(context.requests)
        return context.requests[
            context.plan.order.step_at(0, n_steps, context.seed + number)
        ].events

    def _queue_or_drop(self, number: int, due: int) -> None:
        super()._queue_or_drop(number, due)
        if self._drops:
            self._context.visits.dropped(due)

    def _drop_queue(self) -> None:
        self._context.visits.dropped(now(), len(self._queue))
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
            start = now()
            if self._has_ended(start):
                self._leave(worker)
            else:
                self._visit(worker, visitor, start, *task)
            task = to_hub()

    def _visit(
        self, worker: SessionWorker, visitor: Visitor, start: int, number: int, is_warm_up: bool
    ) -> None:
        visitor.receive(number, start, start)
        held = worker.detach()
        gevent.sleep(0)
        if held is not None:
            self._keep_or_close(held, is_warm_up)
        self._idle.append(worker)
        self._n_calling -= 1
        self._refill()
        self._close_if_all_open()

    def _note_first(self) -> None:
        self._n_calling += 1
        self._note_opened()

    @property
    def _n_open(self) -> int:
        return super()._n_open + self._n_calling

    def _close_if_all_open(self) -> None:
        if not self._n_calling:
            super()._close_if_all_open()

    @property
    def is_finished(self) -> bool:
        return not self._n_calling and super().is_finished


def _open_nothing(worker: Worker, number: int) -> None:
    """Visits open their own connections."""
