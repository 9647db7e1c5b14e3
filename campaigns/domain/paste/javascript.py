"""fetch(…) as a browser's console has it: "Copy as fetch", also for Node.js."""

import json
import math
import re
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlencode, urljoin

from campaigns.domain.paste.draft import Omissions, RequestDraft
from campaigns.domain.plan.body import FORM_TYPE
from campaigns.domain.plan.typed_request import NotUnderstood, TypedRequest, shortened

BEGINS = re.compile(
    r"(?:/\*(?:[^*]|\*(?!/))*\*/\s*|//[^\n]*\n\s*)*"
    r"(?:(?:const|let|var)\s+[\w$]+\s*=\s*|return\s+|await\s+|\()*"
    r"(?:(?:window|globalThis|self)\.)?fetch\s*\(",
    re.S,
)
_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)+", re.S)
_STRING = re.compile(
    r"'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"|`((?:[^`\\$]|\\.|\$(?!\{))*)`", re.S
)
_NAME = re.compile(r"[A-Za-z_$][\w$.]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_ESCAPE = re.compile(r"\\(u\{[0-9A-Fa-f]+\}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|\r?\n|.)", re.S)
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_UNDEFINED = object()
_WORDS = {"true": True, "false": False, "null": None, "undefined": _UNDEFINED}
_CALLS = {"JSON.stringify", "URLSearchParams", "Headers", "URL", "String", "encodeURIComponent"}
_FIRST_WITH_EXPONENT = 1e21
_MOST_DEEP = 50
# They say how a browser would behave, not what it sends.
_OF_BROWSER = {
    "mode", "credentials", "cache", "redirect", "referrerPolicy", "integrity", "keepalive",
    "signal", "priority", "window", "duplex",
}  # fmt: skip


def read_fetch(text: str, omissions: Omissions) -> list[TypedRequest]:
    """Raises NotUnderstood."""
    requests = []
    begins = BEGINS.match(text)
    while begins:
        reader = _LiteralReader(text, begins.end())
        url = reader.value()
        options = reader.value() if reader.takes(",") and not reader.is_at(")") else {}
        reader.takes(",")
        if not reader.takes(")"):
            raise reader.fault()
        if not isinstance(url, str) or not isinstance(options, dict):
            raise NotUnderstood("Write it as in fetch('https://shop/', {method: 'POST'}).")
        requests.append(_draft(url, options).request(omissions))
        rest = text[reader.at :].strip().lstrip(";").strip()
        begins = BEGINS.match(rest)
        text = rest
        if rest and not begins:
            omissions.other(f"what follows the call ({shortened(rest)})")
    return requests


def _draft(url: str, options: dict[str, Any]) -> RequestDraft:
    unknown = set(options) - _OF_BROWSER - {"headers", "body", "method", "referrer"}
    if unknown:
        raise NotUnderstood(f"fetch has no option {min(unknown)!r} that can be followed.")
    headers = options.get("headers") or {}
    pairs = headers.items() if isinstance(headers, dict) else headers
    try:
        draft = RequestDraft(url, headers=[(str(name), str(value)) for name, value in pairs])
    except (TypeError, ValueError):
        raise NotUnderstood("Write the headers of fetch as names with values.") from None
    draft.method = str(options.get("method") or "GET")
    referrer, body = options.get("referrer"), options.get("body")
    if referrer and referrer != "about:client" and not draft.value_of("referer"):
        draft.headers.append(("Referer", str(referrer)))
    kind = "text/plain"
    if isinstance(body, _Fields):
        kind, body = FORM_TYPE, str(body)
    if body is not None and not isinstance(body, str):
        raise NotUnderstood("The body of fetch is no text. Write it as a text or JSON.stringify.")
    draft.body = body or ""
    if body is not None and not draft.value_of("content-type"):
        draft.headers.append(("Content-Type", f"{kind};charset=UTF-8"))
    return draft


class _Fields(str):
    """URLSearchParams, whose type goes with them as a body."""


class _LiteralReader:
    """Literals of JavaScript, and the few calls that bodies are made with."""

    def __init__(self, text: str, at: int):
        self.text, self.at, self._deep = text, at, 0

    def fault(self) -> NotUnderstood:
        where = shortened(self.text[self.at :].strip()) or "its end"
        return NotUnderstood(f"This call of fetch cannot be read at {where}. Paste a literal one.")

    def _skip(self) -> None:
        if blank := _BLANK.match(self.text, self.at):
            self.at = blank.end()

    def is_at(self, sign: str) -> bool:
        self._skip()
        return self.text.startswith(sign, self.at)

    def takes(self, sign: str) -> bool:
        if self.is_at(sign):
            self.at += len(sign)
            return True
        return False

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self._skip()
        if match := pattern.match(self.text, self.at):
            self.at = match.end()
        return match

    def value(self) -> Any:
        self._deep += 1
        if self._deep > _MOST_DEEP:
            raise self.fault()
        value = self._value()
        if self.takes(".toString()"):
            value = str(value)
        while self.takes("+"):
            value = f"{value}{self._value()}"
        self._deep -= 1
        return value

    def _value(self) -> Any:
        if self.takes("{"):
            return self._object()
        if self.takes("["):
            return self._list("]")
        if (match := self._match(_STRING)) is not None:
            return _unescape(next(each for each in match.groups() if each is not None))
        if match := self._match(_NUMBER):
            number = json.loads(match[0])
            if math.isinf(number):
                return None  # as JSON.stringify writes it
            is_whole = abs(number) < _FIRST_WITH_EXPONENT and number == int(number)
            return int(number) if is_whole else number
        if (match := self._match(_NAME)) is None:
            raise self.fault()
        name = match[0]
        if name == "new":
            return self._value()
        if name in _WORDS:
            return _WORDS[name]
        if name in _CALLS:
            return self._call(name)
        self.at -= len(name)
        raise self.fault()

    def _call(self, name: str) -> Any:
        if not self.takes("("):
            raise self.fault()
        values = self._list(")")
        value = values[0] if values else None
        if name == "JSON.stringify":
            indent = values[2] if len(values) > 2 else None
            signs = (",", ": ") if indent else (",", ":")
            return json.dumps(
                value,
                ensure_ascii=False,
                indent=indent,
                separators=signs,
                default=lambda _: None,  # of undefined in a list
            )
        if name == "URLSearchParams":
            if not isinstance(value, str):
                pairs = value.items() if isinstance(value, dict) else value or ()
                try:
                    value = urlencode([(name, each) for name, each in pairs])
                except (TypeError, ValueError):
                    raise NotUnderstood("Write URLSearchParams as names with values.") from None
            return _Fields(value)
        if name == "String":
            return str(value)
        if name == "encodeURIComponent":
            return quote(str(value), safe="!'()*")
        if name == "URL" and len(values) > 1:
            with suppress(ValueError):
                return urljoin(str(values[1]), str(value))
        return value

    def _list(self, end: str) -> list[Any]:
        values = []
        while not self.takes(end):
            values.append(self.value())
            if not self.takes(",") and not self.is_at(end):
                raise self.fault()
        return values

    def _object(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while not self.takes("}"):
            if (match := self._match(_STRING)) is not None:
                name = _unescape(next(each for each in match.groups() if each is not None))
            elif match := self._match(_NAME) or self._match(_NUMBER):
                name = match[0]
            else:
                raise self.fault()
            if not self.takes(":"):
                raise self.fault()
            value = self.value()
            if value is not _UNDEFINED:  # as JSON.stringify
                values[name] = value
            if not self.takes(",") and not self.is_at("}"):
                raise self.fault()
        return values


def _unescape(text: str) -> str:
    # Two halves of a character are written one by one: \ud83d\ude00.
    halves = _ESCAPE.sub(_escape_value, text)
    return halves.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escape_value(match: re.Match[str]) -> str:
    what = match[1]
    if what[0] in "ux" and len(what) > 1:
        return chr(min(int(what[1:].strip("{}"), 16), 0x10FFFF))
    return "" if what.endswith("\n") else _ESCAPES.get(what, what)
