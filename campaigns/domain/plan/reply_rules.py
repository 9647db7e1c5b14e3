"""What a step expects of its reply, and what it takes from it: checks and extractions.

People type each in a line: "json: $.status = ok", "token? = header X-Token". The line is also how
pages and examples of failures name it.
"""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from campaigns.domain.plan.body import MAX_PATTERN_LENGTH, PatternFault, bounded, json_path
from campaigns.domain.typed_text import JsonReader, is_number

MAX_EXTRACTS = MAX_CHECKS = 20
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
STATUS_RULE = re.compile(r"[1-5](?:xx|\d\d)")
_EXTRACT_LINE = re.compile(
    r"\s*([^=\s?]*)(\??)\s*=\s*(?:(body|json)\s*:\s?(.*)|(header|cookie)\s+([^:\s]+)\s*(?::\s?(.*))?)"
)
_CHECK_LINE = re.compile(r"\s*(no\s+)?(status|text|pattern|json)\s*:\s?(.*)")


class Source(StrEnum):
    BODY = "body"
    HEADER = "header"
    COOKIE = "cookie"
    JSON = "json"


NAMED = frozenset({Source.HEADER, Source.COOKIE})


@dataclass(frozen=True, slots=True)
class Extract:
    """A value from a reply. `pattern` has one group (see `bounded`), or is a JSON path; without
    one, all of a header or cookie, whose name is `header`, is the value.

    `may_miss`: a reply without it is no failure, even where a step uses the variable.
    """

    name: str
    source: Source
    pattern: str
    header: str = ""
    may_miss: bool = False

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """One that was checked when it was stored."""
        source, may_miss = Source(data["from"]), data.get("may_miss", False)
        return cls(data["name"], source, data["pattern"], data.get("header", ""), may_miss)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "from": str(self.source),
            "header": self.header,
            "pattern": self.pattern,
            **({"may_miss": True} if self.may_miss else {}),
        }

    @property
    def line(self) -> str:
        where = f"{self.source} {self.header}" if self.source in NAMED else str(self.source)
        pattern = f": {self.pattern}" if self.pattern else ""
        return f"{self.name}{'?' if self.may_miss else ''} = {where}{pattern}"


class CheckKind(StrEnum):
    STATUS = "status"
    TEXT = "text"
    PATTERN = "pattern"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class ReplyCheck:
    """What must be in a reply; `is_absent`: what must not.

    `value`: statuses and classes, a text, a pattern or a JSON path. `equals`: the value that must
    be at the path, as JSON; "": any.
    """

    kind: CheckKind
    value: str
    is_absent: bool = False
    equals: str = ""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """One that was checked when it was stored."""
        equals = _as_json(data["equals"]) if "equals" in data else ""
        return cls(CheckKind(data["kind"]), data["value"], data.get("absent", False), equals)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": str(self.kind),
            "value": self.value,
            **({"absent": True} if self.is_absent else {}),
            **({"equals": json.loads(self.equals)} if self.equals else {}),
        }

    @property
    def line(self) -> str:
        no = "no " if self.is_absent else ""
        return f"{no}{self.kind}: {self.value}{f' = {self.equals}' if self.equals else ''}"


def parse_extract(line: str) -> dict[str, Any]:
    """An extraction as people write it, as JSON; one that cannot be read has a name that
    `read_extracts` refuses."""
    match = _EXTRACT_LINE.fullmatch(line)
    if match is None:
        return {"name": line[:64], "from": str(Source.BODY), "pattern": ""}
    name, mark, of_body, pattern, of_name, header, part = match.groups()
    return {
        "name": name,
        "from": of_body or of_name,
        "header": header or "",
        "pattern": pattern or part or "",
        **({"may_miss": True} if mark else {}),
    }


def parse_check(line: str) -> dict[str, Any]:
    """A check as people write it, as JSON; one that cannot be read has a kind that `read_checks`
    refuses."""
    match = _CHECK_LINE.fullmatch(line)
    if match is None:
        return {"kind": line[:64], "value": ""}
    no, kind, value = match.groups()
    check: dict[str, Any] = {"kind": kind, "value": value, **({"absent": True} if no else {})}
    path, equal, words = value.rpartition(" = ")
    if kind == CheckKind.JSON and equal:
        # 5, true and "5" as JSON has them; any other text needs no quotes.
        equals: Any = words.strip()
        with suppress(ValueError):
            equals = json.loads(equals)
        check |= {"value": path.strip(), "equals": equals}
    return check


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def read_extracts(reader: JsonReader) -> tuple[Extract, ...]:
    """The field `extract` of a step."""
    return tuple(_read_extract(each) for each in _readers(reader, "extract", MAX_EXTRACTS))


def read_checks(reader: JsonReader) -> tuple[ReplyCheck, ...]:
    """The field `checks` of a step."""
    return tuple(_read_check(each) for each in _readers(reader, "checks", MAX_CHECKS))


def _readers(reader: JsonReader, name: str, most: int) -> list[JsonReader]:
    raw = reader.data.get(name, [])
    if not isinstance(raw, list) or len(raw) > most:
        reader.fail(name, f"Write a list of at most {most}.")
        return []
    return [
        JsonReader(item, f"{reader.path}.{name}.{index}", reader.errors)
        for index, item in enumerate(raw)
    ]


def _read_extract(reader: JsonReader) -> Extract:
    extract = Extract(
        name=reader.text("name", "", limit=64),
        source=reader.choice("from", Source, Source.BODY),
        pattern=reader.text("pattern", "", limit=MAX_PATTERN_LENGTH),
        header=reader.text("header", "", limit=100),
        may_miss=reader.boolean("may_miss", False),
    )
    reader.refuse_unknown("name", "from", "header", "pattern", "may_miss")
    if not VARIABLE_NAME.fullmatch(extract.name):
        reader.fail("name", f"{extract.name!r} is not a name; use letters, digits and _.")
    if bool(TOKEN.fullmatch(extract.header)) != (extract.source in NAMED):
        reader.fail(
            "header", "Enter the header or cookie to read; leave it empty when reading the body."
        )
    if extract.pattern or extract.source not in NAMED:
        _compile(reader, "pattern", extract.pattern, is_path=extract.source == Source.JSON)
    return extract


def _read_check(reader: JsonReader) -> ReplyCheck:
    is_known = reader.data.get("kind") in list(CheckKind)
    kind = CheckKind(reader.data["kind"]) if is_known else CheckKind.TEXT
    if not is_known:
        kind_text = str(reader.data.get("kind", ""))[:64]
        reader.fail(
            "kind", f"{kind_text!r} is no check; write such as text: Welcome, or {_EXAMPLES}."
        )
    value = reader.text("value", "", limit=MAX_PATTERN_LENGTH)
    reader.refuse_unknown("kind", "value", "absent", "equals")
    check = ReplyCheck(kind, value, reader.boolean("absent", False), _read_equals(reader, kind))
    if not is_known:
        return check
    if not value:
        reader.fail("value", "Write what the reply must have, or must not.")
    elif kind == CheckKind.STATUS and not all(map(STATUS_RULE.fullmatch, value.split())):
        reader.fail("value", "Write statuses or classes, such as 2xx 304.")
    elif kind in {CheckKind.PATTERN, CheckKind.JSON}:
        _compile(reader, "value", value, is_path=kind == CheckKind.JSON, has_group=False)
    return check


_EXAMPLES = "no text: error, pattern: id=[0-9]+, json: $.status = ok, status: 200 204"


def _read_equals(reader: JsonReader, kind: CheckKind) -> str:
    """As JSON; "" without."""
    if "equals" not in reader.data:
        return ""
    value = reader.data["equals"]
    if kind != CheckKind.JSON:
        reader.fail("equals", "Only the value at a JSON path can be compared.")
        return ""
    is_plain = value is None or isinstance(value, str | bool) or is_number(value)
    if not is_plain or len(text := _as_json(value)) > MAX_PATTERN_LENGTH:
        reader.fail("equals", "Write a text, a number, true, false or null.")
        return ""
    return text


def _compile(
    reader: JsonReader, name: str, pattern: str, *, is_path: bool, has_group: bool = True
) -> None:
    try:
        json_path(pattern) if is_path else bounded(pattern, has_group=has_group)
    except PatternFault as fault:
        reader.fail(name, str(fault))
