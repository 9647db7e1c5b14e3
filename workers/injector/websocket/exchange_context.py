"""What all connections of one exchange share: handshakes, messages and the recorder."""

import sys

from campaigns.domain.measured.outcomes import Kind
from campaigns.domain.plan import arrivals
from campaigns.domain.plan.exchange import Exchange, ExchangeMode, Verify
from campaigns.domain.plan.plan import Plan
from workers.injector.alarm import Alarm
from workers.injector.connection import NS
from workers.injector.credentials import signed_exchange
from workers.injector.http1 import authority
from workers.injector.order import Order
from workers.injector.websocket import frames
from workers.injector.websocket.masking import KEY_BYTES, MaskingKeys, masked_copies
from workers.injector.websocket.opening import VaryingUpgrade, make_upgrade
from workers.injector.websocket.recorder import ExchangeRecorder
from workers.injector.websocket.stock import Stock
from workers.injector.websocket.upgrade import (
    UpgradeCheck,
    UpgradeRejected,
    UpgradeRequest,
    accept_of,
    make_keys,
)

_NEVER = sys.maxsize
_NUMBER_BYTES = 8
_HANDSHAKES_AT_ONCE = 64
Upgrade = UpgradeRequest | VaryingUpgrade


class ExchangeContext:
    """Takes the place of an HTTP plan's Request. `zero_ns` and `end_ns` bound the conversations
    of a closed load."""

    def __init__(self, plan: Plan, upgrade: Upgrade, recorder: ExchangeRecorder):
        self.plan = plan
        self.exchange: Exchange = plan.exchange
        self.recorder = recorder
        self.record = recorder.record
        self.failures = recorder.failures
        self.events = recorder.events
        self.upgrade = upgrade
        self.check = UpgradeCheck(self.exchange.subprotocols)
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
        self.alarm = Alarm() if self.exchange.rate_per_s and self.exchange.messages else None
        self.zero_ns = 0
        self.end_ns: int | None = None
        self._filling = b"benchsite message " * (self.exchange.size_bytes // 18 + 1)

    @classmethod
    def of(cls, order: Order) -> "ExchangeContext":
        """The context of an order that has not started. Raises Refusal without its secret."""
        endpoint, load = order.endpoint, order.plan.load
        recorder = ExchangeRecorder(is_scheduled=arrivals.is_scheduled(load))
        host = authority(endpoint.scheme, endpoint.host, endpoint.port)
        exchange = signed_exchange(order.plan, order.secret)
        return cls(order.plan, make_upgrade(exchange, host, order), recorder)

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

    def note_example(self, kind: Kind, status: int, end: int, error: Exception) -> None:
        """Of a failure at `end`: the reply that refused the opening, or why it was closed."""
        refusal = error if isinstance(error, UpgradeRejected) else None
        may_echo_values = isinstance(self.upgrade, VaryingUpgrade)
        said = (None, "") if may_echo_values else (refusal, str(error))
        self.recorder.examples.note(self, kind, status, end, *said)

    def stop(self) -> None:
        """Open conversations send nothing more, and close."""
        self.zero_ns = self.end_ns = 1
        if self.alarm is not None:
            self.alarm.ring_now()

    def until(self, start: int) -> int:
        """When a conversation that began at `start` stops sending, even if messages are left."""
        return self.zero_ns if start < self.zero_ns else self.end_ns or _NEVER

    def due(self, opened: int, number: int) -> int:
        """When message `number` of a connection opened at that instant is to be sent."""
        rate = self.exchange.rate_per_s
        return opened + int(number * NS / rate) if rate else opened

    def payload(self, number: int) -> bytes:
        """Message `number`: ASCII that begins with the number, so that echoes can be told apart."""
        size = self.exchange.size_bytes
        digits = b"%08x" % number
        if size <= _NUMBER_BYTES:
            return digits[_NUMBER_BYTES - size :]
        return digits + self._filling[: size - _NUMBER_BYTES]

    def is_echo(self, number: int, opcode: int, payload: bytes) -> bool:
        if opcode != self.opcode or len(payload) != self.exchange.size_bytes:
            return False
        return not self.verifies_bytes or payload == self.payload(number)

    def masked(self, opcode: int, payload: bytes) -> bytes:
        return frames.encode_frame(opcode, payload, self._keys.take())
