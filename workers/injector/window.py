"""The window driver: keeps the number of connections being opened between two marks.

It opens connections until the high mark is reached, waits until fewer than the low mark are being
opened, and then fills up to the high mark again in one burst. Open connections do not count; they
are held or closed. A callable opens each connection, so the driver works with any protocol.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import gevent

from campaigns.domain.plan.load import Hold
from workers.injector.attempt import Worker
from workers.injector.connection import NS, now
from workers.injector.holding import Held
from workers.injector.loads import NoteLeft, note_nothing
from workers.injector.pacer import make_pacer
from workers.injector.request import Request

# Opens connection number k; returns it once open, or None if it failed or is closed already. It
# records its own attempt, and sets `began` and `limit` of its worker as an attempt does.
OpenOne = Callable[[Worker, int], Held | None]


@dataclass(frozen=True, slots=True)
class Marks:
    """`max_open`: how many connections may be open or opening here, held ones included."""

    low: int
    high: int
    max_open: int


class WindowLoad:
    """Opens connections until `numbers` run out or time is up, with one worker per opening."""

    def __init__(
        self,
        open_one: OpenOne,
        make_worker: Callable[[], Worker],
        numbers: Iterable[int] | None,
        marks: Marks,
        hold: tuple[Hold, float],
        events: dict[str, list[int]],
        offset_ns: int = 0,
    ):
        """`numbers`: the run-wide numbers this process opens; None if only time ends the load.

        `offset_ns`: how long after the start this process begins.
        """
        self._open_one = open_one
        self._make_worker = make_worker
        self._numbers = iter(range(1 << 62) if numbers is None else numbers)
        self._marks = marks
        self._hold, hold_s = hold
        self._hold_ns = int(hold_s * NS)
        self._events = events
        self._loop = gevent.get_hub().loop
        self._offset_ns = offset_ns
        self._has_begun = False
        self._pacer = make_pacer(self._wake)
        self._next: int | None = next(self._numbers, None)
        self._zero_ns = 0
        self._end_ns: int | None = None
        self._is_stopped = False
        self._n_opening = 0
        self._idle: list[Worker] = []
        self._held_sockets: deque[tuple[int, Held]] = deque()
        self.workers: list[Worker] = []
        self.n_dropped = 0
        self.note_left: NoteLeft = note_nothing
        self.queued_at: dict[int, int] = {}

    def start(self, zero_ns: int, end_ns: int | None) -> None:
        """Open now as warm-up, and from `zero_ns` on for good."""
        self._zero_ns, self._end_ns = zero_ns, end_ns
        if self._offset_ns:
            self._pacer.wake_at(now() + self._offset_ns)
        else:
            self._wake()

    def _wake(self) -> None:
        if self._has_begun:
            while self._held_sockets and self._held_sockets[0][0] <= now():
                self._held_sockets.popleft()[1].close()
            if self._held_sockets:
                self._pacer.wake_at(self._held_sockets[0][0])
            self._refill()
        else:
            self._has_begun = True
            self._fill()

    def _is_over(self, instant: int) -> bool:
        return self._next is None or self._has_ended(instant)

    def _has_ended(self, instant: int) -> bool:
        """Whether even what is next in a burst must not be opened any more."""
        return self._is_stopped or (self._end_ns is not None and instant >= self._end_ns)

    def _fill(self) -> None:
        """One burst: up to the high mark, or to the most this process may have open."""
        marks, instant = self._marks, now()
        while not self._is_over(instant):
            at_most = min(marks.high, marks.max_open - self._n_open)
            if self._n_opening >= at_most:
                self._events["window_throttled"].append(instant)
                return
            self._n_opening += 1
            number, is_warm_up = self._next, instant < self._zero_ns
            if not is_warm_up:  # which uses no numbers up
                self._next = next(self._numbers, None)
            if self._idle:
                # Not at once: this may be another worker's turn.
                self._loop.run_callback(self._idle.pop().switch, (number, is_warm_up))
                continue
            worker = self._make_worker()
            self.workers.append(worker)
            worker.switch = gevent.spawn(self._run, worker, (number, is_warm_up)).switch

    @property
    def _n_open(self) -> int:
        """Open connections, without those still being opened."""
        return len(self._held_sockets)

    def _run(self, worker: Worker, task: tuple[int, bool]) -> None:
        to_hub = gevent.get_hub().switch
        while True:
            if self._has_ended(now()):
                self._leave(worker)
            else:
                self._work(worker, *task)
            # A switch without a value is a late wake-up for something that has ended.
            while not (task := to_hub()):
                pass

    def _work(self, worker: Worker, number: int, is_warm_up: bool) -> None:
        """Open one connection, then become idle again."""
        connection = self._open_one(worker, number)
        if connection is not None:
            self._keep_or_close(connection, is_warm_up)
        self._leave(worker)

    def _leave(self, worker: Worker) -> None:
        """Its opening has succeeded, has failed, or was never begun."""
        self._idle.append(worker)
        self._note_opened()

    def _keep_or_close(self, connection: Held, is_warm_up: bool) -> None:
        if self._hold == Hold.CLOSE or is_warm_up or self._is_stopped:
            connection.close()
            return
        self._held_sockets.append((now() + self._hold_ns, connection))
        if self._hold == Hold.KEEP_S and len(self._held_sockets) == 1:
            self._pacer.wake_at(self._held_sockets[0][0])

    def _note_opened(self) -> None:
        """An opening succeeded or failed; below the low mark the next burst begins."""
        self._n_opening -= 1
        self._note_left()
        self._refill()
        self._close_if_all_open()

    def _note_left(self) -> None:
        if self._next is None:
            self.note_left(now(), self._n_left)

    @property
    def _n_left(self) -> int:
        """Connections that have yet to do what is measured."""
        return self._n_opening

    def _close_if_all_open(self) -> None:
        if self._hold == Hold.KEEP_UNTIL_ALL and not self._n_opening and self._is_over(now()):
            self._close_held()

    def _refill(self) -> None:
        has_room = self._n_open + self._n_opening < self._marks.max_open
        if self._n_opening < self._marks.low and has_room and not self._is_over(now()):
            self._events["window_resumed"].append(now())
            self._fill()

    def _close_held(self) -> None:
        while self._held_sockets:
            self._held_sockets.popleft()[1].close()

    def is_calm(self, _: int) -> bool:
        """What is opened next is known at no instant before."""
        return True

    def stop(self) -> None:
        """Open nothing new; what is held is closed."""
        self._is_stopped = True
        self._close_held()

    @property
    def is_finished(self) -> bool:
        return not self._n_opening and not self._held_sockets and self._is_over(now())


def make_http_opener(requests: Sequence[Request]) -> OpenOne:
    """Opens a connection with one request: it counts as open when the reply is complete."""
    n_requests = len(requests)

    def open_one(worker: Worker, number: int) -> Held | None:
        start = now()
        pause_s = worker.attempt(requests[number % n_requests], start, start)
        if pause_s is not None:
            gevent.sleep(pause_s)
        return worker.detach()

    return open_one
