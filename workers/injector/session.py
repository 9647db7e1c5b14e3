"""A worker that plays a user: calls on a connection, pauses, cookies, steps in an own order.

Plans without any of this have plain workers, so that their hot path knows nothing of it.
"""

import itertools
from dataclasses import replace
from typing import Any

import gevent

from campaigns.domain.arrivals import Shard
from campaigns.domain.patterns import bounded
from campaigns.domain.plan import Plan, Step
from campaigns.domain.session import PLAIN_SESSION, ThinkKind
from campaigns.domain.step_order import draw
from campaigns.domain.steps import Source
from campaigns.domain.variables import filled_in, names_used
from workers.injector.attempt import Request, Worker
from workers.injector.connection import NS, Dialler, now
from workers.injector.cookies import CookieJar
from workers.injector.http1 import Head
from workers.injector.order import Order
from workers.injector.reply import ReplyReader
from workers.injector.rows import Rows

_NEVER = 1 << 62
# How much of a body is searched for values.
EXTRACT_BYTES = 64 * 1024
_THOUGHT = "thought"
_THINK_STREAM = 0x7468696E6B


class Script:
    """What the session workers of one engine share: the plan, the requests, when to stop."""

    def __init__(self, order: Order, requests: list[Request], make_bytes: Any):
        self.plan: Plan = order.plan
        self.session = order.plan.session
        self.requests = requests
        self.seed = order.seed
        self.endpoint = order.endpoint
        self.make_bytes = make_bytes
        self.names = order.plan.variable_names
        self.is_stopped = False
        self._shard: Shard = order.shard
        self._numbers = itertools.count()
        self.next_row = Rows(order.plan.variables, order.shard, order.seed).take
        self._zero_ns = self._end_ns = _NEVER

    def begin(self, zero_ns: int, end_ns: int | None) -> None:
        self._zero_ns, self._end_ns = zero_ns, end_ns or _NEVER

    def stop(self) -> None:
        self.is_stopped = True

    def boundary_after(self, instant: int) -> int:
        """The end of the stretch that `instant` lies in: of the warm-up or of the run."""
        return self._zero_ns if instant < self._zero_ns else self._end_ns

    def next_number(self) -> int:
        """A number that no other worker of the run has, whatever shard it is in."""
        return next(self._numbers) * self._shard.count + self._shard.index


def is_plain(plan: Plan) -> bool:
    """Whether plain workers do: nothing is arranged between calls, nothing kept from replies."""
    return plan.session == PLAIN_SESSION and not plan.variable_names


class Call(Request):
    """A step as one worker sends it: shares what replies teach, has bytes of its own."""

    __slots__ = ("_base_size", "index", "is_filled_in", "keeps_reply", "patterns", "reader")

    def __init__(self, shared: Request, index: int, names: frozenset[str], keeps_reply: bool):
        super().__init__(shared.plan, shared.step, shared.data, shared.recorder)
        self.index = index
        self.is_filled_in = bool(names & names_used(shared.step))
        self.patterns = [(each, bounded(each.pattern)) for each in shared.step.extract]
        self.keeps_reply = keeps_reply or bool(self.patterns)
        self.reader: ReplyReader | None = None
        self.memo = shared.memo
        self._base_size = shared.size_bytes
        if not self.keeps_reply:
            self.simple = shared.simple
        self.record = self._record

    def send_next(self, data: bytes) -> None:
        self.data, self.size_bytes, self.reader = data, len(data), None

    def make_reader(self) -> ReplyReader:
        self.reader = ReplyReader(self.memo, EXTRACT_BYTES if self.patterns else 0)
        return self.reader

    def remember(self, first: bytes, head: Head) -> None:
        """A reply that sets a cookie or gives a value must be read each time."""
        if not self.patterns and all(name.lower() != "set-cookie" for name, _ in head.headers):
            super().remember(first, head)

    def _record(self, marks: tuple[int, ...]) -> None:
        recorder, zero_ns = self.recorder, self.recorder.zero_ns
        if not marks[0] < zero_ns <= marks[6]:
            recorder.extra_sent_bytes += self.size_bytes - self._base_size
        recorder.record(marks)


class SessionWorker(Worker):
    """See the module. The driver's request is what is sent, unless sessions have own orders."""

    __slots__ = (
        "_calls", "_in_burst", "_in_session", "_jar", "_n_connection", "_number", "_path",
        "_position", "_row", "_script", "_taken", "_think_until", "_thoughts",
    )  # fmt: skip

    def __init__(self, script: Script, dialler: Dialler, keeps: bool):
        super().__init__(dialler, keeps)
        self._script = script
        self._number = script.next_number()
        self._calls: dict[int, Call] = {}
        self._jar = _make_jar(script)
        self._position = self._in_session = self._in_burst = self._n_connection = 0
        self._thoughts = itertools.count()
        self._think_until = 0
        self._row: dict[str, str] | None = None
        self._taken: dict[str, str] = {}
        self._path = ""

    def attempt(self, request: Request, intended: int, start: int) -> float | None:
        """One call, after the pause that is due; None too where the run ended in the pause."""
        if self._think_until > start:
            if not self._think():
                return None
            self.look_for_strays()
            intended = start = now()
        # Before its call's bytes are replaced by those of the next one.
        self.settle()
        call = self._next_call(request)
        if self.connection is None:
            self._n_connection = 0
        is_last = self._is_last_on_connection()
        connection = self.connection
        pause_s = self.make_call(call, is_last, intended, start)
        if self.connection is not connection:
            self._n_connection = 0
        self._note(call, is_last)
        return pause_s

    def make_call(self, call: "Call", is_last: bool, intended: int, start: int) -> float | None:
        """Send it and read its reply."""
        call.send_next(self._bytes_of(call, is_last))
        return super().attempt(call, intended, start)

    # --- what is sent ----------------------------------------------------------------------------
    def _next_call(self, request: Request) -> Call:
        script = self._script
        index = request.recorder.step
        if script.plan.keeps_sessions:
            n_steps = len(script.requests)
            seed = script.seed + self._number
            index = script.plan.order.step_at(self._position, n_steps, seed)
            self._position += 1
        call = self._calls.get(index)
        if call is None:
            keeps_reply = self._jar is not None
            call = Call(script.requests[index], index, script.names, keeps_reply)
            self._calls[index] = call
        return call

    def _bytes_of(self, call: Call, is_last: bool) -> bytes:
        step = call.step
        if call.is_filled_in:
            step = filled_in(step, self._current_values())
        self._path = step.path
        cookies = self._jar.header(step.path) if self._jar is not None else ""
        if cookies:
            step = with_cookies(step, cookies)
        if step is call.step and not is_last:
            return self._script.requests[call.index].data
        return self._script.make_bytes(step, is_last)

    def _current_values(self) -> dict[str, str]:
        """A row for each request, where sessions are kept for each session; and what was taken."""
        if self._row is None or not self._script.plan.keeps_sessions:
            self._row = self._script.next_row()
        return self._row | self._taken if self._taken else self._row

    def _is_last_on_connection(self) -> bool:
        most = self._script.session.calls_per_connection
        return self.keeps and 0 < most <= self._n_connection + 1

    # --- what follows from a reply ---------------------------------------------------------------
    def _note(self, call: Call, is_last: bool) -> None:
        if self._jar is not None and call.reader is not None and call.reader.head is not None:
            self._jar.take(call.reader.head.headers, self._path)
        if call.patterns and call.reader is not None and call.reader.is_complete:
            self._take_values(call)
        self._n_connection += 1
        if is_last and self.connection is not None:
            self._retire(self.connection)
        self._end_session_if_due()
        self._end_burst_if_due()

    def _take_values(self, call: Call) -> None:
        reader = call.reader
        body = reader.kept.decode("utf-8", "replace")
        for extract, pattern in call.patterns:
            texts = [body]
            if extract.source == Source.HEADER:
                wanted = extract.header.lower()
                texts = [value for name, value in reader.head.headers if name.lower() == wanted]
            found = next((match for text in texts if (match := pattern.search(text))), None)
            if found is None:
                call.events["extract_missed"].append(now())
            else:
                self._taken[extract.name] = found[1] or ""

    def _end_session_if_due(self) -> None:
        self._in_session += 1
        if self._in_session != self._script.session.calls_per_session:
            return
        self._in_session = self._position = 0
        self._row = None
        self._taken.clear()
        if self._jar is not None:
            self._jar.clear()
        if self.connection is not None:
            self._retire(self.connection)

    def _end_burst_if_due(self) -> None:
        session = self._script.session
        self._in_burst += 1
        if self._in_burst < session.burst_length:
            return
        self._in_burst = 0
        if session.think_time.kind == ThinkKind.NONE:
            return
        stream = self._script.seed ^ _THINK_STREAM
        share = draw(stream + self._number, next(self._thoughts)) / (1 << 64)
        self._think_until = now() + int(session.think_time.drawn_s(min(share, 1 - 2**-53)) * NS)

    # --- pauses ----------------------------------------------------------------------------------
    def _think(self) -> bool:
        """Pause; False where the warm-up or the run ended meanwhile, and nothing is to be sent."""
        boundary = self._script.boundary_after(now())
        wake = min(self._think_until, boundary)
        timer = gevent.get_hub().loop.timer(max(0.0, (wake - now()) / NS))
        timer.start(self.switch, _THOUGHT)
        try:
            while self._to_hub() != _THOUGHT:
                if self.connection is not None:
                    self.leave_idle()
        finally:
            timer.stop()
            timer.close()
        is_cut_short = wake < self._think_until
        if not is_cut_short:
            self._think_until = 0
        return not self._script.is_stopped and not is_cut_short


def _make_jar(script: Script) -> CookieJar | None:
    if not script.session.cookies:
        return None
    return CookieJar(script.endpoint.host, script.endpoint.is_tls)


def with_cookies(step: Step, cookies: str) -> Step:
    """The step with one Cookie header: its own, if it has one, and the jar's."""
    own = [value for name, value in step.headers if name.lower() == "cookie"]
    others = tuple(pair for pair in step.headers if pair[0].lower() != "cookie")
    return replace(step, headers=(*others, ("Cookie", "; ".join([*own, cookies]))))
