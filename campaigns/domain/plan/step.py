"""A step of a plan: one request, and its valid content."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

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
from campaigns.domain.plan.reply_rules import TOKEN, Extract, ReplyCheck, read_checks, read_extracts
from campaigns.domain.typed_text import clean_name

# The usual ones; any other token of RFC 9110 is sent as well.
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
MAX_METHOD = 40
# Idempotent methods, as HTTP defines them.
REPEATABLE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
MAX_STEPS = 50
MAX_PATH_LENGTH = 8000
MAX_HEADERS = 1000
MAX_BODY_BYTES = 1024 * 1024
_HOST_VALUE = re.compile(r"[!-~]+")
# The injector writes these itself; a second copy would make the request ambiguous.
RESERVED_HEADERS = frozenset(
    {"content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"}
)


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
    checks: tuple[ReplyCheck, ...] = ()
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
        if self.form:
            return form_bytes(self.form), FORM_TYPE
        if self.multipart:
            return multipart_bytes(self.multipart)
        file = self.body_file
        return (self.body.encode() if file is None else file_bytes(file)), ""

    def to_json(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "method": self.method,
            "path": self.path,
            "headers": [list(pair) for pair in self.headers],
            "body": self.body,
            "extract": [each.to_json() for each in self.extract],
            **({"checks": [each.to_json() for each in self.checks]} if self.checks else {}),
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
    if not TOKEN.fullmatch(text) or len(text) > MAX_METHOD:
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
    counts: Counter[str] = Counter()
    apart = []
    for label in labels:
        counts[label] += 1
        apart.append(f"{label} ({counts[label]})" if counts[label] > 1 else label)
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
    reader.refuse_unknown("label", "method", "path", "headers", *BODIES, "extract", "checks")
    if sum(bool(reader.data.get(name)) for name in BODIES) > 1:
        reader.fail("body", f"Write one of {', '.join(BODIES)}.")
    more = {"form": read_form(reader), "multipart": read_multipart(reader)}
    more["body_file"] = read_file(reader, "body_file")
    headers, extracts = read_headers(reader), read_extracts(reader)
    return Step(label, method, path, headers, body, extracts, read_checks(reader), **more)


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
    if not TOKEN.fullmatch(name):
        return f"{name!r} is not a header name; write it as in Content-Type."
    if name.lower() in RESERVED_HEADERS:
        return f"{name} is set by the injector; leave it out."
    if any((ord(ch) < 32 and ch != "\t") or ord(ch) == 127 or ord(ch) > 255 for ch in value):
        return f"The value of {name} contains a character that is not allowed in headers."
    if name.lower() == "host" and not _HOST_VALUE.fullmatch(value.strip()):
        return f"{value!r} is no value of Host; write it as in shop.example or shop.example:8443."
    return None
