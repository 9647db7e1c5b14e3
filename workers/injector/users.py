"""The users that session workers simulate: their shared context, and their own state.

The cookies of one session: read from Set-Cookie, sent back as RFC 6265 says.

A cookie whose Domain is another host is dropped, as in a browser. Redirects may lead a session to
other hosts than its own.

Records how visits ended: counters and durations of sessions, per second.

A visit is what one arrival does: a session, or a connection with several calls. Only sessions are
counted; for both, the calls that were not made because a visit ended early are."""

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from campaigns.domain.metrics.snapshot import SESSIONS, Timing, late, length_counter
from campaigns.domain.plan.arrivals import LoadSlice
from campaigns.domain.plan.flows import flow_order, steps_of, weights_of
from campaigns.domain.plan.load import ArrivalUnit, Hold, Model
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import ThinkKind, makes_visits
from campaigns.domain.plan.step import draw, own_host
from campaigns.domain.plan.variables import (
    RowOrder,
    ValueMaker,
    Variables,
    names_used,
    needed_values,
)
from workers.injector.connection import NS, now
from workers.injector.http1 import header_values
from workers.injector.order import Order
from workers.injector.pacer import Alarm
from workers.injector.recorder import NEVER
from workers.injector.request import Request

MAX_COOKIES = 50
MAX_COOKIE_BYTES = 4096
_AGE = re.compile(r"-?[0-9]+")


@dataclass(frozen=True, slots=True)
class _Cookie:
    """`number`: higher for one that was created later; a new value leaves it as it was.
    `is_shared`: with the hosts below the one that it is kept under."""

    number: int
    value: str
    is_secure: bool
    expires_ns: int | None
    is_shared: bool


class CookieJar:
    """`host` and `is_tls`: of the session's own origin."""

    def __init__(self, host: str, is_tls: bool):
        self._own = host.lower(), is_tls
        # By host, path and name, the one that was set last at the end.
        self._cookies: dict[tuple[str, str, str], _Cookie] = {}
        self._n_created = 0

    def clear(self) -> None:
        self._cookies.clear()

    def take(
        self, headers: tuple[tuple[str, str], ...], request_path: str, host: str | None = None
    ) -> int:
        """Store what a reply (of another host) sets; beyond MAX_COOKIES that have not expired, what
        was set first is dropped. Returns how many were too large.
        """
        cookies = header_values(headers, "set-cookie")
        # Its attributes do not count, as in browsers.
        small = [each for each in cookies if len(each.partition(";")[0]) <= MAX_COOKIE_BYTES]
        for value in small:
            self._set(value, request_path, host or self._own[0])
        return len(cookies) - len(small)

    def _set(self, text: str, request_path: str, host: str) -> None:
        pair, *rest = text.split(";")
        name, equals, value = pair.partition("=")
        name = name.strip()
        pairs = (text.partition("=") for text in rest)
        attributes = {name.strip().lower(): value.strip() for name, _, value in pairs}
        domain = attributes.get("domain", "").lower().lstrip(".")
        may_set = not domain or host == domain or host.endswith(f".{domain}")
        if not equals or not name or not may_set:
            return
        if "." not in domain:
            domain = ""  # no host of a top-level domain shares its cookies with another
        path = attributes.get("path", "")
        if not path.startswith("/"):
            path = request_path.partition("?")[0].rpartition("/")[0] or "/"
        instant = now()
        for key, cookie in list(self._cookies.items()):
            if cookie.expires_ns is not None and cookie.expires_ns <= instant:
                del self._cookies[key]
        key = (domain or host, path, name)
        earlier = self._cookies.pop(key, None)
        left_s = _seconds_left(attributes)
        if left_s is not None and left_s <= 0:
            return
        expires_ns = None if left_s is None else now() + int(left_s * NS)
        self._n_created += 1
        number = self._n_created if earlier is None else earlier.number
        self._cookies[key] = _Cookie(
            number, value.strip(), "secure" in attributes, expires_ns, bool(domain)
        )
        if len(self._cookies) > MAX_COOKIES:
            del self._cookies[next(iter(self._cookies))]

    def header(self, request_path: str, origin: tuple[str, bool] | None = None) -> str:
        """The value of the Cookie header for a path, longest paths first, then those
        that were created first; "" without cookies. `origin`: another host, and is it over TLS.
        """
        if not self._cookies:
            return ""
        host, is_tls = origin or self._own
        instant, path = now(), request_path.partition("?")[0]
        parts = [
            (-len(under), cookie.number, f"{name}={cookie.value}")
            for (domain, under, name), cookie in self._cookies.items()
            if (host == domain or (cookie.is_shared and host.endswith(f".{domain}")))
            and _lies_under(path, under)
            and (is_tls or not cookie.is_secure)
            and (cookie.expires_ns is None or cookie.expires_ns > instant)
        ]
        return "; ".join(text for *_, text in sorted(parts))


def _lies_under(path: str, under: str) -> bool:
    return path == under or path.startswith(under if under.endswith("/") else under + "/")


def _seconds_left(attributes: dict[str, str]) -> float | None:
    """Seconds until the cookie expires; None: with its session. Max-Age overrides Expires."""
    age = attributes.get("max-age", "")
    if _AGE.fullmatch(age):
        return int(age)
    try:
        expires = parsedate_to_datetime(attributes["expires"])
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    if expires.tzinfo is None:
        expires = expires.replace(tzinfo=UTC)
    return (expires - datetime.now(UTC)).total_seconds()


class VisitRecorder:
    """Times are CLOCK_MONOTONIC ns; `n_calls` is how many calls a complete visit makes, and
    `n_under_way` how many have begun and not ended."""

    def __init__(self, n_calls: int, has_sessions: bool):
        self.zero_ns, self.until_ns = 0, NEVER
        self.n_calls = n_calls
        self.n_under_way = 0
        self.has_sessions = has_sessions
        self._counters: dict[int, Counter[str]] = {}
        self._durations_us: dict[tuple[int, str], list[int]] = {}
        # As in a recorder: an event that arrives after its second was taken counts in the next.
        self._first_open: int | None = None

    def note_begin(self, instant: int) -> None:
        self.n_under_way += 1
        self._count_sessions(instant, "sessions_started")

    def note_end(self, due: int, instant: int, n_ok: int, n_made: int, *, has_failed: bool) -> None:
        """A visit due at `due` ended; `n_made` of its calls were made, and `n_ok` were ok."""
        self.n_under_way -= 1
        self._count(instant, "calls_skipped", self.n_calls - n_made)
        if due < self.zero_ns <= instant:
            self._count_sessions(instant, "sessions_carried")
            return
        ending = "sessions_failed" if has_failed else "sessions_ok"
        self._count_sessions(instant, ending)
        if instant > self.until_ns:
            self._count_sessions(instant, late(ending))
        self._count_sessions(instant, length_counter(n_ok))
        if self.has_sessions:
            key = self._second_of(instant), "session_failed" if has_failed else "session"
            self._durations_us.setdefault(key, []).append(instant // 1000 - due // 1000)

    def note_retry(self, instant: int) -> None:
        """A failed call is retried."""
        self._count(instant, "calls_retried", 1)

    def note_drop(self, instant: int) -> None:
        """An arrival was due and never started: one of its calls counts as dropped, the others as
        skipped.
        """
        self._count_sessions(instant, "sessions_started")
        self._count_sessions(instant, "sessions_dropped")
        self._count(instant, "calls_skipped", self.n_calls - 1)

    def take(self, second: int) -> tuple[Counter[str], dict[str, Timing]]:
        """(counters, timings) of a second that is over."""
        timings = {
            name: Timing.of(self._durations_us.pop((second, name)))
            for name in SESSIONS
            if (second, name) in self._durations_us
        }
        self._first_open = second + 1
        return self._counters.pop(second, Counter()), timings

    @property
    def last_second(self) -> int | None:
        """The latest second that something happened in and that was not taken yet."""
        return max(self._counters, default=None)

    def second_at(self, instant: int) -> int:
        return (instant - self.zero_ns) // NS

    def _second_of(self, instant: int) -> int:
        second = self.second_at(instant)
        return second if self._first_open is None else max(second, self._first_open)

    def _count_sessions(self, instant: int, name: str) -> None:
        if self.has_sessions:
            self._count(instant, name, 1)

    def _count(self, instant: int, name: str, count: int) -> None:
        if count:
            self._counters.setdefault(self._second_of(instant), Counter())[name] += count


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
        self._zero_ns = self._end_ns = NEVER
        # Where requests take turns: these, what wakes those that wait for one, and the clock of
        # pauses, by an instant.
        self.turns: Any = None
        self.alarm: Alarm | None = None
        self.clock_ns: Callable[[int], int] = int

    def take_turns(self, turns: Any, alarm: Alarm) -> None:
        self.turns, self.alarm, self.clock_ns = turns, alarm, turns.clock_ns

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
        self._zero_ns, self._end_ns = zero_ns, end_ns or NEVER
        for _, visits in self.visits:
            visits.zero_ns = zero_ns

    def stop(self) -> None:
        self.is_stopped = True
        if self.alarm is not None:
            self.alarm.ring_now()

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
        "_context", "flow", "jar", "n_failed", "n_think_times", "number", "position",
        "reply_values", "row",
    )  # fmt: skip

    def __init__(self, context: SessionContext, number: int):
        self._context = context
        self.number = number
        self.flow = context.flows[0]
        self.jar: CookieJar | None = None
        if context.session.cookies:
            # The name that cookies are of; where steps name several hosts, that of the first.
            host = urlsplit(f"//{own_host(context.requests[0].step.headers)}").hostname
            self.jar = CookieJar(host or context.endpoint.host, context.endpoint.is_tls)
        self.position = self.n_think_times = 0
        self.row: dict[str, str] | None = None
        self.reply_values: dict[str, str] = {}
        self.n_failed = 0

    def begin_anew(self) -> None:
        """Become a new visitor: at the first step, without cookies and values."""
        self.position = 0
        self.row = None
        self.reply_values.clear()
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
            lacking = (name for name in flow.needs[index] if name not in self.reply_values)
            if (name := next(lacking, None)) is None:
                break
            index = flow.givers[name]
        return index

    def keep(self, values: Mapping[str, str | None]) -> None:
        """Values from a reply; without one that is None nothing that needs it is sent."""
        self.reply_values |= {name: value for name, value in values.items() if value is not None}
        for name in values:
            if values[name] is None:
                self.reply_values.pop(name, None)

    def values(self) -> dict[str, str]:
        """The row of this request (of this session if sessions are kept), the time, and extracted
        values."""
        if self.row is None or not self._context.plan.keeps_sessions:
            self.row = self._context.next_row()
        values = self.row | self._context.times() if self._context.times else self.row
        return values | self.reply_values if self.reply_values else values

    def drawn_pause_ns(self) -> int:
        """The next think time; drawn from the seed, separately for each user."""
        think_time = self._context.session.think_time
        if think_time.kind == ThinkKind.NONE:
            return 0
        nth, self.n_think_times = self.n_think_times, self.n_think_times + 1
        share = draw((self._context.seed ^ _THINK_STREAM) + self.number, nth) / (1 << 64)
        return int(think_time.drawn_s(min(share, 1 - 2**-53)) * NS)


_STREAM = 0x726F7773


class Rows:
    """The values of uses: a row of the table, and what is made for each. `times` gives those that
    are of an instant; None where the plan has none."""

    def __init__(self, variables: Variables, shard: LoadSlice, seed: int):
        self._variables = variables
        self._n_rows = len(variables.table[1])
        self._seed = seed
        self._uses = shard.all()
        maker = ValueMaker(variables.generators, seed, os.urandom(16))
        self.at = self._row
        if variables.generators:
            self.at = lambda number: self._row(number) | maker.values(number)
        self.times = (lambda: maker.times(time.time_ns())) if maker.has_times else None

    def take(self) -> dict[str, str]:
        """The values of the next use."""
        return self.at(next(self._uses))

    def _row(self, number: int) -> dict[str, str]:
        """The table's values for use `number`, counted over the whole run; {} without a table."""
        if not self._n_rows:
            return {}
        if self._variables.order == RowOrder.RANDOM:
            return self._variables.values(draw(self._seed ^ _STREAM, number) * self._n_rows >> 64)
        return self._variables.values(number % self._n_rows)
