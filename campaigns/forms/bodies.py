"""The body of a step in the plan form: one text, read as its kind says, and files. Files that were
uploaded before are kept by name in a hidden field: as base64 if small, else by their digest."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django import forms

from campaigns.domain.plan.body import MAX_FILE_BYTES, Blob
from campaigns.domain.plan.step import MAX_BODY_BYTES
from campaigns.domain.units import counted
from campaigns.forms.requests import MOST_CHARACTERS, area

TEXT, FORM, MULTIPART, FILE = "text", "form", "multipart", "file"
KINDS = [
    (TEXT, "Text"),
    (FORM, "Form fields"),
    (MULTIPART, "Fields and files"),
    (FILE, "File"),
]
FIELDS = ("body_kind", "body", "kept")


def body_fields() -> dict[str, forms.Field]:
    return {
        "body_kind": forms.ChoiceField(
            choices=KINDS, required=False, initial=TEXT, widget=forms.Select({"aria-label": "Kind"})
        ),
        "body": forms.CharField(label="Body", required=False, strip=False, widget=area(4)),
        # Not a hidden field: pages that come back and steps that move keep its value.
        "kept": forms.CharField(
            required=False,
            max_length=MOST_CHARACTERS,
            widget=forms.TextInput({"hidden": True, "autocomplete": "off"}),
        ),
    }


@dataclass
class TypedBody:
    """`json`: what the step has of it. `kept`: the files that it uses, by name, as JSON has them;
    `blobs`: those that were uploaded now. `text`: what the field shows from now on."""

    text: str
    json: dict[str, Any]
    kept: dict[str, Any] = field(default_factory=dict)
    blobs: list[Blob] = field(default_factory=list)
    fault: str = ""


def read_body(kind: str, text: str, kept: str, uploads: Iterable[Any]) -> TypedBody:
    """`uploads`: what was sent with it, as Django has them."""
    text, uploads = text.replace("\r\n", "\n"), list(uploads)
    if too_large := next((each for each in uploads if each.size > MAX_FILE_BYTES), None):
        sentence = f"{too_large.name}: {too_large.size:,} bytes are too many; at most 8 MiB."
        return TypedBody(text, {"body": text}, fault=sentence)
    files = {each.name: Blob.of(each.read()) for each in uploads}
    known = {**_kept_files(kept), **{name: blob.to_json() for name, blob in files.items()}}
    if kind == FORM:
        return TypedBody(text, {"form": [_pair(line) for line in _lines(text)]})
    if kind == MULTIPART:
        parts = [_part(line, files, known) for line in _lines(text)]
        missing = next((each["filename"] for each in parts if each.get("file", "") is None), "")
        fault = f"Choose the file {missing}, which this body names." if missing else ""
        names = [each["filename"] for each in parts if "file" in each and each["filename"] in known]
        used = {name: known[name] for name in names}
        return TypedBody(text, {"multipart": parts}, used, list(files.values()), fault)
    name = next(iter(files), "") or next(iter(known), "")
    blob = files.get(name)
    as_text = _decoded(blob.data) if kind != FILE and blob and blob.data is not None else None
    if as_text is not None:
        return TypedBody(as_text, {"body": as_text})
    if kind != FILE and blob is None:
        return TypedBody(text, {"body": text})
    if not name:
        return TypedBody(text, {"body": ""}, fault="Choose the file that is the body.")
    blobs = [blob] if blob else []
    return TypedBody("", {"body_file": _with_bytes(blob, known[name])}, {name: known[name]}, blobs)


def _decoded(data: bytes) -> str | None:
    """A text that the field can show; None for anything else."""
    try:
        return data.decode("utf-8-sig") if len(data) <= MAX_BODY_BYTES else None
    except UnicodeDecodeError:
        return None


def _with_bytes(blob: Blob | None, stored: Any) -> Any:
    """As a plan takes it: base64 of what was uploaded just now."""
    return blob.to_base64() if blob else stored


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _pair(line: str) -> list[str]:
    name, _, value = line.partition("=")
    return [name.strip(), value]


def _part(line: str, files: Mapping[str, Blob], known: Mapping[str, Any]) -> dict[str, Any]:
    """name=value, or as in curl's -F name=@file;type=image/png. An unknown file is None."""
    name, value = _pair(line)
    if not value.startswith("@"):
        return {"name": name, "value": value}
    filename, _, kind = value[1:].partition(";type=")
    file = _with_bytes(files.get(filename), known.get(filename))
    return {"name": name, "file": file, "filename": filename, "content_type": kind.strip()}


def _kept_files(text: str) -> dict[str, Any]:
    try:
        kept = json.loads(text or "{}")
    except ValueError:
        return {}
    return kept if isinstance(kept, dict) else {}


def initial_body(step: Mapping[str, Any]) -> dict[str, str]:
    """The fields' values for a stored step."""
    if form := step.get("form"):
        lines = "\n".join(f"{name}={value}" for name, value in form)
        return {"body_kind": FORM, "body": lines, "kept": ""}
    if parts := step.get("multipart"):
        files = {part["filename"]: part["file"] for part in parts if "file" in part}
        lines = "\n".join(map(_line, parts))
        return {"body_kind": MULTIPART, "body": lines, "kept": json.dumps(files) if files else ""}
    if file := step.get("body_file"):
        return {"body_kind": FILE, "body": "", "kept": json.dumps({"file": file})}
    return {"body_kind": TEXT, "body": step.get("body", ""), "kept": ""}


def _line(part: Mapping[str, Any]) -> str:
    if "file" not in part:
        return f"{part['name']}={part['value']}"
    kind = f";type={part['content_type']}" if part["content_type"] else ""
    return f"{part['name']}=@{part['filename']}{kind}"


def body_words(kind: str, n_text_bytes: int, kept: str) -> str:
    """What is said of a body that is no text: "form fields of 20 bytes", "file of 12,345 bytes"."""
    if kind == FILE:
        sizes = [each.get("size_bytes") for each in _kept_files(kept).values() if _is_ref(each)]
        return f"file of {counted(sizes[0], 'bytes')}" if sizes else "file as body"
    label = dict(KINDS).get(kind, kind).lower()
    return f"{label} of {counted(n_text_bytes, 'bytes')}" if n_text_bytes else ""


def _is_ref(file: Any) -> bool:
    return isinstance(file, dict) and isinstance(file.get("size_bytes"), int)
