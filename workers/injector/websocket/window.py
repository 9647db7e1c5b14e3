"""Opens WebSockets within a window; a connection leaves it when its opening handshake is over.

Messages and the closing handshake happen outside the window, as with wsperf. Held connections stay
open between the two, until their time is over or, with keep_until_all, until all are open.
"""

from collections.abc import Callable
from typing import Any

import gevent

from campaigns.domain.plan.load import Hold
from workers.injector.connection import now
from workers.injector.websocket.conversation import HeldSocket
from workers.injector.websocket.exchange_context import ExchangeContext
from workers.injector.websocket.worker import WebSocketWorker
from workers.injector.window import WindowLoad


class WebSocketWindow(WindowLoad):
    """A window whose connections continue on their own once they are open."""

    workers: list[WebSocketWorker]

    def __init__(
        self, context: ExchangeContext, make_worker: Callable[[], WebSocketWorker], *settings: Any
    ):
        super().__init__(self._attempt, make_worker, *settings)
        self._context = context
        self._n_released = 0
        self._n_past_opening = 0

    @property
    def _n_open(self) -> int:
        """Connections past their opening: they exchange messages, are held, or close."""
        return self._n_past_opening

    @property
    def _n_left(self) -> int:
        return super()._n_left + self._n_past_opening

    def _work(self, worker: WebSocketWorker, number: int, is_warm_up: bool) -> None:
        """One connection from start to end; it leaves the window when it is open or has failed."""
        is_held = self._hold != Hold.CLOSE and not is_warm_up
        worker.held_socket = HeldSocket() if is_held else None
        worker.note_opened = self._note_one_opened
        self._attempt(worker, number)
        self._idle.append(worker)
        if worker.is_open:
            self._n_past_opening -= 1
            self._note_left()
            self._refill()
        else:
            self._note_opened()

    def _attempt(self, worker: WebSocketWorker, _: int) -> None:
        start = now()
        pause_s = worker.attempt(self._context, start, start)
        if worker.held_socket is not None:
            worker.held_socket.close()
            if worker.held_socket.is_released:
                self._n_released -= 1
                self._close_held()
        if pause_s:
            gevent.sleep(pause_s)

    def _close_held(self) -> None:
        """Release as many as may be opened at a time; each one that ends makes room for the next.

        All at once would measure the rush at the end, not the server. A stop releases all.
        """
        while self._held and (self._is_stopped or self._n_released < self._marks.high):
            held_socket = self._held.popleft()[1]
            if not held_socket.is_over:
                held_socket.is_released = True
                self._n_released += 1
                held_socket.close()

    def _note_one_opened(self, worker: WebSocketWorker) -> None:
        """Called in the middle of the worker's attempt."""
        if worker.held_socket is not None:
            self._keep_or_close(worker.held_socket, is_warm_up=False)
        self._n_past_opening += 1
        self._note_opened()

    @property
    def is_finished(self) -> bool:
        return super().is_finished and not any(worker.began for worker in self.workers)
