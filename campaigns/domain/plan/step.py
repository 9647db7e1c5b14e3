"""A step of a plan: one request, and its valid content."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.reply_rules import (
    TOKEN,
    Extract,
    ReplyCheck,
    read_checks,
    read_extracts,
)
from campaigns.domain.typed_text import clean_name

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# Idempotent methods, as HTTP defines them.
BODYLESS_METHODS = ("GET", "HEAD")
REPEATABLE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE"})
MAX_STEPS = 50
MAX_PATH_LENGTH = 8000
MAX_HEADERS = 1000
MAX_BODY_BYTES = 1024 * 1024
# The injector writes these itself; a second copy would make the request ambiguous.
RESERVED_HEADERS = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer"}
)


@dataclass(frozen=True, slots=True)
class Step:
    label: str
    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    extract: tuple[Extract, ...] = ()
    checks: tuple[ReplyCheck, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "label": self.label,
            "method": self.method,
            "path": self.path,
            "headers": [list(pair) for pair in self.headers],
            "body": self.body,
            "extract": [each.to_json() for each in self.extract],
            **({"checks": [each.to_json() for each in self.checks]} if self.checks else {}),
        }


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
    return tuple(
        read_step(JsonReader(item, f"steps.{index}", reader.errors))
        for index, item in enumerate(raw)
    )


def read_step(reader: JsonReader) -> Step:
    method = reader.text("method", "GET").upper()
    if method not in METHODS:
        reader.fail("method", f"Choose one of: {', '.join(METHODS)}.")
    path = reader.text("path", "/", limit=MAX_PATH_LENGTH)
    if fault := path_fault(path):
        reader.fail("path", fault)
    body = reader.text("body", "", limit=MAX_BODY_BYTES)
    if body and method in BODYLESS_METHODS:
        reader.fail(
            "body", f"{method} requests have no body. Choose POST, or leave the body empty."
        )
    label = clean_name(reader.text("label", "", limit=100))
    if not label or label == f"{method} {path}"[:100]:
        label = default_label(method, path)  # without the query, which may have a key in it
    reader.refuse_unknown("label", "method", "path", "headers", "body", "extract", "checks")
    headers, extracts = read_headers(reader), read_extracts(reader)
    return Step(label, method, path, headers, body, extracts, read_checks(reader))


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
    return tuple((name, value.strip()) for name, value in raw)


def header_fault(name: str, value: str) -> str | None:
    """What is wrong with one header, or None."""
    if not TOKEN.fullmatch(name):
        return f"{name!r} is not a header name; write it as in Content-Type."
    if name.lower() in RESERVED_HEADERS:
        return f"{name} is set by the injector; leave it out."
    if any((ord(ch) < 32 and ch != "\t") or ord(ch) == 127 or ord(ch) > 255 for ch in value):
        return f"The value of {name} contains a character that is not allowed in headers."
    return None
