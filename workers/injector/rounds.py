"""Measures several arms side by side: in each round every arm has one turn, in an order drawn anew.

A trial comes first, which finds how long turns must be; it is the warm-up too. Then rounds follow
one another until all is settled, or the time is up. Several processes that share a run have the
same turns: they are told a pace that all keep up with and when rounds begin, and that all is
settled, because none of them knows what the others have seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil, inf
from typing import Any, Protocol

import gevent
import numpy as np
from gevent.event import AsyncResult, Event

from campaigns.domain.analysis.side_by_side import LOOKS, is_settled, next_look
from campaigns.domain.lifecycle import StopReason
from campaigns.domain.metrics.injector_end import COMPLETE, STOPPED, ArmsEnd, ArmsRound
from campaigns.domain.metrics.snapshot import Second
from campaigns.domain.plan.load import planned_duration_s
from campaigns.domain.plan.load_rules import smallest_share
from campaigns.domain.plan.turns import LONGEST_TRIAL_S, TRIAL_S, paced_per_s, slowest_share
from workers.injector.arm import ArmInTurns, planned_requests
from workers.injector.attempt import interrupt_overdue
from workers.injector.connection import NS, now
from workers.injector.engine import DRAIN_ON_STOP_S, longest_attempt_ns, start_timers, watch_memory
from workers.injector.order import ArmsOrder
from workers.injector.pacer import Lead
from workers.injector.read_delay import ReadSample
from workers.injector.seconds import TICK_S, in_flight_of
from workers.injector.tls_library import KeyLog
from workers.injector.turns import ArmTurn, Pace, next_pace
from workers.injector.vitals import HubLag, RestingCollector, cpu_s

_STAGE_S = 1.5
_FEWEST_OF_STAGE, _ENOUGH_TO_SEE_A_QUEUE = 4, 10
_SOON_NS, _PATIENCE_NS = NS // 200, 2 * NS
_MOMENT_S = 0.01
_SHARED = ("slice_s", "gap_s", "rate_per_s", "keeps_up")  # of the pace of all processes


class ArmsOutput(Protocol):
    """Where what was seen goes."""

    def second(self, second: Second, arm: int) -> None: ...

    def requests(self, line: dict[str, Any], arm: int) -> None: ...
    def pace(self, facts: dict[str, Any]) -> None: ...
    def round(self, each: ArmsRound) -> None: ...


class Rounds:
    """All arms of one order. `prepare`, then `run`; `stop` may come at any time."""

    def __init__(self, order: ArmsOrder, output: ArmsOutput, key_log: KeyLog | None = None):
        self._order, self._turns = order, order.turns
        self._output = output
        self._key_log = key_log
        self._rng = self._order_rng()
        self._reads = ReadSample(is_on=True)
        self._hub_lag = HubLag(int(TICK_S * NS))
        self._n_sweeps = 0
        self._arms: list[ArmInTurns] = []
        self._over = Event()
        self._has_conducted = False
        self._stop_reason: StopReason | None = None
        self._abort_at_ns: int | None = None
        self._zero_ns = 1 << 62
        self._warnings: list[str] = []
        # Several processes: what they are told of the rounds that all of them have.
        self._is_shared = order.arms[0].shard.count > 1
        self._begin: AsyncResult = AsyncResult()
        self._all_is_settled = False
        # Rounds that were begun: number and order; and places of those that are not told yet.
        self._round_orders: list[tuple[int, list[int]]] = []
        self._pending_places: list[int] = []
        self._n_missed = 0
        self._rounds: list[ArmsRound] = []
        self._first = 0  # round of the present stage, or of the measurement
        self._end_ns = 0  # of the last whole round of the measurement

    def prepare(self) -> dict[str, Any]:
        """All that can fail before a packet is sent. The facts of `ready`; raises Refusal."""
        lead, orders = Lead(), self._order.arms
        for number, order in enumerate(orders):

            def write(second: Second, number: int = number) -> None:
                self._output.second(second, number)

            settings = self._reads, lead, len(orders), write, self._is_calm, self._key_log
            self._arms.append(ArmInTurns(order, *settings))
        capacities = [arm.capacity for arm in self._arms]
        texts = [text for capacity in capacities for text in capacity.warnings]
        self._warnings = list(dict.fromkeys(texts))
        return {
            "resolved": list(dict.fromkeys(ip for arm in self._arms for ip in arm.addresses)),
            "connections": sum(capacity.connections for capacity in capacities),
            "descriptors": capacities[0].descriptors,
            "cpu_quota": capacities[0].cpu_quota,
            "planned_requests": planned_requests(self._arms),
            "warnings": self._warnings,
        }

    def run(self, start_ns: int) -> ArmsEnd:
        """Send from `start_ns` (CLOCK_MONOTONIC) on, the trial first; returns the end."""
        self._reads.begin()
        with RestingCollector() as collector:
            timers = start_timers(self._sweep, self._tick)
            began = cpu_s()
            self._arms[0].seconds.watch(partial(watch_memory, collector, self.stop))
            for arm in self._arms[1:]:
                arm.seconds.watch()
            conductor = gevent.spawn(self._conduct, start_ns)
            self._over.wait()
            if conductor.ready():
                conductor.get()  # raises what ended it
            conductor.kill()
            for timer in timers:
                timer.stop()
            self._tell_lags()
            for arm in self._arms:
                arm.crew.close()
                arm.seconds.end(arm.load.n_dropped)
            self._tell_rounds()
        for number, arm in enumerate(self._arms):
            if line := arm.crew.keeper.line():
                self._output.requests(line, number)
            arm.dialler.close()
        user_s, system_s = (after - before for after, before in zip(cpu_s(), began, strict=True))
        return ArmsEnd(
            outcome=COMPLETE if self._stop_reason is None else STOPPED,
            reason=self._stop_reason or "",
            rounds=len(self._rounds),
            settled=self._all_is_settled if self._is_shared else self._is_settled(),
            measured_us=max(0, min(now(), self._end_ns) - self._zero_ns) // 1000,
            cpu_us=round((user_s + system_s) * 1e6),
            cpu_user_us=round(user_s * 1e6),
            warnings=self._warnings,
            arms=tuple(arm.end() for arm in self._arms),
        )

    def stop(self, reason: StopReason, drain_s: float = DRAIN_ON_STOP_S) -> None:
        """Send nothing new; requests in flight get `drain_s` to finish."""
        if self._stop_reason is None:
            self._stop_reason = reason
            for arm in self._arms:
                arm.load.stop()
                arm.crew.stop()
        self._abort_at_ns = min(now() + int(drain_s * NS), self._abort_at_ns or 1 << 62)
        self._sweep()

    def hear(self, message: Mapping[str, Any]) -> None:
        """Of several processes: begin at this pace, or end because all is settled."""
        if message.get("settled"):
            self._all_is_settled = True
        elif isinstance(message.get("begin_at_ns"), int) and not self._begin.ready():
            self._begin.set(message)

    # --- the arms' turns -------------------------------------------------------------------------
    def _order_rng(self) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64(self._turns.seed % 2**64))

    def _conduct(self, start_ns: int) -> None:
        try:
            pace, free_ns = self._try_out(start_ns)
            begin_ns = max(free_ns, now() + 4 * _SOON_NS)
            if self._is_shared and self._stop_reason is None:
                order = self._begin.get()
                pace = replace(pace, **{name: order["pace"][name] for name in _SHARED})
                begin_ns = order["begin_at_ns"]
            if self._stop_reason is None:
                self._measure(pace, begin_ns)
        finally:
            self._has_conducted = True

    def _try_out(self, start_ns: int) -> tuple[Pace, int]:
        """(the pace that all keep up with, or the last that was tried, when it was over)."""
        turns, arms = self._turns, self._arms
        load, shard = arms[0].order.plan.load, arms[0].order.shard
        pace = Pace.first(
            arms[0].rate_per_s,
            turns.slice_s,
            may_lower=turns.may_lower_rate,
            slowest_share=slowest_share(load) * smallest_share(shard.weights, shard.count),
            keeps_time=bool(load.stages),
            paced_per_s=paced_per_s(arms[0].order.plan),
        )
        least_s = max(TRIAL_S, arms[0].order.plan.warm_up_s)
        free_ns, is_new = start_ns, True
        while self._stop_reason is None:
            if is_new:
                self._first = len(self._round_orders)
                for arm in arms:
                    arm.try_pace(pace)
            free_ns = self._play_stage(free_ns, pace)
            if self._stop_reason is not None:
                break
            for arm in arms:
                arm.gather()
            tried_s = (free_ns - start_ns) / NS
            p95_s = max(arm.p95_s(self._first) for arm in arms)
            # Without the very first, which opened the connections.
            places = range(max(1, self._first), len(self._round_orders))
            rounds = [self._round(n, [arm.turns.all[n] for arm in arms]) for n in places]
            better_pace = next_pace(pace, rounds, p95_s)
            is_new = better_pace.keeps_up is None and tried_s < LONGEST_TRIAL_S / 2
            pace = better_pace if is_new else replace(pace, keeps_up=bool(better_pace.keeps_up))
            n_tried = len(self._round_orders) - self._first
            is_enough = tried_s >= least_s and (not pace.gap_s or n_tried >= _ENOUGH_TO_SEE_A_QUEUE)
            if not is_new and (is_enough or not pace.keeps_up):
                names = ("slice_s", "gap_s", "rate_per_s", "asked_per_s", "keeps_up")
                connections = [arm.n_connections for arm in arms]
                facts = {name: getattr(pace, name) for name in names}
                self._output.pace(facts | {"connections": connections})
                break
        return pace, free_ns

    def _play_stage(self, free_ns: int, pace: Pace) -> int:
        """Rounds of a second, and what they leave over; returns when that was over."""
        until_ns, n_rounds = max(free_ns, now()) + int(_STAGE_S * NS), 0
        while self._stop_reason is None and (free_ns < until_ns or n_rounds < _FEWEST_OF_STAGE):
            begin_ns = max(free_ns, now() + _SOON_NS)
            free_ns = self._play_round(begin_ns, pace, is_first=not self._round_orders)
            n_rounds += 1
        self._wait_until(free_ns)
        patience_ns = now() + _PATIENCE_NS
        while now() < patience_ns and any(arm.n_awaited for arm in self._arms):
            gevent.sleep(_MOMENT_S)
        return max(free_ns, now())

    def _measure(self, pace: Pace, begin_ns: int) -> None:
        limit_s = self._turns.limit_s
        self._zero_ns = begin_ns
        self._rng = self._order_rng()  # whatever a trial drew, which is longer on a busy machine
        self._first = len(self._round_orders)
        for arm in self._arms:
            arm.measure(pace, begin_ns, limit_s)
        until_ns = begin_ns + int(limit_s * NS)
        round_ns = int(pace.round_s(len(self._arms)) * NS)
        load = self._arms[0].order.plan.load
        duration_s = planned_duration_s(load) if load.stages else load.duration_s
        n_most = inf if duration_s is None else ceil(duration_s / pace.slice_s)
        # Stages go on to their end.
        look = LOOKS[0] if self._turns.until_settled and not load.stages else None
        free_ns = begin_ns
        while self._stop_reason is None and not self._all_is_settled:
            begin_ns = self._next_begin_ns(free_ns, round_ns)
            # A round that is begun a moment late does not cost the last one.
            if begin_ns + 0.9 * round_ns > until_ns:
                break
            self._end_ns = free_ns = self._play_round(begin_ns, pace)
            self._tell_rounds()
            n_rounds = len(self._round_orders) - self._first
            if n_rounds >= n_most or any(arm.load.is_used_up for arm in self._arms):
                break
            # Neither the round under way nor the one before, which may have left something over.
            if look is not None and n_rounds >= look + 2:
                self._gather()
                if len(self._rounds) >= look:
                    look = next_look(len(self._rounds))
                    if self._is_shared:
                        continue
                    if self._is_settled():
                        # What is under way was no part of this look, and might open it again.
                        self._pending_places.clear()
                        break
                    if look is None:
                        break
        for arm in self._arms:
            arm.end_measuring()
        self._wait_until(free_ns)
        self._gather()
        for arm in self._arms:
            arm.leave()

    def _next_begin_ns(self, free_ns: int, round_ns: int) -> int:
        """Of the next round. Rounds that others have too wait for nobody: who comes too late for
        one leaves it out."""
        if not self._is_shared:
            return max(free_ns, now() + _SOON_NS)
        n_missed = max(0, -((free_ns - now()) // round_ns))
        for _ in range(n_missed):
            self._rng.permutation(len(self._arms))
        self._n_missed += n_missed
        return free_ns + n_missed * round_ns

    def _play_round(self, begin_ns: int, pace: Pace, *, is_first: bool = False) -> int:
        """Give each arm a turn; waits until the last of them begins. Returns when the round is
        over."""
        arms = self._arms
        order = self._rng.permutation(len(arms)).tolist()
        step_ns = round((pace.slice_s + pace.gap_s) * NS)
        growing = [arm for arm in arms if arm.opens_more]
        for one in growing:
            alike = [arm for arm in growing if arm.n_streams == one.n_streams]
            one.want_connections(max(arm.n_connections for arm in alike))
        for place, number in enumerate(order):
            arms[number].take_turn(begin_ns + place * step_ns, pace, is_first=is_first)
        self._pending_places.append(len(self._round_orders))
        self._round_orders.append((len(self._round_orders) - self._first + self._n_missed, order))
        self._wait_until(begin_ns + (len(arms) - 1) * step_ns)
        return begin_ns + len(arms) * step_ns

    def _wait_until(self, instant_ns: int) -> None:
        gevent.sleep(max(0.0, (instant_ns - now()) / NS))

    def _is_calm(self, instant: int) -> bool:
        return all(arm.load.is_calm(instant) for arm in self._arms)

    # --- what was seen ---------------------------------------------------------------------------
    def _gather(self) -> None:
        for arm in self._arms:
            arm.gather()
        self._tell_rounds()

    def _tell_rounds(self) -> None:
        """Those of the measurement of which all is known by now."""
        instant = now()
        for place in self._pending_places[:]:
            turns = [arm.turns.all[place] for arm in self._arms]
            is_measured = turns[0].begin_ns >= self._zero_ns
            pairs = zip(self._arms, turns, strict=True)
            if is_measured and not all(arm.knows_all(turn, instant) for arm, turn in pairs):
                continue
            self._pending_places.remove(place)
            if is_measured:
                each = self._round(place, turns)
                self._rounds.append(each)
                self._output.round(each)
                for turn in turns:
                    turn.ok.clear()

    def _round(self, place: int, turns: Sequence[ArmTurn]) -> ArmsRound:
        (number, order), zero_ns = self._round_orders[place], self._zero_ns
        began_us = (min(turn.begin_ns for turn in turns) - zero_ns) // 1000
        arms = tuple(turn.figures() for turn in turns)
        return ArmsRound(number, began_us, tuple(order), arms)

    def _is_settled(self) -> bool:
        return is_settled(self._rounds, self._turns, len(self._arms))

    # --- supervision -----------------------------------------------------------------------------
    def _tick(self) -> None:
        self._hub_lag.tick(now())
        self._reads.tick()

    def _tell_lags(self) -> None:
        lags_us = self._hub_lag.take()
        for arm in self._arms:
            arm.seconds.hub_lag.add(lags_us)

    def _sweep(self) -> None:
        instant = now()
        aborts = self._abort_at_ns is not None and instant >= self._abort_at_ns
        for arm in self._arms:
            limit_ns = longest_attempt_ns(arm.order.plan)
            interrupt_overdue(arm.load.workers, instant, limit_ns, aborts=aborts)
            arm.dialler.sweep(instant)
        is_stopping = self._stop_reason is not None
        is_done = self._has_conducted and all(arm.load.is_finished for arm in self._arms)
        if is_done or (is_stopping and not self._n_in_flight):
            self._over.set()
            return
        self._tell_lags()
        # One of them at a time, so that many arms cost no more than one.
        self._arms[self._n_sweeps % len(self._arms)].seconds.sweep(instant)
        self._n_sweeps += 1

    @property
    def _n_in_flight(self) -> int:
        return sum(len(in_flight_of(arm.load.workers)) for arm in self._arms)
