"""What is said on an open WebSocket, in the lines that people write: actions of a scenario, and
which of the server's messages is the reply.

    send: {"type": "connection_init"}
    expect: json: $.type = connection_ack
    wait: 500ms
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.reply_rules import CheckKind, ReplyCheck, parse_check, read_checks
from campaigns.domain.typed_text import seconds_in

MAX_TEXTS = 1000
MAX_LINES = 100
MAX_WAIT_S = 600
MAX_TEXT_BYTES = 1024 * 1024
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


def read_texts(reader: JsonReader) -> tuple[str, ...]:
    """The field `texts` of an exchange."""
    return _read_lines(reader, "texts", MAX_TEXTS)


def read_scenario(reader: JsonReader) -> tuple[str, ...]:
    """The field `scenario` of an exchange: its lines, each of which `line_of` reads."""
    lines = _read_lines(reader, "scenario", MAX_LINES)
    for number, line in enumerate(lines, 1):
        if fault := _action_fault(line):
            reader.fail("scenario", f"Line {number}: {fault}")
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
    if any(len(each.encode()) > MAX_TEXT_BYTES or "\n" in each for each in raw):
        reader.fail(name, "Each is one line of at most 1 MiB.")
    return tuple(raw)
