"""A closed load on streams: each stream sends its next request when its reply is complete."""

from typing import Any

import gevent

from workers.injector.connection import now
from workers.injector.http2.worker import OnStreams, StreamWorker
from workers.injector.loads import ClosedLoad


class ClosedStreams(ClosedLoad):
    """A worker takes a number only once it has a place on the connection, so that no request's time
    has the wait for one in it: the server may allow fewer streams than there are workers."""

    workers: list[OnStreams]

    def __init__(self, *settings: Any, longest_wait_ns: int):
        super().__init__(*settings)
        self._longest_wait_ns = longest_wait_ns

    def _go_through(self, worker: OnStreams, stage: Any) -> None:
        worker.stays = True
        if type(worker) is StreamWorker:
            worker.follow = self._follow_in(stage)
        requests = self._requests
        n_steps = len(requests)
        while True:
            place = worker.place
            if place is None or not place.lets_stay:
                worker.await_place(stage.until, self._longest_wait_ns)
            start = now()
            if start >= stage.until:
                return
            number = stage.take()
            if number >= stage.limit:
                self._idle.clear()
                return
            pause_s = worker.attempt(requests[number % n_steps], start, start)
            if pause_s is not None:
                gevent.sleep(pause_s)
