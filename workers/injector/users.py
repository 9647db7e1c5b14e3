"""The users that session workers simulate: their shared context, and their own state."""

import os
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from campaigns.domain.plan.flows import flow_order, steps_of, weights_of
from campaigns.domain.plan.generators import ValueMaker
from campaigns.domain.plan.load import ArrivalUnit, Hold, Model
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import ThinkKind, makes_visits
from campaigns.domain.plan.shards import LoadSlice
from campaigns.domain.plan.step import own_host
from campaigns.domain.plan.step_order import draw
from campaigns.domain.plan.variables import RowOrder, Variables, names_used, needed_values
from workers.injector.connection import NS
from workers.injector.cookies import CookieJar
from workers.injector.order import Order
from workers.injector.request import Request
from workers.injector.visit_recorder import VisitRecorder

_NEVER = 1 << 62
_THINK_STREAM = 0x7468696E6B


class FlowContext:
    """What the users of one flow share; without flows, those of all steps.

    `visits` is None if neither sessions nor visits are counted. `n_calls`: after so many a user of
    a closed load starts over; None: never.
    """

    def __init__(self, order: Order, numbers: range, n_calls: int | None):
        plan = order.plan
        self.first, self.n_steps = numbers.start, len(numbers)
        self.n_calls = n_calls
        self.visits: VisitRecorder | None = None
        steps = [plan.steps[number] for number in numbers]
        # Of each value that a reply must give: the step that gives it first.
        givers = needed_values(plan.variables, steps)
        self.givers = {name: numbers[index] for name, index in givers.items()}
        self.needs = {
            number: sorted(names_used(step) & givers.keys())
            for number, step in zip(numbers, steps, strict=True)
        }


class SessionContext:
    """What the session workers of one engine share: the plan, the requests, when to stop.

    `makes_visits`: an arrival makes several calls, at most `at_once` of them at a time; in a closed
    load workers continue on their own.
    """

    def __init__(self, order: Order, requests: list[Request], make_bytes: Any, at_once: int):
        load = order.plan.load
        self.plan: Plan = order.plan
        self.session = order.plan.session
        self.requests = requests
        self.seed = order.seed
        self.endpoint = order.endpoint
        self.make_bytes = make_bytes
        self.at_once = at_once
        self.names = order.plan.variable_names
        self.is_stopped = False
        # Where redirects may lead; None where none is followed.
        self.origins: Any = None
        self.announces_last = load.model != Model.WINDOW or load.hold == Hold.CLOSE
        self.makes_visits = makes_visits(load, self.session)
        self.has_flows = bool(order.plan.flows)
        self.flows, self._places = self._make_flows(order)
        self._n_warming = self._n_begun = 0
        self._numbers = order.shard.all()
        rows = Rows(order.plan.variables, order.shard, order.seed)
        # The row for the next use, or for use number k.
        self.next_row, self.row = rows.take, rows.at
        self.times = rows.times
        self._zero_ns = self._end_ns = _NEVER

    def _make_flows(self, order: Order) -> tuple[list[FlowContext], Sequence[int]]:
        """(the flows, the place of each session's)."""
        plan, load = self.plan, self.plan.load
        if not plan.flows:
            n_calls = self.session.calls_per_session
            if self.makes_visits:
                n_calls = plan.calls_per_arrival
            flows, places = [FlowContext(order, range(len(plan.steps)), n_calls)], (0,)
        else:
            # The sessions of closed loads are counted by each process for itself.
            own = 0 if self.makes_visits else order.shard.index
            places = flow_order(weights_of(plan.flows), order.seed + own)
            flows = [FlowContext(order, each, len(each)) for each in steps_of(plan.flows)]
        has_sessions = not self.makes_visits or load.arrival_unit == ArrivalUnit.SESSION
        for flow in flows:
            if flow.n_calls is not None:
                flow.visits = VisitRecorder(flow.n_calls, has_sessions)
        return flows, places

    @property
    def visits(self) -> list[tuple[int, VisitRecorder]]:
        """With the first step of each flow; [] if neither sessions nor visits are counted."""
        return [(flow.first, flow.visits) for flow in self.flows if flow.visits is not None]

    def flow_at(self, number: int) -> FlowContext:
        """Of a session by its number; those of the warm-up are negative."""
        return self.flows[self._places[number % len(self._places)]]

    def next_flow(self, start: int) -> FlowContext:
        """Of the next session that a user of a closed load begins, at `start`."""
        if start < self._zero_ns:
            self._n_warming -= 1
            return self.flow_at(self._n_warming)
        number, self._n_begun = self._n_begun, self._n_begun + 1
        return self.flow_at(number)

    def begin(self, zero_ns: int, end_ns: int | None) -> None:
        self._zero_ns, self._end_ns = zero_ns, end_ns or _NEVER
        for _, visits in self.visits:
            visits.zero_ns = zero_ns

    def stop(self) -> None:
        self.is_stopped = True

    def boundary_after(self, instant: int) -> int:
        """When the phase of `instant` ends: the warm-up or the run."""
        return self._zero_ns if instant < self._zero_ns else self._end_ns

    def next_number(self) -> int:
        """A number that no other worker of the run has, whatever shard it is in."""
        return next(self._numbers)


class User:
    """One user: its flow, its position in the steps and values from replies. Its connections share
    it."""

    __slots__ = (
        "_context", "extracted", "flow", "jar", "n_failed", "n_think_times", "number", "position",
        "row",
    )  # fmt: skip

    def __init__(self, context: SessionContext, number: int):
        self._context = context
        self.number = number
        self.flow = context.flows[0]
        self.jar = _make_jar(context)
        self.position = self.n_think_times = 0
        self.row: dict[str, str] | None = None
        self.extracted: dict[str, str] = {}
        self.n_failed = 0

    def begin_anew(self) -> None:
        """Become a new visitor: at the first step, without cookies and values."""
        self.position = 0
        self.row = None
        self.extracted.clear()
        if self.jar is not None:
            self.jar.clear()

    def arrive(self, number: int) -> None:
        """Become the visitor of arrival `number`; it is the same on every injector."""
        self.begin_anew()
        self.number = number
        self.flow = self._context.flow_at(number)
        self.n_think_times = self.n_failed = 0
        if self._context.plan.keeps_sessions:
            self.row = self._context.row(number)

    def next_step(self, index: int) -> int:
        """The step of the next call; `index` if users do not have their own order."""
        context = self._context
        if not context.plan.keeps_sessions:
            return index
        flow, seed = self.flow, context.seed + self.number
        index = flow.first + context.plan.order.step_at(self.position, flow.n_steps, seed)
        self.position += 1
        return self._with_values(index) if flow.givers else index

    def _with_values(self, index: int) -> int:
        """The step, or the one that has to give what it still needs; a step that needs its own
        value begins without."""
        flow, steps = self.flow, set()
        while index not in steps:
            steps.add(index)
            lacking = (name for name in flow.needs[index] if name not in self.extracted)
            if (name := next(lacking, None)) is None:
                break
            index = flow.givers[name]
        return index

    def keep(self, taken: Mapping[str, str | None]) -> None:
        """Values from a reply; without one that is None nothing that needs it is sent."""
        self.extracted |= {name: value for name, value in taken.items() if value is not None}
        for name in taken:
            if taken[name] is None:
                self.extracted.pop(name, None)

    def values(self) -> dict[str, str]:
        """The row of this request (of this session if sessions are kept), the time, and extracted
        values."""
        if self.row is None or not self._context.plan.keeps_sessions:
            self.row = self._context.next_row()
        values = self.row | self._context.times() if self._context.times else self.row
        return values | self.extracted if self.extracted else values

    def drawn_pause_ns(self) -> int:
        """The next think time; drawn from the seed, separately for each user."""
        think_time = self._context.session.think_time
        if think_time.kind == ThinkKind.NONE:
            return 0
        nth, self.n_think_times = self.n_think_times, self.n_think_times + 1
        share = draw((self._context.seed ^ _THINK_STREAM) + self.number, nth) / (1 << 64)
        return int(think_time.drawn_s(min(share, 1 - 2**-53)) * NS)


def _make_jar(context: SessionContext) -> CookieJar | None:
    if not context.session.cookies:
        return None
    # The name that cookies are of; where steps name several hosts, that of the first.
    named = urlsplit(f"//{own_host(context.requests[0].step.headers)}").hostname
    return CookieJar(named or context.endpoint.host, context.endpoint.is_tls)


_STREAM = 0x726F7773


class Rows:
    """The values of uses: a row of the table, and what is made for each. `times` gives those that
    are of an instant; None where the plan has none."""

    def __init__(self, variables: Variables, shard: LoadSlice, seed: int):
        self._variables = variables
        self._n_rows = len(variables.table[1])
        self._seed = seed
        self._uses = shard.all()
        made = ValueMaker(variables.generators, seed, os.urandom(16))
        self.at = partial(self._with_made, made) if variables.generators else self._row
        self.times = partial(_times, made) if made.has_times else None

    def take(self) -> dict[str, str]:
        """The values of the next use."""
        return self.at(next(self._uses))

    def _with_made(self, made: ValueMaker, number: int) -> dict[str, str]:
        return self._row(number) | made.values(number)

    def _row(self, number: int) -> dict[str, str]:
        """The table's values for use `number`, counted over the whole run; {} without a table."""
        if not self._n_rows:
            return {}
        if self._variables.order == RowOrder.RANDOM:
            return self._variables.values(draw(self._seed ^ _STREAM, number) * self._n_rows >> 64)
        return self._variables.values(number % self._n_rows)


def _times(made: ValueMaker) -> dict[str, str]:
    return made.times(time.time_ns())
