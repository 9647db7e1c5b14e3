"""What a WebSocket plan does on each connection: opens it, exchanges messages, closes it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.step import Step, header_fault, path_fault, read_headers

MAX_MESSAGES = 10_000_000
MAX_MESSAGE_BYTES = 1024 * 1024
MAX_MESSAGES_PER_S = 100_000
MAX_SUBPROTOCOLS = 20
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_CLOSE_CODES = frozenset({1000, 1001, *range(3000, 5000)})
_NAMES = (
    "path", "headers", "subprotocols", "messages", "size_bytes", "binary", "mode", "rate_per_s",
    "verify", "close_code", "close_timeout_s",
)  # fmt: skip


class ExchangeMode(StrEnum):
    """echo_sync: the next message when the echo is there. echo_async: without waiting for it."""

    ECHO_SYNC = "echo_sync"
    ECHO_ASYNC = "echo_async"
    SEND_ONLY = "send_only"


class Verify(StrEnum):
    """What of an echo must be as it was sent."""

    EXACT = "exact"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class Exchange:
    """`messages` per connection, 0 for the two handshakes alone; `rate_per_s` None: at once."""

    path: str = "/"
    headers: tuple[tuple[str, str], ...] = ()
    subprotocols: tuple[str, ...] = ()
    messages: int = 0
    size_bytes: int = 64
    binary: bool = False
    mode: ExchangeMode = ExchangeMode.ECHO_SYNC
    rate_per_s: float | None = None
    verify: Verify = Verify.EXACT
    close_code: int = 1000
    close_timeout_s: float = 5.0

    @property
    def opening(self) -> Step:
        """The request of the opening handshake, as far as a plan says it."""
        return Step("", "GET", self.path, self.headers)

    def to_json(self) -> dict:
        data = {name: getattr(self, name) for name in _NAMES}
        return data | {
            "headers": [list(pair) for pair in self.headers],
            "subprotocols": list(self.subprotocols),
            "mode": str(self.mode),
            "verify": str(self.verify),
        }


def longest_attempt_s(exchange: Mapping[str, Any] | None, timeout_s: float) -> float:
    """Seconds that one attempt of a stored plan can take, with `timeout_s` for each wait."""
    if not exchange:
        return timeout_s
    messages, rate = exchange["messages"], exchange["rate_per_s"]
    talking_s = messages / rate if rate else 0.0
    if exchange["mode"] == ExchangeMode.ECHO_SYNC:
        talking_s = max(talking_s, messages * timeout_s)
    return 2 * timeout_s + talking_s + exchange["close_timeout_s"]


def read_optional_exchange(reader: JsonReader) -> Exchange | None:
    """The exchange of a plan that has one; it then has no HTTP steps."""
    if reader.data.get("exchange") is None:
        return None
    if reader.data.get("steps"):
        reader.fail("steps", "A WebSocket plan has no HTTP steps; leave them out.")
    return read_exchange(reader.child("exchange"))


def read_exchange(reader: JsonReader) -> Exchange:
    standard = Exchange()
    path = reader.text("path", standard.path, limit=8000)
    if fault := path_fault(path):
        reader.fail("path", fault)
    close_timeout_s = reader.number("close_timeout_s", 5.0, low=0, high=600, above_low=True)
    exchange = Exchange(
        path=path,
        headers=_read_headers(reader),
        subprotocols=_read_subprotocols(reader),
        messages=reader.number("messages", 0, low=0, high=MAX_MESSAGES, whole=True),
        size_bytes=reader.number("size_bytes", 64, low=0, high=MAX_MESSAGE_BYTES, whole=True),
        binary=_read_flag(reader, "binary"),
        mode=reader.choice("mode", ExchangeMode, standard.mode),
        rate_per_s=reader.number("rate_per_s", low=0, high=MAX_MESSAGES_PER_S, above_low=True),
        verify=reader.choice("verify", Verify, standard.verify),
        close_code=reader.number("close_code", 1000, low=1000, high=4999, whole=True),
        close_timeout_s=close_timeout_s,
    )
    if exchange.close_code not in _CLOSE_CODES:
        reader.fail("close_code", "A client closes with 1000, 1001, or its own 3000 to 4999.")
    reader.refuse_unknown(*_NAMES)
    return exchange


def _read_flag(reader: JsonReader, name: str) -> bool:
    value = reader.data.get(name, False)
    if not isinstance(value, bool):
        reader.fail(name, "Write true or false.")
    return value is True


def _read_headers(reader: JsonReader) -> tuple[tuple[str, str], ...]:
    headers = read_headers(reader)
    for name, value in headers:
        if header_fault(name, value) is None and name.lower().startswith("sec-websocket-"):
            reader.fail("headers", f"{name} is written by the injector itself; leave it out.")
    return headers


def _read_subprotocols(reader: JsonReader) -> tuple[str, ...]:
    raw = reader.data.get("subprotocols", [])
    names = tuple(raw) if isinstance(raw, list | tuple) else (None,)
    if not all(isinstance(name, str) and _TOKEN.fullmatch(name) for name in names):
        reader.fail("subprotocols", "Write a list of names such as chat or graphql-ws.")
        return ()
    if len(names) > MAX_SUBPROTOCOLS or len(set(names)) < len(names):
        reader.fail("subprotocols", f"At most {MAX_SUBPROTOCOLS} names, each once.")
        return ()
    return names
