"""The drivers of arms that are measured side by side: each sends in its turns, and waits between.

A turn is told to them before it begins. What they open grows alike in all arms: an arm whose own
stalls had opened more connections would carry its history into every later round.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import gevent

from campaigns.domain.plan.arrivals import AnySchedule, LoadSlice
from campaigns.domain.plan.load import WhenSaturated
from workers.injector.attempt import Worker
from workers.injector.connection import now
from workers.injector.loads import ClosedLoad, ClosedStage, OpenLoad
from workers.injector.pacer import Lead, make_pacer
from workers.injector.request import Request
from workers.injector.turns import ArmTurn
from workers.injector.visits import VisitLoad

_EXTRA = -1


class ArrivalsInTurns:
    """(number, due ns) of an arm's own arrivals, put off while others have their turn. To iterate
    ends with the last turn that is known; a new iterator goes on with the next."""

    def __init__(self) -> None:
        self._own: Iterator[tuple[int, int]] = iter(())
        self._next: tuple[int, int] | None = None
        self._turns: deque[ArmTurn] = deque()

    def begin(self, schedule: AnySchedule) -> None:
        """With the turns that come from now on."""
        self._turns.clear()
        self._own = iter(schedule)
        self._next = next(self._own, None)

    def add(self, turn: ArmTurn) -> None:
        self._turns.append(turn)

    @property
    def are_over(self) -> bool:
        return self._next is None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        turns, own = self._turns, self._own
        while turns and self._next is not None:
            turn = turns[0]
            while turn.n_extra:
                turn.n_extra -= 1
                turn.n_begun += 1
                yield _EXTRA, turn.begin_ns
            put_off_ns = turn.begin_ns - turn.own_begin_ns
            until_ns = turn.own_begin_ns + turn.length_ns
            while self._next is not None:
                number, own_ns = self._next
                if own_ns >= until_ns:
                    break
                self._next = next(own, None)
                turn.n_begun += 1
                yield number, own_ns + put_off_ns
            turns.popleft()


class OpenTurns(OpenLoad):
    """Arrivals at their due times, in turns. `n_wanted`: how many connections others have."""

    def __init__(
        self,
        requests: list[Request],
        make_worker: Callable[[], Worker],
        most: int,
        drain_ns: int,
        when_saturated: WhenSaturated,
        lead: Lead,
        **more: Any,
    ):
        super().__init__(requests, make_worker, (), most, drain_ns, when_saturated, lead, **more)
        self._in_turns = ArrivalsInTurns()
        self._is_stopped = False
        self.n_wanted = 0

    def begin(self, schedule: AnySchedule) -> None:
        """Send this from the next turn on."""
        self._in_turns.begin(schedule)
        self._next = None

    def take_turn(self, turn: ArmTurn) -> None:
        if self._is_stopped:
            return
        self._in_turns.add(turn)
        if self._next is None:
            self._give_up_ns = 1 << 62
            self._arrivals = iter(self._in_turns)
            self._next = next(self._arrivals, None)
            self._wake_for_next()

    @property
    def is_used_up(self) -> bool:
        """Whether all of its arrivals were sent."""
        return self._next is None and self._in_turns.are_over

    def stop(self) -> None:
        self._is_stopped = True
        super().stop()

    def _hand_over(self, number: int, due: int) -> None:
        n_workers = len(self.workers)
        if n_workers < self.n_wanted or (number == _EXTRA and n_workers < self._max_in_flight):
            self._take_slot((number, due, 0))
        elif self._idle:  # the usual case, in one call: each arrival pays for another
            self._idle.pop().switch((number, due, 0))
        else:
            super()._hand_over(number, due)


class VisitTurns(OpenTurns, VisitLoad):
    """Visits arrive in turns; one that is under way at the end of a turn goes on."""

    def _hand_over(self, number: int, due: int) -> None:
        self._context.flow_at(number).visits.note_arrival(due)
        super()._hand_over(number, due)


class ClosedTurns(ClosedLoad):
    """Each connection sends its next request when the reply to the previous one is complete; the
    last of a turn is waited for in the turns of others. `counts_begun`: a request begins when it
    is taken; else workers tell turns what begins."""

    def __init__(
        self,
        requests: list[Request],
        make_worker: Callable[[], Worker],
        shard: LoadSlice,
        n_connections: int,
        lead: Lead,
    ):
        super().__init__(requests, make_worker, shard, [0] * n_connections, None)
        self._most: int | None = None
        self._numbers: Iterator[int] = iter(())
        self._turns: deque[ArmTurn] = deque()
        self._waiting = [worker for _, worker in self._idle]
        self._idle.clear()
        self._running: set[Worker] = set()
        self._stage = ClosedStage(0, 0, iter(()).__next__)
        self._turn_pacer = make_pacer(self._begin_turn, lead)
        self.is_used_up = self._is_stopped = False
        self.counts_begun = True

    def begin(self, most: int | None) -> None:
        """Send those with lower numbers from the next turn on; None: any number."""
        self._turns.clear()
        self._numbers, self._most = self._shard.all(), most
        self.is_used_up = False

    def take_turn(self, turn: ArmTurn) -> None:
        if self._is_stopped:
            return
        self._turns.append(turn)
        self._turn_pacer.wake_at(self._turns[0].begin_ns)

    def _begin_turn(self) -> None:
        """In the hub: those that are idle send; others when their reply has come."""
        if not self._turns:
            return
        turn = self._turns.popleft()
        if self._turns:
            self._turn_pacer.wake_at(self._turns[0].begin_ns)
        self._stage = ClosedStage(turn.end_ns, 1 << 62, self._taking(turn))
        waiting, self._waiting = self._waiting, []
        for worker in waiting:
            if worker in self._running:
                worker.switch(self._stage)
            else:
                self._running.add(worker)
                worker.switch = gevent.Greenlet(self._run, worker).switch
                worker.switch()

    def _taking(self, turn: ArmTurn) -> Callable[[], int]:
        """Which request is next, within a turn that counts them."""
        numbers, most = self._numbers, self._most

        def take() -> int:
            number = next(numbers)
            if most is not None and number >= most:
                self.is_used_up = True
                return 1 << 62
            if self.counts_begun:
                turn.n_begun += 1
            return number

        return take

    def _run(self, worker: Worker) -> None:
        stage = self._stage
        while True:
            self._n_running += 1
            try:
                self._go_through(worker, stage)
            finally:
                self._n_running -= 1
            stage = self._wait_for_turn(worker)
            worker.check_for_strays()

    def _wait_for_turn(self, worker: Worker) -> ClosedStage:
        if now() < self._stage.until and not (self.is_used_up or self._is_stopped):
            return self._stage
        self._waiting.append(worker)
        to_hub = gevent.get_hub().switch
        while True:
            stage: Any = to_hub()
            if isinstance(stage, ClosedStage):
                return stage
            if worker.connection is not None:
                worker.check_idle()

    def stop(self) -> None:
        self._is_stopped = True
        self._turns.clear()
        self._stage.until = 0


TurnLoad = OpenTurns | ClosedTurns
