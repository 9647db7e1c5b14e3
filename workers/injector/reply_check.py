"""Checks a whole reply, and takes values out of it, as a step of the plan says.

It runs once the reply's last instant is noted, so it is in no time of its request. What has to wait
for it meanwhile is late by the injector's own part, as with anything else that the process does.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from campaigns.domain.plan.body import bounded, json_path
from campaigns.domain.plan.plan import status_fits
from campaigns.domain.plan.reply_rules import CheckKind, Extract, ReplyCheck, Source
from campaigns.domain.plan.step import Step
from campaigns.domain.typed_text import whole
from workers.injector.http1 import Head, header_values
from workers.injector.reply import Undecodable, decode_body

# How much of a body, decoded, is looked at: by patterns, by JSON paths with wildcards or filters,
# which then take at most about 0.2 s of the worst reply, and by others.
PATTERN_BYTES = 64 * 1024
PATH_BYTES = 128 * 1024
BODY_BYTES = 1024 * 1024
_EXCERPT = 200


class Reply:
    """A whole reply, of whose body as much is at hand as `keep_bytes` of the rules asked for."""

    __slots__ = ("_body", "_document", "body_start", "head", "is_whole")

    def __init__(self, head: Head | None, body_start: bytes, *, is_whole: bool):
        self.head = head
        self.body_start = body_start
        self.is_whole = is_whole
        self._body: bytes | None = None
        self._document: Any = None

    @classmethod
    def plain(cls, body: bytes, head: Head | None = None) -> "Reply":
        """One whose whole body is UTF-8, such as a message of a WebSocket, which has no head."""
        reply = cls(head, body, is_whole=True)
        reply._body = body
        return reply

    def body(self) -> bytes:
        """Decoded, in UTF-8. Raises Undecodable."""
        if self._body is None:
            body, head = self.body_start, self.head
            if head.coding:
                body = decode_body(body, head.coding, BODY_BYTES, is_whole=self.is_whole)
            if head.charset:
                body = bytes(body).decode(head.charset, "replace").encode("utf-8", "replace")
            self._body = body
        return self._body

    def missing(self, read_bytes: int) -> None:
        """What was looked for is not in the first `read_bytes`. Raises Undecodable if there is
        more."""
        body = self.body()
        if len(body) > read_bytes or not self.is_whole or len(body) == BODY_BYTES:
            raise Undecodable(f"only the first {read_bytes:,} bytes of a body are read")

    def text(self) -> str:
        """What patterns search. Raises Undecodable."""
        return self.body()[:PATTERN_BYTES].decode("utf-8", "replace")

    def document(self) -> Any:
        """Parsed JSON. Raises Undecodable."""
        if self._document is None:
            body = self.body()
            try:
                self._document = json.loads(body)
            except (ValueError, RecursionError) as error:
                self.missing(BODY_BYTES)
                raise Undecodable(f"the body is no JSON: {error}") from None
        return self._document

    def headers(self, name: str) -> list[str]:
        return header_values(self.head.headers, name.lower())

    def cookies(self, name: str) -> list[str]:
        """The last one first, as that is what stays."""
        pairs = (each.partition(";")[0].partition("=") for each in self.headers("set-cookie"))
        return [value.strip() for key, _, value in pairs if key.strip() == name][::-1]

    def beginning(self) -> str:
        """Of its body, for people."""
        text = self.text()[:_EXCERPT]
        return f"the body begins: {text}" if text else "the body is empty"


Find = Callable[[Reply], Any]


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """Of a check, or of an extraction, with what it took: `line` is the rule as people write it,
    `came` what was in place of what it asks for, "" where that was there."""

    line: str
    came: str
    name: str = ""
    value: str | None = None
    may_miss: bool = False

    @property
    def holds(self) -> bool:
        return self.may_miss or not self.came


class ReplyRules:
    """What one step expects of its reply and takes from it. `keep_bytes`: how much of a body it
    needs. `texts`: (text, whether it must be absent) if the checks ask for nothing else."""

    __slots__ = ("_checks", "_extracts", "keep_bytes", "texts")

    def __init__(self, step: Step):
        self._checks = [(each, finder(each)) for each in step.checks]
        self._extracts = [(each, _taker(each)) for each in step.extract]
        are_texts = all(each.kind == CheckKind.TEXT for each in step.checks)
        texts = [(each.value.encode(), each.is_absent) for each in step.checks]
        self.texts = texts if are_texts else None
        self.keep_bytes = max(map(_bytes_needed, (*step.checks, *step.extract)), default=0)

    def fault(self, reply: Reply) -> tuple[str, str] | None:
        """(the first check that does not hold, what came); None if all hold. A body that cannot be
        read holds nothing, not even what must be absent."""
        for check, find in self._checks:
            try:
                if (find(reply) is None) != check.is_absent:
                    return check.line, _came(check, find, reply)
            except Undecodable as error:
                why, _, more = str(error).partition(": ")
                return f"{check.line} ({why})", more
        return None

    def take(self, reply: Reply) -> list[RuleOutcome]:
        outcomes = []
        for extract, take in self._extracts:
            came = ""
            try:
                value = take(reply)
                if value is None:
                    came = _instead(extract, reply)
            except Undecodable as error:
                value, came = None, str(error)
            outcome = RuleOutcome(extract.line, came, extract.name, value, extract.may_miss)
            outcomes.append(outcome)
        return outcomes

    def outcomes(self, reply: Reply) -> list[RuleOutcome]:
        """Of all, also behind the first fault."""
        checks = [
            RuleOutcome(check.line, _came(check, find, reply)) for check, find in self._checks
        ]
        return [*checks, *self.take(reply)]


def _bytes_needed(rule: ReplyCheck | Extract) -> int:
    what = rule.kind if isinstance(rule, ReplyCheck) else rule.source
    if what in {CheckKind.TEXT, CheckKind.JSON, Source.JSON}:
        return BODY_BYTES
    return PATTERN_BYTES if what in {CheckKind.PATTERN, Source.BODY} else 0


# --- checks --------------------------------------------------------------------------------------
def finder(check: ReplyCheck) -> Find:
    """What finds what a check is about; None if it is not in the reply. Raises Undecodable."""
    match check.kind:
        case CheckKind.STATUS:
            rules = tuple(check.value.split())
            return lambda reply: status_fits(reply.head.status, rules) or None
        case CheckKind.TEXT:
            text = check.value.encode()
            return lambda reply: check.value if text in reply.body() else reply.missing(BODY_BYTES)
        case CheckKind.PATTERN:
            pattern = bounded(check.value, has_group=False)
            return partial(_match_in_body, pattern, 0)
    values_in = _reader(check.value)
    if not check.equals:
        return lambda reply: values[:1] if (values := values_in(reply)) else None
    return partial(_equal, values_in, json.loads(check.equals))


def _equal(values_in: "ValuesIn", expected: Any, reply: Reply) -> list[Any] | None:
    """True is no 1 in JSON."""
    is_flag = isinstance(expected, bool)
    for value in values_in(reply):
        if value == expected and isinstance(value, bool) == is_flag:
            return [value]
    return None


def _came(check: ReplyCheck, find: Find, reply: Reply) -> str:
    """What is in place of what a check expects; "" if it holds."""
    try:
        place = find(reply)
        if (place is None) == check.is_absent:
            return ""
        if check.kind == CheckKind.STATUS:
            return f"the status is {reply.head.status}"
        if check.kind == CheckKind.JSON:
            values = place or _reader(check.value)(reply)
            text = ", ".join(map(_json_text, values))[:_EXCERPT]
            return f"there is {text}" if values else "nothing is at this path"
        return f"there is {place[:_EXCERPT]}" if place is not None else reply.beginning()
    except Undecodable as error:
        return str(error)


def _json_text(value: Any) -> str:
    return whole(json.dumps(value, ensure_ascii=False))


# --- JSON ----------------------------------------------------------------------------------------
# The values at a path. Raises Undecodable.
ValuesIn = Callable[[Reply], list[Any]]


def _reader(text: str) -> ValuesIn:
    path = json_path(text)

    def values_in(reply: Reply) -> list[Any]:
        if path.keys is None and len(reply.body()) > PATH_BYTES:
            raise Undecodable(f"a body of over {PATH_BYTES:,} bytes is too long for such a path")
        document = reply.document()
        try:
            return path.find(document)
        except Exception as error:  # nested too deeply for the library
            raise Undecodable(f"the path cannot be followed: {error}") from None

    if path.keys is None or not all(map(_is_quick, path.keys)):
        return values_in
    return _quick_reader(path.keys, values_in)


def _is_quick(key: str | int) -> bool:
    """A place is not counted from the end; a name has no character that JSON has to escape."""
    return key >= 0 if isinstance(key, int) else key.isprintable() and not set(key) & {"\\", '"'}


def _quick_reader(keys: tuple[str | int, ...], values_in: ValuesIn) -> ValuesIn:
    """Reads nothing of a document but what is on the way, in a fifth of the time. Documents of
    another shape are left to `values_in`, which knows what is wrong."""
    import msgspec

    unset = msgspec.UNSET
    kind: Any = Any
    for key in reversed(keys):
        if isinstance(key, int):
            kind = list[kind]
        else:
            at = [("value", kind, unset)]
            kind = msgspec.defstruct("At", at, rename={"value": key}, gc=False)
    decode = msgspec.json.Decoder(kind).decode

    def quick_values_in(reply: Reply) -> list[Any]:
        try:
            value = decode(reply.body())
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            return values_in(reply)
        for key in keys:
            if isinstance(key, int):
                if key >= len(value):
                    return []
                value = value[key]
            else:
                value = value.value
                if value is unset:
                    return []
        return [value]

    return quick_values_in


# --- extractions ---------------------------------------------------------------------------------
def _taker(extract: Extract) -> Callable[[Reply], str | None]:
    """What takes the value from a reply; None without one. Raises Undecodable."""
    if extract.source == Source.JSON:
        values_in = _reader(extract.pattern)
        return lambda reply: next(map(_value_text, values_in(reply)), None)
    pattern = bounded(extract.pattern) if extract.pattern else None
    match extract.source:
        case Source.HEADER:
            return lambda reply: _first(pattern, reply.headers(extract.header))
        case Source.COOKIE:
            return lambda reply: _first(pattern, reply.cookies(extract.header))
    return partial(_match_in_body, pattern, 1)


def _value_text(value: Any) -> str | None:
    """As it is written into a request; null is no value."""
    if isinstance(value, str):
        return whole(value)
    return None if value is None else _json_text(value)


def _first(pattern: Any, texts: list[str]) -> str | None:
    if pattern is None:
        return texts[0] if texts else None
    matches = (_match(pattern, text, 1) for text in texts)
    return next((match for match in matches if match is not None), None)


def _match_in_body(pattern: Any, group: int, reply: Reply) -> str | None:
    match = _match(pattern, reply.text(), group)
    return reply.missing(PATTERN_BYTES) if match is None else match


def _match(pattern: Any, text: str, group: int) -> str | None:
    """In bytes: of a text, RE2's binding works out where each character begins."""
    match = pattern.search(text.encode())
    return None if match is None else (match[group] or b"").decode("utf-8", "replace")


def _instead(extract: Extract, reply: Reply) -> str:
    match extract.source:
        case Source.HEADER:
            values = reply.headers(extract.header)
        case Source.COOKIE:
            values = reply.cookies(extract.header)
        case _:
            return reply.beginning()
    words = ", ".join(values)[:_EXCERPT]
    return f"the {extract.source} is {words}" if words else f"there is no such {extract.source}"
