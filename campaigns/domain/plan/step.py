"""A step of a plan: one request, and its valid content."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import re2

from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.body import (
    FORM_TYPE,
    MAX_FILES_BYTES,
    Blob,
    FormField,
    file_bytes,
    form_bytes,
    multipart_bytes,
    read_file,
    read_form,
    read_multipart,
)
from campaigns.domain.typed_text import clean_name

MAX_PATTERN_LENGTH = 500
# In instructions of RE2. A search of 64 KiB then takes at most about 0.2 s, where pattern and reply
# were made for each other, and below a millisecond as a rule.
MAX_PROGRAM = 4_000
_MAX_MEMORY_BYTES = 1 << 20
# A larger upper bound is none: it costs a program, and nobody counts that far.
_MAX_BOUND = 400
_RANGE = re.compile(r"\{(\d+),(\d+)\}")


class PatternFault(ValueError):
    """What is wrong with a pattern, as a sentence."""


def bounded(pattern: str):
    """The pattern, compiled by RE2. Raises PatternFault."""
    if not pattern:
        raise PatternFault("There is no pattern; write such as token = body: id=([0-9]+)")
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise PatternFault(f"Write a pattern of at most {MAX_PATTERN_LENGTH} characters.")
    options = re2.Options()
    options.max_mem, options.log_errors = _MAX_MEMORY_BYTES, False
    try:
        opened = _RANGE.sub(
            lambda found: f"{{{found[1]},}}" if int(found[2]) > _MAX_BOUND else found[0], pattern
        )
        compiled = re2.compile(opened, options)
    except re2.error as error:
        raise PatternFault(f"The pattern cannot be read: {_words_of(error)}.") from None
    if compiled.groups != 1:
        raise PatternFault("Put what is to be taken into one pair of parentheses: id=(\\d+).")
    if compiled.programsize > MAX_PROGRAM:
        raise PatternFault(
            "The pattern could take too long: its counted repeats are too large together. Write * "
            "or + instead of a large count, or smaller counts."
        )
    return compiled


def _words_of(error: Exception) -> str:
    text = error.args[0] if error.args else ""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)


# The usual ones; any other token of RFC 9110 is sent as well.
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
MAX_METHOD = 40
# Idempotent methods, as HTTP defines them.
REPEATABLE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
MAX_STEPS = 50
MAX_PATH_LENGTH = 8000
MAX_EXTRACTS, MAX_HEADERS = 20, 1000
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
MAX_BODY_BYTES = 1024 * 1024
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HOST_VALUE = re.compile(r"[!-~]+")
# The injector writes these itself; a second copy would make the request ambiguous.
RESERVED_HEADERS = frozenset(
    {"content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"}
)


class Source(StrEnum):
    BODY = "body"
    HEADER = "header"


@dataclass(frozen=True, slots=True)
class Extract:
    """A value extracted from a reply by the one group of `pattern` (see `bounded`)."""

    name: str
    source: Source
    pattern: str
    header: str = ""

    def to_json(self) -> dict[str, str]:
        return {
            "name": self.name,
            "from": str(self.source),
            "header": self.header,
            "pattern": self.pattern,
        }


# What a step may have as its body, one of them.
BODIES = ("body", "body_file", "form", "multipart")


@dataclass(frozen=True, slots=True)
class Step:
    """Its body is a text, a file of any bytes, form fields, or fields with files (`multipart`)."""

    label: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    extract: tuple[Extract, ...] = ()
    body_file: Blob | None = None
    form: tuple[tuple[str, str], ...] = ()
    multipart: tuple[FormField, ...] = ()

    @property
    def has_body(self) -> bool:
        return bool(self.body or self.has_more_body)

    @property
    def has_more_body(self) -> bool:
        """Whether its body is more than a text."""
        return bool(self.body_file or self.form or self.multipart)

    @property
    def files(self) -> tuple[Blob, ...]:
        own = (self.body_file, *(part.file for part in self.multipart))
        return tuple(blob for blob in own if blob is not None)

    @property
    def content(self) -> tuple[bytes, str]:
        """(the body, the Content-Type that it implies or ""). Raises ValueError where a file's
        bytes are not at hand."""
        if self.body_file is not None:
            return file_bytes(self.body_file), ""
        if self.form:
            return form_bytes(self.form), FORM_TYPE
        return multipart_bytes(self.multipart) if self.multipart else (self.body.encode(), "")

    def to_json(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "method": self.method,
            "path": self.path,
            "headers": [list(pair) for pair in self.headers],
            "body": self.body,
            "extract": [each.to_json() for each in self.extract],
            **self.more_body_json(),
        }

    def more_body_json(self) -> dict[str, Any]:
        """A body that is no text; {} without one, as injectors before it know no such field."""
        if self.body_file is not None:
            return {"body_file": self.body_file.to_json()}
        if self.form:
            return {"form": [list(pair) for pair in self.form]}
        return {"multipart": [part.to_json() for part in self.multipart]} if self.multipart else {}


def read_method(text: str) -> str:
    """As it is sent: the usual methods in capitals, others as they are typed. Raises ValueError."""
    if text.upper() in METHODS:
        return text.upper()
    if not _TOKEN.fullmatch(text) or len(text) > MAX_METHOD:
        raise ValueError(f"Write a method such as GET or PURGE, at most {MAX_METHOD} characters.")
    if text.upper() == "CONNECT":
        raise ValueError("CONNECT asks a proxy for a tunnel; it cannot be measured.")
    return text


def own_host(headers: Iterable[tuple[str, str]]) -> str:
    """What a request names in place of its endpoint's host; "" without a Host header."""
    return next((value for name, value in headers if name.lower() == "host"), "")


def default_label(method: str, path: str) -> str:
    """The name of a step that has none. Every reader of a result sees it, so it has no query."""
    return f"{method} {path.partition('?')[0]}"[:100]


def told_apart(labels: Iterable[str]) -> tuple[str, ...]:
    """Equal labels with a number: GET /search, GET /search (2)."""
    seen: Counter[str] = Counter()
    apart = []
    for label in labels:
        seen[label] += 1
        apart.append(f"{label} ({seen[label]})" if seen[label] > 1 else label)
    return tuple(apart)


def read_steps(reader: JsonReader) -> tuple[Step, ...]:
    raw = reader.data.get("steps")
    if not isinstance(raw, list) or not raw:
        reader.fail("steps", "A plan needs at least one step.")
        return ()
    if len(raw) > MAX_STEPS:
        reader.fail("steps", f"At most {MAX_STEPS} steps.")
        return ()
    steps = tuple(
        read_step(JsonReader(item, f"steps.{index}", reader.errors))
        for index, item in enumerate(raw)
    )
    if sum(blob.size_bytes for step in steps for blob in step.files) > MAX_FILES_BYTES:
        reader.fail("steps", f"All files together have at most {MAX_FILES_BYTES:,} bytes.")
    return steps


def read_step(reader: JsonReader) -> Step:
    method = reader.text("method", "GET")
    try:
        method = read_method(method)
    except ValueError as fault:
        reader.fail("method", str(fault))
    path = reader.text("path", "/", limit=MAX_PATH_LENGTH)
    if fault := path_fault(path):
        reader.fail("path", fault)
    body = reader.text("body", "", limit=MAX_BODY_BYTES)
    label = clean_name(reader.text("label", "", limit=100))
    if not label or label == f"{method} {path}"[:100]:
        label = default_label(method, path)  # without the query, which may have a key in it
    reader.refuse_unknown("label", "method", "path", "headers", *BODIES, "extract")
    if sum(bool(reader.data.get(name)) for name in BODIES) > 1:
        reader.fail("body", f"Write one of {', '.join(BODIES)}.")
    more = {"form": read_form(reader), "multipart": read_multipart(reader)}
    more["body_file"] = read_file(reader, "body_file")
    return Step(label, method, path, read_headers(reader), body, _read_extract(reader), **more)


def _read_extract(reader: JsonReader) -> tuple[Extract, ...]:
    raw = reader.data.get("extract", [])
    if not isinstance(raw, list) or len(raw) > MAX_EXTRACTS:
        reader.fail("extract", f"Write a list of at most {MAX_EXTRACTS} extractions.")
        return ()
    return tuple(
        _read_one(JsonReader(item, f"{reader.path}.extract.{index}", reader.errors))
        for index, item in enumerate(raw)
    )


def _read_one(reader: JsonReader) -> Extract:
    extract = Extract(
        name=reader.text("name", "", limit=64),
        source=reader.choice("from", Source, Source.BODY),
        pattern=reader.text("pattern", "", limit=MAX_PATTERN_LENGTH),
        header=reader.text("header", "", limit=100),
    )
    reader.refuse_unknown("name", "from", "header", "pattern")
    if not VARIABLE_NAME.fullmatch(extract.name):
        reader.fail("name", f"{extract.name!r} is not a name; use letters, digits and _.")
    is_named = bool(_TOKEN.fullmatch(extract.header))
    if is_named != (extract.source == Source.HEADER):
        reader.fail("header", "Enter the header to read; leave it empty when reading the body.")
    try:
        bounded(extract.pattern)
    except PatternFault as fault:
        reader.fail("pattern", str(fault))
    return extract


def path_fault(path: str) -> str | None:
    """What is wrong with a path, or None."""
    if not path.startswith("/"):
        return "A path begins with a slash, such as /login/."
    if not path.isascii() or any(ch <= " " or ch == "\x7f" for ch in path):
        return "Only printable ASCII without spaces; write others as %20, %C3%A9 …"
    return None


def read_headers(reader: JsonReader) -> tuple[tuple[str, str], ...]:
    raw = reader.data.get("headers", [])
    if not isinstance(raw, list | tuple) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(x, str) for x in pair)
        for pair in raw
    ):
        reader.fail("headers", "Write headers as pairs of name and value.")
        return ()
    if len(raw) > MAX_HEADERS:
        reader.fail("headers", f"Write at most {MAX_HEADERS} headers.")
        return ()
    for name, value in raw:
        sentence = header_fault(name, value)
        if sentence:
            reader.fail("headers", sentence)
    if sum(name.lower() == "host" for name, _ in raw) > 1:
        reader.fail("headers", "Write Host once.")
    return tuple((name, value.strip()) for name, value in raw)


def header_fault(name: str, value: str) -> str | None:
    """What is wrong with one header, or None."""
    if not _TOKEN.fullmatch(name):
        return f"{name!r} is not a header name; write it as in Content-Type."
    if name.lower() in RESERVED_HEADERS:
        return f"{name} is set by the injector; leave it out."
    if any((ord(ch) < 32 and ch != "\t") or ord(ch) == 127 or ord(ch) > 255 for ch in value):
        return f"The value of {name} contains a character that is not allowed in headers."
    if name.lower() == "host" and not _HOST_VALUE.fullmatch(value.strip()):
        return f"{value!r} is no value of Host; write it as in shop.example or shop.example:8443."
    return None
