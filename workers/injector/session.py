"""A worker that simulates a user: calls on a connection, pauses, cookies, its own step order.

Plans without any of this use plain workers, which keeps the hot path free of it.
"""

from collections.abc import Mapping, Set
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import gevent

from campaigns.domain.metrics.outcomes import CLIENT_KINDS, TIMEOUT_KINDS, Kind
from campaigns.domain.plan.step import Step
from campaigns.domain.plan.variables import filled_in, names_used
from workers.injector.attempt import Worker
from workers.injector.connection import NS, Dialler, Waking, now
from workers.injector.http1 import Head
from workers.injector.recorder import Failure
from workers.injector.reply import ReplyReader
from workers.injector.reply_check import ReplyRules
from workers.injector.request import ReplyFault, Request, WithChecks, reply_of
from workers.injector.users import SessionContext, User

_PAUSE_OVER = "pause over"
# Failures after which a call is never retried.
_FINAL = TIMEOUT_KINDS | CLIENT_KINDS | {Kind.ABORTED_BY_STOP, Kind.ADDRESS_REFUSED}


class Call(Request):
    """A step as one worker sends it: shares what replies teach, but has its own bytes."""

    __slots__ = (
        "_base_size", "_template", "index", "is_filled_in", "keeps_reply", "reader", "values",
    )  # fmt: skip

    # What its reply gave, by variable; None where a value is missing that later calls need.
    given_values: Mapping[str, str | None] = MappingProxyType({})

    def __init__(self, request: Request, index: int, names: frozenset[str], keeps_reply: bool):
        super().__init__(request.plan, request.step, request.data, request.recorder)
        self._template = request.template
        self.values: tuple[str, ...] = ()
        self.index = index
        self.is_filled_in = bool(names & names_used(request.step))
        self.keeps_reply = keeps_reply
        self.reader: ReplyReader | None = None
        self.memo = request.memo
        self._base_size = request.size_bytes
        if not self.keeps_reply:
            self.simple = request.simple
        self.record = self._record

    @property
    def template(self) -> bytes:
        return self._template

    def secret_values(self) -> tuple[str, ...]:
        return self.values

    def send_next(self, data: bytes) -> None:
        self.data, self.size_bytes, self.reader = data, len(data), None

    def make_reader(self) -> ReplyReader:
        self.reader = super().make_reader()
        return self.reader

    def remember(self, first: bytes, head: Head) -> None:
        """A reply that sets a cookie must be parsed every time."""
        if all(name.lower() != "set-cookie" for name, _ in head.headers):
            super().remember(first, head)

    def _record(self, marks: tuple[int, ...]) -> None:
        recorder, zero_ns = self.recorder, self.recorder.zero_ns
        extra = self.size_bytes - self._base_size
        if extra and not marks[0] < zero_ns <= marks[6]:
            recorder.note_sent((marks[6], extra))
        recorder.record(marks)


class CheckedCall(WithChecks, Call):
    __slots__ = ("keep_bytes", "plain_head", "rules")

    def __init__(self, request: Request, *rest: Any):
        super().__init__(request, *rest)
        self.rules = ReplyRules(request.step)
        self.keep_bytes = self.rules.keep_bytes
        self.plain_head = None


class TakingCall(CheckedCall):
    """A call whose reply gives values; `needed_names`: those that it must give."""

    __slots__ = ("given_values", "needed_names")

    def __init__(self, request: Request, index: int, names: frozenset[str], needed_names: Set[str]):
        super().__init__(request, index, names, True)
        self.needed_names = needed_names
        self.given_values = {}

    def send_next(self, data: bytes) -> None:
        super().send_next(data)
        self.given_values = {}

    def remember(self, first: bytes, head: Head) -> None:
        """Each reply must be parsed."""

    def fault_in(self, reader: Any) -> ReplyFault | None:
        fault = super().fault_in(reader)
        outcomes = self.rules.take(reply_of(reader))
        misses = [each for each in outcomes if each.value is None]
        self.events["extract_missed"] += [now()] * len(misses)
        values = {each.name: each.value for each in outcomes if each.value is not None}
        missing = [
            each for each in misses if each.name in self.needed_names and each.name not in values
        ]
        self.given_values = values | dict.fromkeys(each.name for each in missing)
        if fault is None and missing:
            return ReplyFault(Kind.VALUE_MISSING, missing[0].line, missing[0].came)
        return fault


class FailureTap:
    """Takes the failures of a user's calls and counts them for the user.

    `kind` is that of the latest failure, until it is reset.
    """

    __slots__ = ("_user", "failures", "kind")

    def __init__(self, user: User, failures: list[Failure]):
        self._user = user
        self.failures: Any = failures
        self.kind: Kind | None = None

    def append(self, failure: Failure) -> None:
        self._user.n_failed += 1
        self.kind = failure.kind
        self.failures.append(failure)


class SessionWorker(Worker):
    """See the module docstring. Sends the driver's request unless sessions keep their own order."""

    __slots__ = (
        "_calls", "_context", "_in_burst", "_in_session", "_latest_call", "_n_connection",
        "_retries", "_sent_step", "_session_began", "_think_until", "user",
    )  # fmt: skip

    # Of steps with nothing besides, with checks, and with values to take.
    call_types: tuple[type[Call], ...] = (Call, CheckedCall, TakingCall)

    def __init__(self, context: SessionContext, dialler: Dialler, keeps: bool):
        super().__init__(dialler, keeps)
        self._context = context
        self.user = User(context, context.next_number())
        self._calls: dict[int, Call] = {}
        self._in_session = self._in_burst = self._n_connection = 0
        self._think_until = self._session_began = 0
        # The step with its values, without the cookies.
        self._sent_step: Step | None = None
        self._retries = context.session.retry_on_failure
        self._latest_call: Call | None = None

    def attempt(self, request: Request, intended: int, start: int) -> float | None:
        """One call, after a due pause; also None if the run ended during the pause."""
        context = self._context
        if self._think_until > context.clock_ns(start):
            if not (self._think() if context.turns is None else self._think_in_turns()):
                return None
            self.check_for_strays()
            intended = start = now()
        if context.turns is not None:
            context.turns.turn_at(start).n_begun += 1
        if not self._in_session:
            user = self.user
            if context.has_flows:
                user.flow = context.next_flow(start)
            if user.flow.visits is not None:
                self._session_began = start
                user.n_failed = 0
                user.flow.visits.note_begin(start)
        pause_s = self.call(request, intended, start)
        self._end_session_if_due()
        self._in_burst += 1
        if self._in_burst >= context.session.burst_length:
            self._in_burst = 0
            if pause_ns := self.user.drawn_pause_ns():
                self._think_until = context.clock_ns(now()) + pause_ns
        return pause_s

    def call(self, request: Request, intended: int, start: int) -> float | None:
        """Make the user's next call at once."""
        # Settle before the call's bytes are replaced by those of the next one.
        self.settle()
        index = self.user.next_step(request.recorder.step)
        call = self._calls.get(index)
        if call is None:
            call = self._calls[index] = self._make_call(index)
        return self._make(call, intended, start)

    def call_again(self, call: "Call", start: int) -> float | None:
        """Retry a failed call, as if it had not been made before."""
        self.settle()
        return self._make(call, start, start)

    def take_failed_call(self) -> "Call | None":
        """The latest call, if it failed in a way that a retry may fix; then the user has not failed
        yet.
        """
        call = self._latest_call
        if call.failures.kind is None or call.failures.kind in _FINAL:
            return None
        self.user.n_failed -= 1
        return call

    def _make(self, call: "Call", intended: int, start: int) -> float | None:
        if self._retries:
            self._latest_call, call.failures.kind = call, None
        if self.connection is None:
            self._n_connection = 0
        context = self._context
        most = context.session.calls_per_connection
        is_last = self.keeps and context.announces_last and 0 < most <= self._n_connection + 1
        connection = self.connection
        pause_s = self.make_call(call, is_last, intended, start)
        if self.connection is not connection:
            self._n_connection = 0
        self._note(call, is_last)
        return pause_s

    def make_call(self, call: "Call", is_last: bool, intended: int, start: int) -> float | None:
        """Send it and read its reply."""
        call.send_next(self._bytes_of(call, is_last))
        return self.exchange(call, intended, start)

    def exchange(self, call: "Call", intended: int, start: int) -> float | None:
        """The same with the bytes that the call has."""
        return super().attempt(call, intended, start)

    def finish_replies(self) -> float | None:
        """Wait until no call is unanswered; without pipelining that is always so."""
        return None

    def join(self, lead: "SessionWorker") -> None:
        """Make calls of the same user beside its other worker."""
        self.user = lead.user

    @property
    def is_connected(self) -> bool:
        """Whether the next call needs no new connection."""
        return self.connection is not None

    def leave(self) -> None:
        """The user leaves; close its connection."""
        if self.connection is not None:
            self._retire(self.connection)

    # --- what is sent ----------------------------------------------------------------------------
    def _make_call(self, index: int) -> Call:
        context, user = self._context, self.user
        request = context.requests[index]
        plain, with_checks, taking = self.call_types
        if request.step.extract:
            call = taking(request, index, context.names, user.flow.givers.keys())
        else:
            make = with_checks if request.step.checks else plain
            call = make(request, index, context.names, user.jar is not None)
        if (visits := user.flow.visits) is not None:
            call.failures = FailureTap(user, request.failures)
            # If connections arrive, one that the server closes is not replaced.
            call.may_replay = visits.has_sessions
        return call

    def _bytes_of(self, call: Call, is_last: bool) -> bytes:
        step = call.step
        if call.is_filled_in:
            values = self.user.values()
            step = filled_in(step, values)
            call.values = tuple(values.values())
        self._sent_step = step
        jar = self.user.jar
        cookies = jar.header(step.path) if jar is not None else ""
        if cookies:
            step = with_cookies(step, cookies)
        if step is call.step and not is_last:
            return self._context.requests[call.index].data
        return self._context.make_bytes(step, is_last)

    # --- what follows from a reply ---------------------------------------------------------------
    def _note(self, call: Call, is_last: bool) -> None:
        self.keep_cookies(call)
        if call.given_values:
            self.user.keep(call.given_values)
        self._n_connection += 1
        if is_last and self.connection is not None:
            self._retire(self.connection)

    def keep_cookies(self, call: Call, host: str | None = None) -> None:
        """What the call's reply sets, from another host than the user's own if one is named."""
        jar = self.user.jar
        if jar is not None and call.reader is not None and call.reader.head is not None:
            n_too_large = jar.take(call.reader.head.headers, self._sent_step.path, host)
            call.events["cookies_too_large"] += [now()] * n_too_large

    def _end_session_if_due(self) -> None:
        self._in_session += 1
        flow = self.user.flow
        n_calls = flow.n_calls
        if self._in_session != n_calls:
            return
        self._in_session = 0
        n_failed = self.user.n_failed
        flow.visits.note_end(
            self._session_began, now(), n_calls - n_failed, n_calls, has_failed=n_failed > 0
        )
        self.user.begin_anew()
        self.leave()

    # --- pauses ----------------------------------------------------------------------------------
    def _think(self) -> bool:
        """Pause; False if the warm-up or the run ended meanwhile, so nothing must be sent."""
        boundary = self._context.boundary_after(now())
        wake = min(self._think_until, boundary)
        self.pause_until(wake)
        is_cut_short = wake < self._think_until
        if not is_cut_short:
            self._think_until = 0
        return not self._context.is_stopped and not is_cut_short

    def _think_in_turns(self) -> bool:
        """The same by the clock of turns, until one of them."""
        context, began = self._context, now()
        while (due := context.turns.due(self._think_until, instant := now())) > instant:
            boundary = context.boundary_after(began)
            entry = context.alarm.set(min(due, boundary), partial(self.switch, _PAUSE_OVER))
            try:
                self.idle_until(_PAUSE_OVER)
            finally:
                context.alarm.cancel(entry)
            if context.is_stopped or now() >= context.boundary_after(began):
                return False
        self._think_until = 0
        return True

    def pause_until(self, wake: int) -> None:
        """Wait, but notice when the server closes the connection."""
        timer = gevent.get_hub().loop.timer(max(0.0, (wake - now()) / NS))
        with Waking(timer, self.switch, _PAUSE_OVER):
            self.idle_until(_PAUSE_OVER)

    def idle_until(self, word: str) -> None:
        """Wait until this greenlet is switched to with this word."""
        while self._to_hub() != word:
            if self.connection is not None:
                self.check_idle()


def with_cookies(step: Step, cookies: str) -> Step:
    """The step with one Cookie header: its own, if it has one, and the jar's."""
    own = [value for name, value in step.headers if name.lower() == "cookie"]
    others = tuple(pair for pair in step.headers if pair[0].lower() != "cookie")
    return replace(step, headers=(*others, ("Cookie", "; ".join([*own, cookies]))))
