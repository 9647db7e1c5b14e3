"""The fields of one request, shared by plans and "try one request"; the domain validates. Numbers
in forms: typed as text, parsed leniently, validated by the domain; or in a range. A form that the
domain checks. The body of a step: one text, read as its kind says, and files; those that were
uploaded before are kept by name in a hidden field: as base64 if small, else by their digest."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from django import forms

from campaigns.domain.plan.body import MAX_FILE_BYTES, Blob
from campaigns.domain.plan.fields import fields_of
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.step import MAX_BODY_BYTES, MAX_METHOD, METHODS
from campaigns.domain.typed_text import has_unit
from campaigns.domain.units import counted


class CheckedForm(forms.Form):
    # The field that shows what is wrong with an argument of another name.
    field_of: ClassVar[Mapping[str, str | None]] = {}

    refused_at: ClassVar[str | None] = None  # the field that says why it is not possible now

    def fields_of_service(self) -> dict[str, Any]:
        return self.cleaned_data

    def take_errors(self, errors: Mapping[str, str]) -> None:
        """Say beside each field what the service found, by its arguments' names."""
        for name, sentence in errors.items():
            self.add_error(self.field_of.get(name, name), sentence)

    def take_refusal(self, sentence: str) -> None:
        """Say why it is not possible now, with what was typed still there."""
        self.add_error(self.refused_at, sentence)


def number(text: str) -> int | float | str | None:
    """The text as a number if it is one; else the text, for the domain to reject."""
    text = text.strip().replace(",", "") if _has_thousands(text) else text.strip()
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _has_thousands(text: str) -> bool:
    """1,000 is a thousand; 0,5 is ambiguous and rejected."""
    groups = text.strip().split(",")
    return len(groups) > 1 and all(len(group) == 3 and group.isdigit() for group in groups[1:])


def number_field(field: type[forms.IntegerField], low: int, high: int, **more: Any):
    """A field for a number in a range; every error message names the range."""
    kind = "a whole number" if field is forms.IntegerField else "a number"
    sentence = f"Enter {kind} from {low:,} to {high:,}."
    wrong = ("required", "invalid", "min_value", "max_value")
    step = {"step": "any"} if field is forms.FloatField else {}
    options = {"widget": forms.NumberInput(attrs={"class": "input-number", **step}), **more}
    return field(
        min_value=low, max_value=high, error_messages=dict.fromkeys(wrong, sentence), **options
    )


class AmountField(forms.FloatField):
    """Seconds, or a rate per second, which may be typed with a unit: 500ms, 1/min."""

    def __init__(self, *, amount: Callable[[str], float], **options: Any):
        super().__init__(**options)
        self._amount = amount

    def to_python(self, value: Any) -> float | None:
        if has_unit(value):
            try:
                value = self._amount(value)
            except ValueError as fault:
                raise forms.ValidationError(f"{fault}.") from None
        return super().to_python(value)


def amount_field(amount: Callable[[str], float], low: int, high: int, **more: Any) -> AmountField:
    """The same for an amount with a unit."""
    widget = text_widget("input-number", inputmode="decimal")
    field = partial(AmountField, amount=amount)
    return number_field(field, low, high, widget=widget, **more)


def text_widget(css: str, **attrs):
    return forms.TextInput(
        attrs={"class": css, "autocomplete": "off", "spellcheck": "false"} | attrs
    )


# Of a text that is read line by line: 2 MiB of lines would hold the web process for a second.
MOST_CHARACTERS = 64 * 1024


def text_field(
    label: str | None, widget: forms.Widget, most: int | None = MOST_CHARACTERS, **more: Any
) -> forms.CharField:
    """A text that may be empty; a service or the domain says what is wrong with it."""
    return forms.CharField(label=label, required=False, max_length=most, widget=widget, **more)


class _Area(forms.Textarea):
    def render(self, name, value, *args, **kwargs):
        """A megabyte takes 10 ms to escape: others have their turn before and after."""
        is_long = len(value or "") > MOST_CHARACTERS
        if is_long:
            time.sleep(0)
        html = super().render(name, value, *args, **kwargs)
        if is_long:
            time.sleep(0)
        return html


def area(rows: int, **attrs):
    return _Area(attrs={"rows": rows, "spellcheck": "false"} | attrs)


def request_line() -> dict[str, forms.Field]:
    return {
        "method": forms.ChoiceField(
            label="Method",
            choices=[(method, method) for method in METHODS],
            initial="GET",
            widget=forms.Select({"aria-label": "Method"}),
        ),
        "other_method": text_field(
            "Another method",
            text_widget("input-name", placeholder="PURGE"),
            MAX_METHOD,
            help_text="In place of the one above: any name, such as PURGE or PROPFIND.",
        ),
        "path": text_field("Path", text_widget("input-wide"), 8000),
    }


class RequestFields(CheckedForm):
    method, other_method, path = request_line().values()
    path.initial = "/"
    headers = text_field(
        None,
        area(3, placeholder="Content-Type: text/xml; charset=utf-8"),
        help_text="One per line, “Name: value”. Host and Content-Length are set for you; a "
        "Host of your own is sent in place of the endpoint's.",
    )
    body = text_field(None, area(4), None, strip=False)

    def step(self) -> dict:
        """The request as a plan step. Invalid header lines are kept for the domain to reject."""
        data = self.cleaned_data
        return {
            "method": data["other_method"] or data["method"],
            "path": data["path"] or "/",
            "headers": read_headers(data["headers"]),
            "body": data["body"].replace("\r\n", "\n"),
        }

    def take_errors(self, errors: dict[str, str]) -> None:
        """Attach the domain's errors to their fields."""
        for path, sentence in errors.items():
            name = path.rpartition(".")[2]
            self.add_error(name if name in self.fields else None, sentence)


def read_headers(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.strip()]
    return [[part.strip() for part in _name_and_value(line)] for line in lines]


def write_headers(headers) -> str:
    return "\n".join(f"{name}: {value}" for name, value in headers)


def _name_and_value(line: str) -> tuple[str, str]:
    """A line without a colon becomes a header name, which the domain rejects."""
    name, colon, value = line.partition(":")
    return (name, value) if colon else (line + " ", "")


_REDIRECTS = fields_of(Plan)["redirects"]


class ProbeForm(RequestFields):
    redirects = forms.ChoiceField(
        required=False,
        choices=[(str(each), words) for each, words in _REDIRECTS.choices.items()],
        label=_REDIRECTS.label,
    )
    subprotocols = text_field(
        None,
        text_widget("input-medium"),
        None,
        help_text="WebSocket only. Separate with spaces; often none.",
    )
    message = text_field(
        None,
        area(2),
        None,
        strip=False,
        help_text="WebSocket only. Sent as text once it is open. Leave empty to open and close it.",
    )

    def opening(self) -> dict[str, Any]:
        """The WebSocket handshake and message to try."""
        data = self.cleaned_data
        return {
            "path": data["path"] or "/",
            "headers": read_headers(data["headers"]),
            "subprotocols": data["subprotocols"].replace(",", " ").split(),
            "message": data["message"].replace("\r\n", "\n") or None,
        }


TEXT, FORM, MULTIPART, FILE = "text", "form", "multipart", "file"
KINDS = [(TEXT, "Text"), (FORM, "Form fields"), (MULTIPART, "Fields and files"), (FILE, "File")]
FIELDS = ("body_kind", "body", "kept")


def body_fields() -> dict[str, forms.Field]:
    return {
        "body_kind": forms.ChoiceField(
            choices=KINDS, required=False, initial=TEXT, widget=forms.Select({"aria-label": "Kind"})
        ),
        "body": text_field("Body", area(4), None, strip=False),
        # Not a hidden field: pages that come back and steps that move keep its value.
        "kept": text_field(None, forms.TextInput({"hidden": True, "autocomplete": "off"})),
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
    contents = {**_kept_files(kept), **{name: blob.to_json() for name, blob in files.items()}}
    if kind == FORM:
        return TypedBody(text, {"form": [_pair(line) for line in _filled_lines(text)]})
    if kind == MULTIPART:
        parts = [_part(line, files, contents) for line in _filled_lines(text)]
        missing = next((each["filename"] for each in parts if each.get("file", "") is None), "")
        fault = f"Choose the file {missing}, which this body names." if missing else ""
        names = [
            each["filename"] for each in parts if "file" in each and each["filename"] in contents
        ]
        known_files = {name: contents[name] for name in names}
        return TypedBody(text, {"multipart": parts}, known_files, list(files.values()), fault)
    name = next(iter(files), "") or next(iter(contents), "")
    blob = files.get(name)
    as_text = _as_text(blob.data) if kind != FILE and blob and blob.data is not None else None
    if as_text is not None:
        return TypedBody(as_text, {"body": as_text})
    if kind != FILE and blob is None:
        return TypedBody(text, {"body": text})
    if not name:
        return TypedBody(text, {"body": ""}, fault="Choose the file that is the body.")
    blobs = [blob] if blob else []
    return TypedBody(
        "", {"body_file": _with_bytes(blob, contents[name])}, {name: contents[name]}, blobs
    )


def _as_text(data: bytes) -> str | None:
    """A text that the field can show; None for anything else."""
    try:
        return data.decode("utf-8-sig") if len(data) <= MAX_BODY_BYTES else None
    except UnicodeDecodeError:
        return None


def _with_bytes(blob: Blob | None, digest: Any) -> Any:
    """As a plan takes it: base64 of what was uploaded just now."""
    return blob.to_base64() if blob else digest


def _filled_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def _pair(line: str) -> list[str]:
    name, _, value = line.partition("=")
    parts = _unquote(value)
    return [name.strip(), parts[0] if parts and not parts[1] else value]


def _unquote(text: str) -> tuple[str, str] | None:
    """(value, type) of "a\\nb" or "a\\nb";type=text/plain, as JSON has it; None of others."""
    with suppress(ValueError):
        value, end = json.JSONDecoder().raw_decode(text) if text.startswith('"') else ("", 0)
        mark, kind = text[end : end + 6], text[end + 6 :].strip()
        return (value, kind) if end and mark in {"", ";type="} else None
    return None


def _field_text(value: str) -> str:
    """A value as a line has it, in quotation marks where it would be read as something else."""
    is_plain = not value.startswith(('"', "@")) and ";type=" not in value
    return value if is_plain and value.splitlines() in ([], [value]) else json.dumps(value)


def _part(
    line: str, files: Mapping[str, Blob], content_by_name: Mapping[str, Any]
) -> dict[str, Any]:
    """name=value;type=text/plain, or as in curl's -F name=@file;type=image/png. An unknown file is
    None."""
    name, _, text = line.partition("=")
    name, (value, _, kind) = name.strip(), text.partition(";type=")
    if parts := _unquote(text):
        value, kind = parts
    if not text.startswith("@"):
        return {"name": name, "value": value, **({"content_type": kind.strip()} if kind else {})}
    filename = value[1:]
    file = _with_bytes(files.get(filename), content_by_name.get(filename))
    return {"name": name, "file": file, "filename": filename, "content_type": kind.strip()}


def _kept_files(text: str) -> dict[str, Any]:
    try:
        refs = json.loads(text or "{}")
    except ValueError:
        return {}
    return refs if isinstance(refs, dict) else {}


def initial_body(step: Mapping[str, Any]) -> dict[str, str]:
    """The fields' values for a stored step."""
    if form := step.get("form"):
        lines = "\n".join(f"{name}={_field_text(value)}" for name, value in form)
        return {"body_kind": FORM, "body": lines, "kept": ""}
    if parts := step.get("multipart"):
        files = {part["filename"]: part["file"] for part in parts if "file" in part}
        lines = "\n".join(map(_line, parts))
        return {"body_kind": MULTIPART, "body": lines, "kept": json.dumps(files) if files else ""}
    if file := step.get("body_file"):
        return {"body_kind": FILE, "body": "", "kept": json.dumps({"file": file})}
    return {"body_kind": TEXT, "body": step.get("body", ""), "kept": ""}


def _line(part: Mapping[str, Any]) -> str:
    kind = f";type={part['content_type']}" if part.get("content_type") else ""
    value = f"@{part['filename']}" if "file" in part else _field_text(part["value"])
    return f"{part['name']}={value}{kind}"


def body_words(kind: str, n_text_bytes: int, kept: str) -> str:
    """What is said of a body that is no text: "form fields of 20 bytes", "file of 12,345 bytes"."""
    if kind == FILE:
        sizes = [
            each.get("size_bytes")
            for each in _kept_files(kept).values()
            if (isinstance(each, dict) and isinstance(each.get("size_bytes"), int))
        ]
        return f"file of {counted(sizes[0], 'bytes')}" if sizes else "file as body"
    label = dict(KINDS).get(kind, kind).lower()
    return f"{label} of {counted(n_text_bytes, 'bytes')}" if n_text_bytes else ""
