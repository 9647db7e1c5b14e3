"""What a WebSocket plan does on each connection: opens it, exchanges messages, closes it. People
write the messages in lines: actions of a scenario, and which of the server's messages is the reply.

    send: {"type": "connection_init"}
    expect: json: $.type = connection_ack
    wait: 500ms
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from campaigns.domain.plan.body import MAX_PATTERN_LENGTH
from campaigns.domain.plan.fields import (
    choice,
    flag,
    json_of,
    listed,
    number,
    read_scalars,
    text,
    whole,
)
from campaigns.domain.plan.reply_rules import CheckKind, ReplyCheck, parse_check, read_checks
from campaigns.domain.plan.step import MAX_PATH_LENGTH, Step, header_fault, path_fault, read_headers
from campaigns.domain.typed_text import JsonReader, seconds_in

MAX_MESSAGES = 10_000_000
# What of an exchange is in its opening request.
OPENING = ("path", "headers", "subprotocols")
MAX_MESSAGE_BYTES = 1024 * 1024
MAX_MESSAGES_PER_S = 100_000
MAX_SUBPROTOCOLS = 20
MAX_CLOSE_S = 600
_ONE_PIECE_BYTES = 1200  # a packet of most networks
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_CLOSE_CODES = frozenset({1000, 1001, *range(3000, 5000)})
MAX_TEXTS = 1000
MAX_LINES = 100
MAX_WAIT_S = 600
_NTH = re.compile(r"message: (\d{1,6})")
_ACTION = re.compile(r"(send|expect|wait): (.*)", re.DOTALL)
FIRST, ECHO = "first", "echo"
RULES = "first, message: 2 (the second one), echo, text: TEXT, pattern: RE2, json: $.path = value"


@dataclass(frozen=True, slots=True)
class MessageRule:
    """Which message after the one that was sent is its reply: the nth, its echo, or the first that
    the check fits. `line`: as it is written."""

    line: str = FIRST
    nth: int = 1
    check: ReplyCheck | None = None

    @property
    def is_echo(self) -> bool:
        return self.line == ECHO


class LineKind(StrEnum):
    SEND = "send"
    EXPECT = "expect"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class ScenarioLine:
    """One of a text, a rule and seconds, by the kind."""

    kind: LineKind
    text: str = ""
    rule: MessageRule = MessageRule()
    wait_s: float = 0.0


def rule_of(line: str) -> MessageRule:
    """One that was checked when it was stored."""
    line = line.strip()
    if nth := _NTH.fullmatch(line):
        return MessageRule(line, int(nth[1]))
    if line in {"", FIRST, ECHO}:
        return MessageRule(line or FIRST)
    return MessageRule(line, check=ReplyCheck.from_json(parse_check(line)))


def line_of(line: str) -> ScenarioLine:
    """One that was checked when it was stored."""
    kind, content = _ACTION.fullmatch(line).groups()
    match LineKind(kind):
        case LineKind.SEND:
            return ScenarioLine(LineKind.SEND, content)
        case LineKind.EXPECT:
            return ScenarioLine(LineKind.EXPECT, rule=rule_of(content))
    return ScenarioLine(LineKind.WAIT, wait_s=seconds_in(content))


def read_scenario(reader: JsonReader) -> tuple[str, ...]:
    """The field `scenario` of an exchange: its lines, each of which `line_of` reads."""
    lines = _read_lines(reader, "scenario", MAX_LINES)
    for line_number, line in enumerate(lines, 1):
        if fault := _action_fault(line):
            reader.fail("scenario", f"Line {line_number}: {fault}")
            return ()
    return lines


def rule_fault(line: str) -> str:
    """What is wrong with a rule, as a sentence; "" if nothing is."""
    line = line.strip()
    if line in {"", FIRST, ECHO} or ((nth := _NTH.fullmatch(line)) and int(nth[1])):
        return ""
    check = parse_check(line)
    if check["kind"] not in set(CheckKind) - {CheckKind.STATUS}:
        return f"{line[:64]!r} is no rule for a message. Write one of: {RULES}."
    reader = JsonReader({"checks": [check]})
    checks = read_checks(reader)
    if not reader.errors and checks[0].is_absent:
        return "A reply is what a message has, not what it lacks."
    return next(iter(reader.errors.values()), "")


def _action_fault(line: str) -> str:
    match = _ACTION.fullmatch(line)
    if match is None:
        return "begin it with send: , expect: or wait: ."
    kind, content = match.groups()
    if kind == LineKind.EXPECT:
        return rule_fault(content)
    if kind == LineKind.WAIT:
        try:
            is_right = 0 < seconds_in(content) <= MAX_WAIT_S
        except ValueError:
            is_right = False
        return "" if is_right else f"wait: takes such as 0.5 or 200ms, at most {MAX_WAIT_S} s."
    return ""


def _read_lines(reader: JsonReader, name: str, most: int) -> tuple[str, ...]:
    raw = reader.data.get(name) or []
    if not isinstance(raw, list | tuple) or not all(isinstance(each, str) for each in raw):
        reader.fail(name, "Write a list of texts.")
        return ()
    if len(raw) > most:
        reader.fail(name, f"Write at most {most:,}.")
    if any(len(each.encode()) > MAX_MESSAGE_BYTES or "\n" in each for each in raw):
        reader.fail(name, "Each is one line of at most 1 MiB.")
    return tuple(raw)


class ExchangeMode(StrEnum):
    """echo_sync: the next message when the echo is there. echo_async: without waiting for it."""

    ECHO_SYNC = "echo_sync"
    ECHO_ASYNC = "echo_async"
    SEND_ONLY = "send_only"


class Deflate(StrEnum):
    """permessage-deflate (RFC 7692), with one window for all messages, or one for each."""

    NONE = "none"
    TAKEOVER = "context_takeover"
    NO_TAKEOVER = "no_context_takeover"


class Verify(StrEnum):
    """What of an echo must be as it was sent."""

    EXACT = "exact"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class Exchange:
    """`messages` per connection, 0 for the two handshakes alone, or each of `texts` once;
    `rate_per_s` None: at once."""

    # fmt: off
    path: str = text("Path", "/", high=MAX_PATH_LENGTH,
        help="Begins with a slash; with the query.",
        detail="As in a step, for the opening handshake.")
    messages: int = whole("Messages", 0, high=MAX_MESSAGES,
        help="Messages on each connection. 0: only the opening and the closing handshake.",
        option="--messages N")
    size_bytes: int = whole("Message size", 64, high=MAX_MESSAGE_BYTES, unit="B",
        help="Bytes of each message, at most 1 MiB.",
        option="--size B", group="exchange")
    binary: bool = flag("Binary messages",
        help="Send binary messages instead of text.",
        option="--binary", group="exchange")
    mode: ExchangeMode = choice("Echoes", ExchangeMode.ECHO_SYNC,
        {ExchangeMode.ECHO_SYNC: "Wait for each echo",
        ExchangeMode.ECHO_ASYNC: "Send on, match the echoes", ExchangeMode.SEND_ONLY: "Send only"},
        help="Send the next message when the echo has arrived, or without waiting for it, or "
        "expect no echo.",
        option="--exchange", group="exchange")
    rate_per_s: float | None = number("Message rate", positive=True, high=MAX_MESSAGES_PER_S,
        unit="messages/s",
        help="Messages per second on each connection. Without a value: as fast as the mode "
        "allows. With a rate, the round trip counts from when a message is due.",
        option="--message-rate R", option_default="as fast as the mode allows",
        group="exchange")
    verify: Verify = choice("Compare echoes by", Verify.EXACT,
        {Verify.EXACT: "Every byte", Verify.LENGTH: "Length"},
        help="What of an echo must match the message.",
        option="--verify", group="exchange")
    headers: tuple[tuple[str, str], ...] = listed("Headers", "list of [name, value], []",
        help="One per line, in addition to those of the handshake.",
        detail="As in a step; `Sec-WebSocket-…` is refused too.", group="exchange")
    subprotocols: tuple[str, ...] = listed("Subprotocols",
        f"up to {MAX_SUBPROTOCOLS} different names, []",
        help="Offered in this order, such as graphql-ws; on the form separated by spaces.",
        option="--subprotocol NAME", option_help="offer this subprotocol; may be repeated",
        group="exchange")
    texts: tuple[str, ...] = listed("Own messages", f"up to {MAX_TEXTS:,} texts, []",
        help="One per line, sent in order and then again from the first. With 0 messages each is "
        "sent once. ${name} becomes a value of the table.",
        detail="In place of the injector's own payload; `size_bytes` and `verify` are not used.",
        option="--text TEXT", option_help="a message of your own; may be repeated", later=True,
        group="exchange")
    reply: str = text("Reply", high=MAX_PATTERN_LENGTH,
        help="Which of the server's messages is the reply. Others are counted and ignored. One of "
        f"{RULES}. Empty: the first.",
        detail="Without `texts` and without a rule the first must be an echo, see `verify`.",
        option="--reply RULE", option_default="the first", later=True, group="exchange")
    scenario: tuple[str, ...] = listed("Scenario", f"up to {MAX_LINES} lines, []",
        help="Done once on each connection, before its messages. One per line: send: TEXT, "
        "expect: RULE (as of a reply), wait: SECONDS.",
        option="--scenario LINE", option_help="a line of the scenario; may be repeated",
        later=True, group="exchange")
    deflate: Deflate = choice("Compression", Deflate.NONE,
        {Deflate.NONE: "None", Deflate.TAKEOVER: "permessage-deflate",
        Deflate.NO_TAKEOVER: "permessage-deflate, each message alone"},
        help="Offer permessage-deflate (RFC 7692). A server that does not take it gets messages "
        "as they are.",
        option="--deflate", later=True, group="exchange")
    close_code: int = whole("Close code", 1000, low=1000, high=4999,
        help="Code of the close frame that the injector sends: 1000, 1001, or 3000 to 4999.",
        option="--close-code C", group="exchange")
    close_timeout_s: float = number("Close within", 5.0, positive=True, high=MAX_CLOSE_S, unit="s",
        help="From the close frame to the end of the connection.",
        option="--close-timeout S", group="exchange")
    # fmt: on

    @property
    def opening(self) -> Step:
        """The opening handshake's request, as far as the plan defines it."""
        return Step("", "GET", self.path, self.headers)

    @property
    def spoken(self) -> Step:
        """The same with all texts as its body, for the variables in them."""
        texts = (*self.texts, *(each.text for each in self.actions))
        return replace(self.opening, body="\n".join(texts))

    @property
    def n_messages(self) -> int:
        """On each connection, without those of the scenario."""
        return self.messages or len(self.texts)

    @property
    def talks(self) -> bool:
        return bool(self.n_messages or self.scenario)

    @property
    def rule(self) -> MessageRule:
        return rule_of(self.reply)

    @property
    def actions(self) -> tuple[ScenarioLine, ...]:
        return tuple(map(line_of, self.scenario))

    @property
    def waits_s(self) -> float:
        """Of the scenario."""
        return sum(each.wait_s for each in self.actions)

    @property
    def goes_step_by_step(self) -> bool:
        """Whether all that comes is waited for, and comes in one piece."""
        if self.texts or self.reply or self.scenario or self.deflate != Deflate.NONE:
            return False
        waits = self.mode == ExchangeMode.ECHO_SYNC or not self.messages
        return waits and self.size_bytes <= _ONE_PIECE_BYTES

    def to_json(self) -> dict[str, Any]:
        return json_of(self)


def longest_attempt_s(exchange: Mapping[str, Any] | None, timeout_s: float) -> float:
    """Maximum seconds of one attempt of a stored plan, with `timeout_s` per wait."""
    if not exchange:
        return timeout_s
    messages = exchange["messages"] or len(exchange.get("texts", ()))
    rate = exchange["rate_per_s"]
    actions = [line_of(line) for line in exchange.get("scenario", ())]
    n_expected = sum(each.kind == LineKind.EXPECT for each in actions)
    scenario_s = n_expected * timeout_s + sum(each.wait_s for each in actions)
    talking_s = messages / rate if rate else 0.0
    if exchange["mode"] == ExchangeMode.ECHO_SYNC:
        talking_s = max(talking_s, messages * timeout_s)
    return 2 * timeout_s + scenario_s + talking_s + exchange["close_timeout_s"]


def read_optional_exchange(reader: JsonReader) -> Exchange | None:
    """The exchange of a plan that has one; it then has no HTTP steps."""
    if reader.data.get("exchange") is None:
        return None
    if reader.data.get("steps"):
        reader.fail("steps", "A WebSocket plan has no HTTP steps; leave them out.")
    reader = reader.child("exchange")
    headers = read_headers(reader)
    for name, value in headers:
        if header_fault(name, value) is None and name.lower().startswith("sec-websocket-"):
            reader.fail("headers", f"{name} is set by the injector; leave it out.")
    exchange = Exchange(
        **read_scalars(reader, Exchange),
        headers=headers,
        subprotocols=_read_subprotocols(reader),
        texts=_read_lines(reader, "texts", MAX_TEXTS),
        scenario=read_scenario(reader),
    )
    if fault := rule_fault(exchange.reply):
        reader.fail("reply", fault)
    if fault := path_fault(exchange.path):
        reader.fail("path", fault)
    if exchange.close_code not in _CLOSE_CODES:
        reader.fail("close_code", "A client can close with 1000, 1001 or 3000 to 4999.")
    return exchange


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
