"""A step as bytes to send, with what its replies have taught so far.

What a campaign's connection mode means for the connections of a plan.

Writes the Authorization header. The secret comes with the order and is used nowhere else."""

import base64
from dataclasses import dataclass, replace
from typing import Any

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.plan.exchange import Exchange
from campaigns.domain.plan.load import ArrivalUnit, Hold, Model
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.session import AuthKind
from campaigns.domain.plan.step import Step
from workers.injector.http1 import Head, HeadMemo
from workers.injector.order import Refusal
from workers.injector.recorder import StepRecorder
from workers.injector.reply import ReplyReader
from workers.injector.reply_check import Reply, ReplyRules

_SIMPLE_CAP = 512
_MOST_RECV_BYTES = 16 * 1024
_BLANK_LINE = b"\r\n\r\n"
# (status, bytes of the head, of the body, of the whole reply, whether the connection may stay).
Known = tuple[int, int, int, int, bool]


@dataclass(frozen=True, slots=True)
class ReplyFault:
    """Why a whole reply is a failure: which rule of the step does not hold, and what came."""

    kind: Kind
    rule: str = ""
    came: str = ""

    @property
    def detail(self) -> str:
        """Beyond the kind, alike for all failures of a rule."""
        return f"expected {self.rule}" if self.rule else ""

    @property
    def whole(self) -> str:
        """Of an example."""
        return f"{self.detail}; {self.came}" if self.came else self.detail


_UNEXPECTED = ReplyFault(Kind.STATUS_UNEXPECTED)


class Request:
    """One step as bytes, with what its replies have taught so far.

    `simple` has what is known of expected replies of known length by the bytes of their head.
    `latest` is the whole reply that was recalled last, and `latest_known` what is known of it.
    `recv_bytes`: how much to read at once, a byte more than such replies have, so that what comes
    after one is seen: a buffer of many kilobytes takes longer to get than to fill.
    """

    __slots__ = (
        "_longest", "data", "events", "failures", "latest", "latest_known", "may_replay",
        "memo", "plan", "record", "recorder", "recv_bytes", "simple", "size_bytes", "step",
    )  # fmt: skip

    # How much of each body is kept, whatever its status.
    keep_bytes = 0

    def __init__(self, plan: Plan, step: Step, data: bytes, recorder: StepRecorder):
        self.plan = plan
        self.step = step
        self.data = data
        self.size_bytes = len(data)
        self.recorder = recorder
        self.record = recorder.record
        self.failures = recorder.failures
        self.events = recorder.events
        self.memo = HeadMemo(step.method, plan.http_version)
        self.simple: dict[bytes, Known] = {}
        self.latest: bytes | None = None
        self.latest_known: Known | None = None
        self._longest = 0
        self.recv_bytes = _MOST_RECV_BYTES
        # Whether one that no server can have read may go on a new connection.
        self.may_replay = True

    def make_reader(self) -> ReplyReader:
        return ReplyReader(self.memo, self.keep_bytes)

    def fault_in(self, reader: Any) -> ReplyFault | None:
        """Of a whole reply; `reader` is a ReplyReader or a Stream."""
        return None if self.plan.status_is_expected(reader.head.status) else _UNEXPECTED

    @property
    def template(self) -> bytes:
        """The request as the plan has it: an example of a failure shows no variable's value."""
        return self.data

    def secret_values(self) -> tuple[str, ...]:
        """Values of this very request that an example must not show."""
        return ()

    def recall(self, data: bytes) -> Known | None:
        """What is known of a reply if `data` is all of it, and nothing else."""
        entry = self.simple.get(data[: data.find(_BLANK_LINE) + 4])
        if entry is None or entry[3] != len(data):
            return None
        self.latest, self.latest_known = data, entry
        return entry

    def remember(self, first: bytes, head: Head) -> None:
        """Let the hot path know an expected head of known length, if `first` begins with it.

        It does not where an interim reply came before, or where the head came in pieces.
        """
        size, body = head.size_bytes, head.body_bytes
        if body is None:
            return
        self._longest = max(self._longest, size + body)
        self.recv_bytes = min(_MOST_RECV_BYTES, self._longest + 1)
        text = first[:size]
        if self.memo.heads.get(text) is not head:
            return
        if len(self.simple) >= _SIMPLE_CAP:
            self.simple.clear()
        self.simple[text] = (head.status, size, body, size + body, head.is_reusable)


class WithChecks:
    """What a request of a step with checks does besides; `rules` are the step's. `plain_head`: the
    last one whose status fits and whose body is at hand as it came."""

    __slots__ = ()
    rules: ReplyRules
    plain_head: Head | None

    def recall(self, data: bytes) -> Known | None:
        """The reply that was recalled last passes again, without a look, if it comes again. One
        that fails is left to the slow path, which makes an example of it."""
        size = data.find(_BLANK_LINE) + 4
        entry = self.simple.get(data[:size])
        if entry is None or entry[3] != len(data):
            return None
        texts = self.rules.texts
        if texts is None:
            head = self.memo.heads.get(data[:size])
            if head is None or self.rules.fault(Reply.plain(data[size:], head)):
                return None
        else:
            for text, is_absent in texts:
                if (data.find(text, size) < 0) != is_absent:
                    return None
        self.latest, self.latest_known = data, entry
        return entry

    def remember(self, first: bytes, head: Head) -> None:
        """A body that has to be decoded is left to the slow path as well."""
        if not (head.coding or head.charset):
            super().remember(first, head)

    def fault_in(self, reader: Any) -> ReplyFault | None:
        head = reader.head
        if head is self.plain_head:
            # Over HTTP/2 each reply comes this way: texts in plain sight take no other call.
            body = reader.body_start
            for text, is_absent in self.rules.texts:
                if (text in body) == is_absent:
                    break
            else:
                return None
        elif fault := super().fault_in(reader):
            return fault
        if broken := self.rules.fault(reply_of(reader)):
            return ReplyFault(Kind.CHECK_FAILED, *broken)
        is_plain = len(reader.body_start) == head.body_bytes and not (head.coding or head.charset)
        if self.rules.texts and is_plain:
            self.plain_head = head
        return None


class CheckedRequest(WithChecks, Request):
    __slots__ = ("keep_bytes", "plain_head", "rules")

    def __init__(self, plan: Plan, step: Step, data: bytes, recorder: StepRecorder):
        super().__init__(plan, step, data, recorder)
        self.rules = ReplyRules(step)
        self.keep_bytes = self.rules.keep_bytes
        self.plain_head = None


def reply_of(reader: Any) -> Reply:
    body = reader.body_start
    return Reply(reader.head, body, is_whole=len(body) == reader.body_bytes)


def wire_mode(plan: Plan, mode: ConnectionMode) -> ConnectionMode:
    """The mode that a request's Connection header announces.

    In a window, and where connections arrive, every connection is new. It is kept alive while it is
    held or has more calls to make.
    """
    load = plan.load
    is_connection = load.arrival_unit == ArrivalUnit.CONNECTION
    if load.model != Model.WINDOW and not is_connection:
        return mode
    if load.hold != Hold.CLOSE or plan.calls_per_arrival > 1:
        return ConnectionMode.KEEP_ALIVE
    return ConnectionMode.NEW if mode == ConnectionMode.KEEP_ALIVE else mode


def streams_of(plan: Plan, mode: ConnectionMode) -> int:
    """Requests at a time on a connection: a new one for each request has only that."""
    return plan.streams if wire_mode(plan, mode) == ConnectionMode.KEEP_ALIVE else 1


def requests_at_once(plan: Plan, mode: ConnectionMode) -> int:
    """Of one visitor: the requests of a burst share its connections and their streams."""
    return (plan.session.connections_per_session or 1) * streams_of(plan, mode)


def signed_steps(plan: Plan, secret: str) -> tuple[Step, ...]:
    """The plan's steps with their Authorization header. Raises Refusal without a usable secret."""
    headers = _headers(plan, secret)
    return tuple(replace(step, headers=(*step.headers, *headers)) for step in plan.steps)


def signed_exchange(plan: Plan, secret: str) -> Exchange:
    """The plan's exchange with its Authorization header. Raises Refusal as `signed_steps` does."""
    exchange = plan.exchange
    return replace(exchange, headers=(*exchange.headers, *_headers(plan, secret)))


def _headers(plan: Plan, secret: str) -> tuple[tuple[str, str], ...]:
    if plan.auth.kind == AuthKind.NONE:
        return ()
    if not secret:
        raise Refusal(
            "bad_order",
            "The plan sends credentials, but no secret is stored for it. Edit the plan and add it.",
        )
    if plan.auth.kind == AuthKind.BASIC:
        pair = base64.b64encode(f"{plan.auth.user}:{secret}".encode()).decode()
        return (("Authorization", f"Basic {pair}"),)
    if not all("!" <= ch <= "~" for ch in secret):
        raise Refusal("bad_order", "A bearer token must be printable ASCII without spaces.")
    return (("Authorization", f"Bearer {secret}"),)
