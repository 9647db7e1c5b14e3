"""Bodies other than a text: a file of any bytes, form fields, and fields with files.

A large file is a `Blob` known by its digest: plans, runs and probes keep only that, and the bytes
are stored once and join an injector's order (`with_bodies`).

Patterns and JSON paths of a plan, compiled so that no reply makes a search take long."""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import re2

from campaigns.domain.typed_text import JsonReader

MAX_FILE_BYTES = 8 * 1024 * 1024
# Of all files of a plan together; they are in each order.
MAX_FILES_BYTES = 32 * 1024 * 1024
MAX_FIELDS, MAX_FIELDS_CHARACTERS, MAX_NAME = 500, 1024 * 1024, 200
# A smaller file stays in the plan, as base64.
INLINE_BYTES = 4096
FORM_TYPE = "application/x-www-form-urlencoded"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_BOUNDARY = "benchsite-7d3f1c5e9a2b4f60"
# What a quoted name in a part's head may not have (WHATWG's multipart/form-data).
_QUOTED = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})


@dataclass(frozen=True, slots=True)
class Blob:
    """`data` is None where only the digest is known."""

    sha256: str
    size_bytes: int
    data: bytes | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, data: bytes) -> "Blob":
        return cls(sha256(data).hexdigest(), len(data), data)

    @property
    def is_apart(self) -> bool:
        """Whether it is stored apart from the plan."""
        return self.size_bytes > INLINE_BYTES

    def to_json(self) -> str | dict[str, Any]:
        if self.is_apart or self.data is None:
            return {"sha256": self.sha256, "size_bytes": self.size_bytes}
        return self.to_base64()

    def to_base64(self) -> str:
        """All of it. Raises ValueError where the bytes are not at hand."""
        return base64.b64encode(file_bytes(self)).decode()


@dataclass(frozen=True, slots=True)
class FormField:
    """A field of multipart/form-data: a value, or a file with its name; and its type, if any."""

    name: str
    value: str = ""
    file: Blob | None = None
    filename: str = ""
    content_type: str = ""

    def to_json(self) -> dict[str, Any]:
        if self.file is None:
            kind = {"content_type": self.content_type} if self.content_type else {}
            return {"name": self.name, "value": self.value, **kind}
        return {
            "name": self.name,
            "file": self.file.to_json(),
            "filename": self.filename,
            "content_type": self.content_type,
        }

    @property
    def head(self) -> str:
        name = self.name.translate(_QUOTED)
        disposition = f'Content-Disposition: form-data; name="{name}"'
        if self.file is None:
            kind = f"\r\nContent-Type: {self.content_type}" if self.content_type else ""
            return f"{disposition}{kind}"
        filename = self.filename.translate(_QUOTED)
        kind = self.content_type or "application/octet-stream"
        return f'{disposition}; filename="{filename}"\r\nContent-Type: {kind}'


def form_bytes(fields: Iterable[tuple[str, str]]) -> bytes:
    return urlencode(list(fields)).encode()


def multipart_bytes(parts: Iterable[FormField]) -> tuple[bytes, str]:
    """(the body, its Content-Type). Raises ValueError where a file's bytes are not at hand."""
    parts = list(parts)
    contents = [
        part.value.encode() if part.file is None else file_bytes(part.file) for part in parts
    ]
    number, boundary = 0, _BOUNDARY.encode()
    while any(boundary in content for content in contents):
        number += 1
        boundary = f"{_BOUNDARY}-{number}".encode()
    pieces = []
    for part, content in zip(parts, contents, strict=True):
        head = part.head.encode()
        pieces += [b"--", boundary, b"\r\n", head, b"\r\n\r\n", content, b"\r\n"]
    body = b"".join([*pieces, b"--", boundary, b"--\r\n"])
    return body, f"multipart/form-data; boundary={boundary.decode()}"


def file_bytes(blob: Blob) -> bytes:
    """Raises ValueError where the bytes are not at hand."""
    if blob.data is None:
        raise ValueError(
            f"A file of {blob.size_bytes:,} bytes is not here, only its digest. Put its bytes in "
            "again as base64."
        )
    return blob.data


def with_bodies(step: Any, bodies: Mapping[str, str]) -> Any:
    """A step's JSON with files as base64, where `bodies` has them by digest."""
    if not bodies or not isinstance(step, Mapping):
        return step
    copy = dict(step)
    if "body_file" in step:
        copy["body_file"] = _base64_of(step["body_file"], bodies)
    if isinstance(step.get("multipart"), list):
        copy["multipart"] = [
            {**part, "file": _base64_of(part["file"], bodies)} if "file" in part else part
            for part in step["multipart"]
        ]
    return copy


def _base64_of(file: Any, bodies: Mapping[str, str]) -> Any:
    return bodies.get(file.get("sha256"), file) if isinstance(file, Mapping) else file


def digests_in(value: Any) -> Iterator[str]:
    """The digests of the files that a plan's JSON, or a part of it, only refers to."""
    if isinstance(value, Mapping):
        if set(value) == {"sha256", "size_bytes"}:
            yield value["sha256"]
        for each in value.values():
            yield from digests_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from digests_in(each)


def read_file(reader: JsonReader, name: str) -> Blob | None:
    """Base64, or the digest of what is stored; None where there is none."""
    raw = reader.data.get(name)
    if raw is None or raw == "":
        return None
    if isinstance(raw, dict):
        child = reader.child(name)
        child.refuse_unknown("sha256", "size_bytes")
        size = child.number("size_bytes", 0, low=0, high=MAX_FILE_BYTES, whole=True)
        digest = child.text("sha256")
        if not _DIGEST.fullmatch(digest):
            child.fail("sha256", "Write 64 hexadecimal digits.")
        return Blob(digest, size)
    if not isinstance(raw, str):
        reader.fail(name, "Write the bytes as base64.")
        return None
    too_large = f"A file has at most {MAX_FILE_BYTES:,} bytes."
    if len(raw) > MAX_FILE_BYTES * 4 // 3 + 4:
        reader.fail(name, too_large)
        return None
    try:
        blob = Blob.of(base64.b64decode(raw, validate=True))
    except (binascii.Error, ValueError):
        reader.fail(name, "This is not base64.")
        return None
    if blob.size_bytes > MAX_FILE_BYTES:
        reader.fail(name, too_large)
    return blob


def are_pairs(raw: Any) -> bool:
    return isinstance(raw, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(x, str) for x in pair)
        for pair in raw
    )


def read_form(reader: JsonReader) -> tuple[tuple[str, str], ...]:
    raw = reader.data.get("form") or []
    if not are_pairs(raw):
        reader.fail("form", "Write form fields as pairs of name and value.")
        return ()
    _check_size(reader, "form", raw)
    return tuple((name, value) for name, value in raw)


def read_multipart(reader: JsonReader) -> tuple[FormField, ...]:
    raw = reader.data.get("multipart") or []
    if not isinstance(raw, list | tuple):
        reader.fail("multipart", "Write a list of fields.")
        return ()
    path = f"{reader.path}.multipart"
    parts = tuple(
        _read_part(JsonReader(item, f"{path}.{index}", reader.errors))
        for index, item in enumerate(raw[: MAX_FIELDS + 1])
    )
    _check_size(reader, "multipart", [(part.name, part.value) for part in parts])
    return parts


def _check_size(reader: JsonReader, name: str, pairs: Iterable[tuple[str, str]]) -> None:
    pairs = list(pairs)
    n_characters = sum(len(text) for pair in pairs for text in pair)
    if len(pairs) > MAX_FIELDS or n_characters > MAX_FIELDS_CHARACTERS:
        most = f"{MAX_FIELDS} fields of {MAX_FIELDS_CHARACTERS:,} characters together"
        reader.fail(name, f"A form has at most {most}.")


def _read_part(reader: JsonReader) -> FormField:
    part = FormField(
        name=reader.text("name", limit=MAX_NAME),
        value=reader.text("value", limit=MAX_FIELDS_CHARACTERS),
        file=read_file(reader, "file"),
        filename=reader.text("filename", limit=MAX_NAME),
        content_type=reader.text("content_type", limit=MAX_NAME),
    )
    reader.refuse_unknown("name", "value", "file", "filename", "content_type")
    if part.file is None and "file" in reader.data:
        reader.fail("file", "Write the bytes as base64.")
    if part.file is not None and part.value:
        reader.fail("value", "A field has a value or a file.")
    if any(not " " <= ch <= "~" for ch in part.content_type):
        reader.fail("content_type", "Write it as in image/png.")
    return part


MAX_PATTERN_LENGTH = 500
# In instructions of RE2. A search of 64 KiB then takes at most about 0.2 s, where pattern and reply
# were made for each other, and below a millisecond as a rule.
MAX_PROGRAM = 4_000
_MAX_MEMORY_BYTES = 1 << 20
# A larger upper bound is none: it costs a program, and nobody counts that far.
_MAX_BOUND = 400
_RANGE = re.compile(r"\{(\d+),(\d+)\}")


class PatternFault(ValueError):
    """What is wrong with a pattern or a path, as a sentence."""


def bounded(pattern: str, *, has_group: bool = True):
    """The pattern, compiled by RE2; `has_group`: its one group is what is taken. Raises
    PatternFault."""
    if not pattern:
        raise PatternFault("There is no pattern; write such as token = body: id=([0-9]+)")
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise PatternFault(f"Write a pattern of at most {MAX_PATTERN_LENGTH} characters.")
    options = re2.Options()
    options.max_mem, options.log_errors = _MAX_MEMORY_BYTES, False
    try:
        open_ended = _RANGE.sub(
            lambda match: f"{{{match[1]},}}" if int(match[2]) > _MAX_BOUND else match[0], pattern
        )
        regex = re2.compile(open_ended, options)
    except re2.error as error:
        words = error.args[0] if error.args else ""
        words = words.decode("utf-8", "replace") if isinstance(words, bytes) else str(words)
        raise PatternFault(f"The pattern cannot be read: {words}.") from None
    if has_group and regex.groups != 1:
        raise PatternFault("Put what is to be taken into one pair of parentheses: id=(\\d+).")
    if regex.programsize > MAX_PROGRAM:
        raise PatternFault(
            "The pattern could take too long: its counted repeats are too large together. Write * "
            "or + instead of a large count, or smaller counts."
        )
    return regex


@dataclass(frozen=True, slots=True)
class JsonPath:
    """`find`: the values at it in a parsed document, in the document's order. `keys`: the names and
    places of a path that has nothing else, as most have; None of any other."""

    find: Callable[[Any], list[Any]]
    keys: tuple[str | int, ...] | None


_QUOTED_PART = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")


def json_path(path: str) -> JsonPath:
    """A path of RFC 9535. Raises PatternFault. The library is loaded only where a plan has one."""
    from jsonpath_rfc9535 import JSONPathEnvironment, JSONPathError
    from jsonpath_rfc9535.selectors import NameSelector

    if len(path) > MAX_PATTERN_LENGTH:
        raise PatternFault(f"Write a path of at most {MAX_PATTERN_LENGTH} characters.")
    signs = _QUOTED_PART.sub("''", path)
    if signs.count("..") > 1 or "$" in signs[1:]:
        raise PatternFault("The path could take too long: write .. at most once, and $ only first.")
    environment = JSONPathEnvironment()
    for name in ("match", "search"):  # their patterns are not RE2's
        del environment.function_extensions[name]
    try:
        query = environment.compile(path)
    except (JSONPathError, RecursionError) as error:
        words = str(error).partition(", line")[0]
        raise PatternFault(f"The JSON path cannot be read: {words}.") from None
    keys = None
    if query.singular_query():
        selectors = [segment.selectors[0] for segment in query.segments]
        keys = tuple(
            each.name if isinstance(each, NameSelector) else each.index for each in selectors
        )
    return JsonPath(lambda document: list(query.find(document).values()), keys)
