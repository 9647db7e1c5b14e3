"""The drivers of arrivals that are sessions, and of connections with several calls."""

from collections.abc import Sequence
from typing import Any

import gevent

from workers.injector.attempt import Request, Worker
from workers.injector.connection import Dialler, now
from workers.injector.loads import OpenLoad
from workers.injector.session import SessionWorker
from workers.injector.users import Script
from workers.injector.visit import Visitor
from workers.injector.window import WindowLoad, hold_open


class VisitLoad(OpenLoad):
    """An open load of which `max_in_flight` counts visits, whatever they have under way."""

    def __init__(self, *settings: Any, script: Script):
        super().__init__(*settings)
        self._script = script

    def _run(self, worker: Worker, arrival: tuple[int, int]) -> None:
        visitor = Visitor(worker, self._script, self._requests, self._add_worker)
        while True:
            visitor.receive(*arrival)
            visitor.leave()
            # A failure may take no turn of the hub, and others want theirs.
            gevent.sleep(0)
            if self._queue and now() < self._give_up_ns:
                arrival = self._queue.popleft()
            else:
                arrival = self._rest(worker)

    def _add_worker(self) -> SessionWorker:
        worker = self._make_worker()
        self.workers.append(worker)
        return worker

    def _events_of(self, number: int) -> dict[str, list[int]]:
        """Of the step that its first call would send."""
        script = self._script
        if not script.plan.keeps_sessions:
            return super()._events_of(number * script.book.n_calls)
        n_steps = len(script.requests)
        return script.requests[script.plan.order.step_at(0, n_steps, script.seed + number)].events

    def _put_off(self, arrival: tuple[int, int]) -> None:
        super()._put_off(arrival)
        if self._drops:
            self._script.book.dropped(arrival[1])

    def _drop_queue(self) -> None:
        self._script.book.dropped(now(), len(self._queue))
        super()._drop_queue()


class VisitWindow(WindowLoad):
    """A window of which each connection makes several calls.

    It is open when its first reply is complete; its other calls are no part of the window.
    """

    def __init__(
        self, requests: Sequence[Request], dialler: Dialler, script: Script, *settings: Any
    ):
        super().__init__(_open_nothing, *settings)
        self._requests = requests
        self._dialler = dialler
        self._script = script
        self._n_calling = 0

    def _run(self, worker: Worker, task: tuple[int, bool]) -> None:
        to_hub = gevent.get_hub().switch
        visitor = Visitor(worker, self._script, self._requests, self._make_worker, self._note_first)
        while True:
            number, is_warm_up = task
            visitor.receive(number, now())
            held = hold_open(worker, self._dialler)
            gevent.sleep(0)
            if held is not None:
                self._keep_or_close(held, is_warm_up)
            self._idle.append(worker)
            self._n_calling -= 1
            self._refill()
            self._close_if_all_open()
            task = to_hub()

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
    """Visits open their connections by themselves."""
