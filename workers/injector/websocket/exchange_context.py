"""What all connections of one exchange share: handshakes, messages and the recorder.

A plan's own messages, and which of the server's messages is a reply. Made once for a plan.

Gathers the connections of an exchange into seconds, as the attempts of a step are.

A row has the fields of an HTTP attempt, but `sent` and `first` hold the instants at which the
opening handshake and the messages were over."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from typing import Any, Generic, TypeVar

import numpy as np

from campaigns.domain.metrics.outcomes import Kind
from campaigns.domain.plan import arrivals
from campaigns.domain.plan.exchange import Exchange, ExchangeMode, LineKind, MessageRule, Verify
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.variables import filled_in, filled_text, names_used
from workers.injector import faults
from workers.injector.attempt_row import FIELDS
from workers.injector.connection import NS
from workers.injector.http1 import authority
from workers.injector.order import Order
from workers.injector.pacer import Alarm
from workers.injector.recorder import NEVER, StepRecorder
from workers.injector.reply import Undecodable
from workers.injector.reply_check import Reply, finder
from workers.injector.request import signed_exchange
from workers.injector.users import Rows
from workers.injector.websocket import frames
from workers.injector.websocket.channel import (
    UpgradeCheck,
    UpgradeRejected,
    UpgradeRequest,
    accept_of,
    make_keys,
)
from workers.injector.websocket.frames import KEY_BYTES, OFFERS, MaskingKeys, masked_copies

Values = Mapping[str, str]
# Of one connection: its values → the bytes of a message.
MakeText = Callable[[Values], bytes]


def maker_of(text: str) -> MakeText:
    """Of a text without variables the bytes are made once."""
    if "${" not in text:
        data = text.encode()
        return lambda values: data
    return lambda values: filled_text(text, values).encode()


class Matcher:
    """Tells replies; `begin` when a message is sent, and after each reply."""

    __slots__ = ("_fits", "_n_to_come", "rule")

    def __init__(self, rule: MessageRule, fits: Callable[[bytes], bool] | None):
        self.rule = rule
        self._fits = fits
        self._n_to_come = rule.nth

    @classmethod
    def maker(cls, rule: MessageRule) -> Callable[[], "Matcher"]:
        """What makes one for each connection: the check is compiled here."""
        return partial(cls, rule, rule.check and partial(_fits, finder(rule.check)))

    def is_reply(self, payload: bytes, sent: Callable[[], bytes]) -> bool:
        """`sent`: the message that it would answer."""
        if self._fits is not None:
            return self._fits(payload)
        if self.rule.is_echo:
            return payload == sent()
        self._n_to_come -= 1
        if self._n_to_come:
            return False
        self._n_to_come = self.rule.nth
        return True


def _fits(find: Callable[[Reply], object], payload: bytes) -> bool:
    try:
        return find(Reply.plain(payload)) is not None
    except Undecodable:
        return False


@dataclass(frozen=True, slots=True)
class ScenarioStep:
    """One of a message, what makes the matcher of one, and a pause."""

    make_text: MakeText | None = None
    make_matcher: Callable[[], Matcher] | None = None
    wait_s: float = 0.0


def scenario_of(exchange: Exchange) -> tuple[ScenarioStep, ...]:
    return tuple(
        ScenarioStep(make_text=maker_of(each.text))
        if each.kind == LineKind.SEND
        else ScenarioStep(make_matcher=Matcher.maker(each.rule))
        if each.kind == LineKind.EXPECT
        else ScenarioStep(wait_s=each.wait_s)
        for each in exchange.actions
    )


_INTENDED, _START, _CONNECTED, _SECURED, OPENED, EXCHANGED, _END = (
    FIELDS.index(name)
    for name in ("intended", "start", "connected", "secured", "sent", "first", "end")
)
ABNORMAL = 1006
MESSAGES_SENT, MESSAGES_RECEIVED = "messages_sent", "messages_received"
# Of those received: no replies.
MESSAGES_OTHER = "messages_other"
# Of the connections opened: compression was offered, and the server did not take it.
UNCOMPRESSED = "uncompressed"


class ExchangeRecorder(StepRecorder):
    """Everything about the exchange that is not written out yet; it is the plan's step 0."""

    def __init__(self, *, is_scheduled: bool):
        super().__init__(0, 0, is_scheduled)
        self.events |= {MESSAGES_SENT: [], MESSAGES_RECEIVED: [], MESSAGES_OTHER: []}
        self.events[UNCOMPRESSED] = []
        # How long after the end conversations that it cuts off may take to close.
        self.grace_ns = 0
        self._round_trips: list[int] = []
        self.note_round_trip = self._round_trips.extend
        # For connections that were held open: end → start of the closing handshake.
        self._closing_starts: dict[int, int] = {}

    def note_held(self, end: int, closing: int) -> None:
        """The connection that ended at `end` was silent between its messages and `closing`."""
        self._closing_starts[end] = closing

    def closes_with(self, code: int) -> list[int]:
        """The list that takes the instants of close frames with this code.

        1005: the frame had no code, 1006: there was no close frame.
        """
        return self.events.setdefault(f"close_code_{code}", [])

    def compact_if_long(self) -> None:
        super().compact_if_long()
        if len(self._round_trips) > 1000:
            self._add_round_trips()
            self.make_timings()

    def gather(self) -> None:
        super().gather()
        self._add_round_trips()

    def _add_round_trips(self) -> None:
        """Rows of (due, end)."""
        if not self._round_trips:
            return
        rows = np.array(self._round_trips, dtype=np.int64).reshape(-1, 2)
        self._round_trips.clear()
        seconds = self.seconds_of(rows[:, 1])
        for second in np.unique(seconds).tolist():
            part = rows[seconds == second] // 1000
            self._untimed_at(second).note("message", part[:, 1] - part[:, 0])

    def is_late(self, rows: np.ndarray) -> np.ndarray:
        """By their messages: when a connection is closed says nothing of the server."""
        return rows[:, EXCHANGED] > self.until_ns + self.grace_ns

    def durations_us(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The timings of ok attempts; response = lateness + the parts, row by row.

        The time in which a connection was only held open is in none of them.
        """
        us = rows[:, : _END + 1] // 1000
        is_tls, has_talked = rows[:, _SECURED] > 0, rows[:, EXCHANGED] > rows[:, OPENED]
        ready = np.where(is_tls, us[:, _SECURED], us[:, _CONNECTED])
        # When each closing handshake began: right after the messages, or when it was released.
        closing = us[:, EXCHANGED]
        if self._closing_starts:
            ends, exchange_ends = rows[:, _END].tolist(), rows[:, EXCHANGED].tolist()
            begins = map(self._closing_starts.pop, ends, exchange_ends)
            closing = np.fromiter(begins, np.int64, len(rows)) // 1000
        held_us = closing - us[:, EXCHANGED]
        return {
            "response": us[:, _END] - us[:, _INTENDED] - held_us,
            "service": us[:, _END] - us[:, _START] - held_us,
            "lateness": us[:, _START] - us[:, _INTENDED],
            "connect": us[:, _CONNECTED] - us[:, _START],
            "tls": (us[:, _SECURED] - us[:, _CONNECTED])[is_tls],
            "connect_tls": (us[:, _SECURED] - us[:, _START])[is_tls],
            "handshake": us[:, OPENED] - ready,
            "exchange": (us[:, EXCHANGED] - us[:, OPENED])[has_talked],
            "close": us[:, _END] - closing,
        }


class VaryingUpgrade:
    """Replaces an UpgradeRequest; a connection's bytes are made when it opens."""

    def __init__(self, exchange: Exchange, host_header: str, rows: Rows):
        self._exchange = exchange
        self._host_header = host_header
        self._rows = rows
        # Of the connection whose bytes were made last.
        self.values: Mapping[str, str] = {}

    def bytes_ahead(self, key: bytes) -> bytes:
        """Nothing: a row is taken by a connection, not by an attempt to get one."""
        return b""

    def bytes_with(self, key: bytes) -> bytes:
        rows = self._rows
        self.values = rows.take() | rows.times() if rows.times else rows.take()
        opening = filled_in(self._exchange.opening, self.values)
        exchange = replace(self._exchange, path=opening.path, headers=opening.headers)
        return UpgradeRequest.of(exchange, self._host_header).bytes_with(key)

    @property
    def template(self) -> bytes:
        """The request as the plan has it, with the variables' names."""
        return UpgradeRequest.of(self._exchange, self._host_header).template


def make_upgrade(
    exchange: Exchange, host_header: str, order: Order
) -> UpgradeRequest | VaryingUpgrade:
    """What makes the opening request of an order's connections; `exchange` has its credentials."""
    if order.plan.variable_names & names_used(exchange.spoken):
        rows = Rows(order.plan.variables, order.shard, order.seed)
        return VaryingUpgrade(exchange, host_header, rows)
    return UpgradeRequest.of(exchange, host_header)


_NUMBER_BYTES = 8
_HANDSHAKES_AT_ONCE = 64
Upgrade = UpgradeRequest | VaryingUpgrade


class ExchangeContext:
    """Takes the place of an HTTP plan's Request. `zero_ns` and `end_ns` bound the conversations
    of a closed load. `turns`: those that messages wait for, and `talking` the conversations that
    have some; None where they are sent when they are due."""

    def __init__(self, plan: Plan, upgrade: Upgrade, recorder: ExchangeRecorder):
        self.plan = plan
        self.exchange: Exchange = plan.exchange
        self.recorder = recorder
        self.record = recorder.record
        self.failures = recorder.failures
        self.events = recorder.events
        self.upgrade = upgrade
        self.offers_deflate = self.exchange.deflate in OFFERS
        self.check = UpgradeCheck(self.exchange.subprotocols, self.exchange.deflate)
        self.handshakes = Stock(self._make_handshakes)
        self._keys = MaskingKeys()
        self.total_ns = int(plan.timeouts.total_s * NS)
        self.close_ns = int(self.exchange.close_timeout_s * NS)
        self._close_payload = frames.close_payload(self.exchange.close_code)
        self.expected_close = frames.encode_frame(frames.CLOSE, self._close_payload)
        self.note_expected_close = recorder.closes_with(self.exchange.close_code).append
        self.opcode = frames.BINARY if self.exchange.binary else frames.TEXT
        self.is_sync = self.exchange.mode == ExchangeMode.ECHO_SYNC
        self.is_echoed = self.exchange.mode != ExchangeMode.SEND_ONLY
        self.verifies_bytes = self.exchange.verify == Verify.EXACT
        self.n_messages, self.talks = self.exchange.n_messages, self.exchange.talks
        self.rate_per_s = self.exchange.rate_per_s  # of each connection
        self.alarm = Alarm() if self.rate_per_s and self.n_messages else None
        self.scenario = scenario_of(self.exchange)
        self._texts = tuple(map(maker_of, self.exchange.texts))
        self.payload = self._text if self._texts else self._numbered
        # None: the first message must be an echo of ours.
        is_own = self.exchange.reply or self._texts
        self.make_matcher = Matcher.maker(self.exchange.rule) if is_own else None
        self.zero_ns = 0
        self.end_ns: int | None = None
        self.turns: Any = None
        self.talking: set[Any] = set()
        self._phases: Mapping[Any, float] = {}
        self._filling = b"benchsite message " * (self.exchange.size_bytes // 18 + 1)

    @classmethod
    def of(
        cls, order: Order, make_recorder: Callable[..., ExchangeRecorder] = ExchangeRecorder
    ) -> "ExchangeContext":
        """The context of an order that has not started. Raises Refusal without its secret."""
        endpoint, load = order.endpoint, order.plan.load
        recorder = make_recorder(is_scheduled=arrivals.is_scheduled(load))
        host = authority(endpoint.scheme, endpoint.host, endpoint.port)
        exchange = signed_exchange(order.plan, order.secret)
        return cls(order.plan, make_upgrade(exchange, host, order), recorder)

    def take_turns(self, turns: Any, alarm: Alarm, phases: Mapping[Any, float]) -> None:
        """Call before any connection is opened. `phases`: which part of the time between two
        messages is over when a worker's is due."""
        self.turns, self.alarm, self._phases = turns, alarm, phases

    def send_at(self, rate_per_s: float) -> None:
        """Each connection, from the next turn on."""
        if rate_per_s == self.rate_per_s:
            return
        self.rate_per_s = rate_per_s
        for conversation in self.talking:
            conversation.count_anew()

    def first_due(self, worker: Any, clock_ns: int) -> int:
        """Of a connection that was opened then. Arms whose connections took turns in other ways
        would queue in other ways."""
        rate = self.rate_per_s
        if not rate:
            return clock_ns
        phase = self._phases[worker]
        return int((ceil(clock_ns * rate / NS - phase) + phase) * NS / rate)

    def _make_handshakes(self) -> list[tuple[bytes, bytes, bytes]]:
        """(Sec-WebSocket-Key, the accept value that answers it, our close frame) per connection."""
        count, payload = _HANDSHAKES_AT_ONCE, self._close_payload
        keys = make_keys(count)
        frame = frames.encode_frame(frames.CLOSE, payload, bytes(KEY_BYTES))
        closes = masked_copies(frame, len(payload), count)
        return list(zip(keys, map(accept_of, keys), closes, strict=True))

    @property
    def template(self) -> bytes:
        """The opening request as the plan has it, for an example of a failure."""
        return self.upgrade.template

    def secret_values(self) -> tuple[str, ...]:
        """None but the order's own: what a server said to a variable's value is not shown."""
        return ()

    def detail(self, error: Exception, kind: Kind) -> str:
        """What the error says beyond its kind; "" where the server may have repeated values."""
        if isinstance(self.upgrade, VaryingUpgrade) or isinstance(error, UpgradeRejected):
            return ""
        return self.recorder.examples.clean(self, faults.detail_of(error, kind))

    def note_example(self, kind: Kind, status: int, end: int, error: Exception) -> None:
        """Of a failure at `end`: the reply that refused the opening, or why it was closed."""
        refusal = error if isinstance(error, UpgradeRejected) else None
        may_echo_values = isinstance(self.upgrade, VaryingUpgrade)
        example = (None, "") if may_echo_values else (refusal, str(error))
        self.recorder.examples.note(self, kind, status, end, *example)

    def stop(self) -> None:
        """Open conversations send nothing more, and close."""
        self.zero_ns = self.end_ns = 1
        if self.alarm is not None:
            self.alarm.ring_now()

    def until(self, start: int) -> int:
        """When a conversation that began at `start` stops sending, even if messages are left."""
        return self.zero_ns if start < self.zero_ns else self.end_ns or NEVER

    def due(self, opened_at: int, number: int) -> int:
        """When message `number` of a connection opened at that instant is to be sent."""
        rate = self.rate_per_s
        return opened_at + int(number * NS / rate) if rate else opened_at

    def _text(self, number: int, values: Values) -> bytes:
        return self._texts[number % len(self._texts)](values)

    def _numbered(self, number: int, _: Values) -> bytes:
        """Message `number`: ASCII that begins with the number, so that echoes can be told apart."""
        size = self.exchange.size_bytes
        digits = b"%08x" % number
        if size <= _NUMBER_BYTES:
            return digits[_NUMBER_BYTES - size :]
        return digits + self._filling[: size - _NUMBER_BYTES]

    def is_echo(self, number: int, opcode: int, payload: bytes) -> bool:
        if opcode != self.opcode or len(payload) != self.exchange.size_bytes:
            return False
        return not self.verifies_bytes or payload == self._numbered(number, {})

    def masked(self, opcode: int, payload: bytes, *, is_packed: bool = False) -> bytes:
        return frames.encode_frame(opcode, payload, self._keys.take(), is_packed=is_packed)


T = TypeVar("T")
_LOW = 32


class Stock(Generic[T]):
    """Hands out each item once."""

    __slots__ = ("_make", "_ready")

    def __init__(self, make: Callable[[], list[T]]):
        self._make = make
        self._ready: list[T] = []

    def take(self) -> T:
        if not self._ready:
            self._ready = self._make()
        return self._ready.pop()

    def fill_up(self) -> None:
        """Call it between two attempts, so that an attempt finds an item ready."""
        if len(self._ready) < _LOW:
            self._ready += self._make()
