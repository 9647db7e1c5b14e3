"""One of several arms that a process measures side by side: what it sends, and what was seen."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any

import numpy as np

from campaigns.domain.metrics.injector_end import InjectorEnd
from campaigns.domain.metrics.snapshot import Second
from campaigns.domain.plan import arrivals
from campaigns.domain.plan.load import Load, peak_rate_per_s
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.plan.turns import (
    LONGEST_TRIAL_S,
    has_pauses,
    load_at_rate,
    messages_take_turns,
    paced_per_s,
)
from workers.injector import crew
from workers.injector.connection import NS, now
from workers.injector.crew import Crew
from workers.injector.engine import connections_end, in_order, make_dialler, reads_one_by_one
from workers.injector.guard import Guard, resolve
from workers.injector.order import Order
from workers.injector.pacer import Alarm, Lead
from workers.injector.preflight import Capacity, find_capacity
from workers.injector.read_delay import ReadSample
from workers.injector.recorder import NEVER
from workers.injector.request import streams_of, wire_mode
from workers.injector.seconds import Seconds, in_flight_of
from workers.injector.tls_library import KeyLog
from workers.injector.turn_loads import ClosedTurns, OpenTurns, VisitTurns
from workers.injector.turns import (
    RESPONSE,
    ArmTurn,
    ExchangeTurnRecorder,
    MessageTurnRecorder,
    Pace,
    TurnRecorder,
    Turns,
    VisitTurnRecorder,
)

# How many connections are opened at once before the first turn, of an open load.
_POOL_S, _MOST_AT_ONCE = 0.2, 40


class ArmInTurns:
    """`turns` are all of its turns so far; `load` sends in them."""

    def __init__(
        self,
        order: Order,
        reads: ReadSample,
        lead: Lead,
        n_arms: int,
        write: Callable[[Second], None],
        is_calm: Callable[[int], bool],
        key_log: KeyLog | None = None,
    ):
        """Raises Refusal."""
        self.order = order
        self._guard = Guard(order.endpoint, order.allowed, order.never)
        self._guard.admit(resolve(order.endpoint.dialled, order.endpoint.port))
        self.capacity: Capacity = find_capacity(order, self._guard.addresses, n_arms)
        self.turns = Turns()
        self.dialler = make_dialler(order, self._guard, reads, key_log)
        talk = order.plan.exchange
        is_exact = reads_one_by_one(order) if talk is None else talk.goes_step_by_step
        settings = {"turns": self.turns, "is_exact": is_exact}
        self._has_messages = messages_take_turns(order.plan)
        # Of what waits for the next turn.
        self._alarm = Alarm(lead) if self._has_messages or has_pauses(order.plan) else None
        of_exchange = MessageTurnRecorder if self._has_messages else ExchangeTurnRecorder
        recorders = partial(TurnRecorder, **settings), partial(of_exchange, **settings)
        self.crew = Crew(order, self.dialler, *recorders)
        # Its clock stands still in the trial.
        self.crew.keeper.forget_warm_up()
        self.visits: list[VisitTurnRecorder] = []
        for flow in self.crew.sessions.flows if self.crew.visits else ():
            has_sessions = flow.visits.has_sessions
            flow.visits = VisitTurnRecorder(
                flow.n_calls, has_sessions=has_sessions, turns=self.turns
            )
            flow.visits.zero_ns = NEVER
            self.visits.append(flow.visits)
        self.load = self._make_load(lead)
        if self._alarm is not None:
            self._have_workers_take_turns()
        for recorder in self.crew.recorders:
            recorder.queued_at = self.load.queued_at
        self.seconds = Seconds(self.crew, self.dialler, self.load.workers, write, is_calm)
        self.seconds.begin(NEVER, 1)
        self._own_ns = 0
        self._zero_ns = NEVER

    def _make_load(self, lead: Lead) -> OpenTurns | ClosedTurns:
        plan, shard = self.order.plan, self.order.shard
        requests = in_order(self.crew.requests, plan.order, self.order.seed)
        make_worker = self.crew.make_worker
        if arrivals.is_scheduled(plan.load):
            drain_ns = int(plan.timeouts.total_s * NS)
            settings = self.capacity.connections, drain_ns, plan.load.when_saturated
            if self.visits:
                return VisitTurns(
                    requests, make_worker, *settings, lead, context=self.crew.sessions
                )
            return OpenTurns(requests, make_worker, *settings, lead)
        n_workers = arrivals.connections_of(plan.load, shard) * self.n_streams
        make = ClosedTurns
        if self.crew.streams is not None:
            from workers.injector.http2.worker import StreamTurns

            make = StreamTurns
        return make(requests, make_worker, shard, n_workers, lead)

    def _have_workers_take_turns(self) -> None:
        """They pause until later turns."""
        load, shard, exchange = self.order.plan.load, self.order.shard, self.crew.exchange
        self.load.counts_begun = False
        if exchange is None:
            self.crew.sessions.take_turns(self.turns, self._alarm)
            return
        n_all = load.connections or 1
        phases = {worker: shard.nth(n) / n_all for n, worker in enumerate(self.load.workers)}
        exchange.take_turns(self.turns, self._alarm, phases)
        exchange.recorder.keeper = None  # the connections that the trial opens would be missing

    @property
    def n_streams(self) -> int:
        """How many requests a connection takes at a time."""
        return streams_of(self.order.plan, self.order.mode)

    @property
    def is_kept(self) -> bool:
        """Whether its connections serve more than one request."""
        return wire_mode(self.order.plan, self.order.mode) == ConnectionMode.KEEP_ALIVE

    @property
    def opens_more(self) -> bool:
        """Whether it opens a connection where all are busy, and keeps it."""
        return self.is_kept and arrivals.is_scheduled(self.order.plan.load) and not self.visits

    @property
    def n_connections(self) -> int:
        """Those that it may use by now."""
        streams = self.crew.streams
        return len(self.load.workers) if streams is None else streams.n_links

    def want_connections(self, least: int) -> None:
        """Have its next arrivals open connections until there are so many."""
        if self.crew.streams is None:
            self.load.n_wanted = least
        else:
            self.crew.streams.want_links(least)

    @property
    def addresses(self) -> list[str]:
        return self._guard.addresses

    @property
    def rate_per_s(self) -> float | None:
        """Of stages the highest; of messages those of all connections. None where only replies
        decide."""
        plan = self.order.plan
        return paced_per_s(plan) if self._has_messages else peak_rate_per_s(plan.load)

    def try_pace(self, pace: Pace) -> None:
        """Send at this pace from the next turn on, to see whether it is kept up with."""
        per_s = 0.0 if self._has_messages else pace.rate_per_s or 0.0
        n_most, load = ceil(LONGEST_TRIAL_S * per_s), self.order.plan.load
        even = replace(load, rate_per_s=pace.rate_per_s, stages=()) if load.stages else load
        self._begin(even, pace, {"requests": n_most or None})

    def measure(self, pace: Pace, zero_ns: int, most_s: float) -> None:
        """Begin its plan's own schedule: what is sent from here on counts."""
        load = self.order.plan.load
        self._zero_ns = zero_ns
        until_time = {"duration_s": min(most_s, load.duration_s or most_s)}
        until = until_time if load.requests is None else {"requests": load.requests}
        self._begin(load, pace, {} if load.stages else until)
        self.seconds.begin(zero_ns, 1)
        if self._alarm is not None and self.crew.sessions is not None:
            # Who pauses takes another request, which counts.
            self.crew.sessions.begin(zero_ns, None)
            self._alarm.ring_now()
        for visits in self.visits:
            visits.zero_ns = zero_ns

    def _begin(self, load: Load, pace: Pace, until: dict[str, Any]) -> None:
        self._own_ns, shard = 0, self.order.shard
        if self._has_messages and pace.rate_per_s is not None:
            self.crew.exchange.send_at(pace.rate_per_s / (load.connections or 1))
        if self._has_messages or pace.rate_per_s is None:
            most = arrivals.requests_of(replace(load, requests=until.get("requests")), shard)
            self.load.begin(None if most is None else shard.nth(most))
            return
        load = load_at_rate(load, pace.rate_per_s)
        load = replace(load, **{"duration_s": None, "requests": None, **until})
        self.load.begin(arrivals.schedule(load, shard=shard, seed=self.order.seed))

    def take_turn(self, begin_ns: int, pace: Pace, *, is_first: bool = False) -> ArmTurn:
        """`is_first`: open as many connections as a stall may take, alike in all arms."""
        length_ns, gap_ns = round(pace.slice_s * NS), round(pace.gap_s * NS)
        turn = ArmTurn(begin_ns, self._own_ns, length_ns, gap_ns)
        if is_first and self.opens_more:
            own_per_s = pace.rate_per_s * float(self.order.shard.share)
            turn.n_extra = max(1, min(_MOST_AT_ONCE, round(own_per_s * _POOL_S)))
        self._own_ns += length_ns
        self.turns.add(turn, is_measured=begin_ns >= self._zero_ns)
        self.load.take_turn(turn)
        if self._alarm is not None:
            # Those that did not know when it would begin.
            self._alarm.ring_now(since=NEVER)
        return turn

    def knows_all(self, turn: ArmTurn, instant: int) -> bool:
        """Whether all that was due in a turn has ended, and all that follows from it."""
        if self._has_messages:
            end_ns, talking = self.turns.clock_ns(turn.end_ns), self.crew.exchange.talking
            return turn.is_complete(instant) and all(each.next_ns >= end_ns for each in talking)
        if not self.visits:
            return turn.is_complete(instant)
        if instant < turn.end_ns or not all(each.are_over(turn.end_ns) for each in self.visits):
            return False
        self.gather()
        return True

    @property
    def n_awaited(self) -> int:
        """Requests under way, and connections that are being opened; or messages."""
        under_way = len(in_flight_of(self.load.workers))
        if not self._has_messages:
            return under_way
        talking = self.crew.exchange.talking
        return under_way - len(talking) + sum(each.n_unanswered for each in talking)

    def gather(self) -> None:
        """Have the turns know all that has ended."""
        for worker in self.load.workers:
            if not worker.is_winding_down:
                worker.settle()
        for recorder in self.crew.recorders:
            recorder.compact()

    def end_measuring(self) -> None:
        """No other turn follows the last one."""
        last = self.turns.all[-1]
        self.seconds.end_measuring(max(last.end_ns + last.gap_ns, now()))

    def leave(self) -> None:
        """Have those that pause until another turn wait for none."""
        if self._alarm is not None:
            self.crew.stop()

    def end(self) -> InjectorEnd:
        recorders = self.crew.recorders
        last_end_ns = max(recorder.last_end_ns for recorder in recorders)
        last_start_ns = max(recorder.last_start_ns for recorder in recorders)
        return replace(
            connections_end(self.crew, self.dialler),
            totals=self.seconds.total.counters,
            errors=self.seconds.total.errors,
            in_flight=self.n_awaited,
            sessions_in_flight=self.crew.sessions_in_flight,
            duration_us=self.turns.own_us(last_end_ns),
            sending_us=self.turns.own_us(last_start_ns),
            measured_us=self.turns.own_us(last_end_ns),
            tail_us=self.seconds.times_us()["tail_us"],
        )

    def p95_s(self, since: int) -> float:
        """Of the responses in its turns from that number on."""
        rows = [part[:, RESPONSE] for turn in self.turns.all[since:] for part in turn.ok]
        return float(np.percentile(np.concatenate(rows), 95)) / 1e6 if rows else 0.0


def planned_requests(arms: list[ArmInTurns]) -> int | None:
    """Of all arms, where their plans say so; what is settled before needs fewer."""
    each = [crew.requests_of(arm.order.plan, arm.order.shard) for arm in arms]
    return None if None in each else sum(each)
