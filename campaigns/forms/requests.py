"""The fields of one request, shared by plans and "try one request"; the domain validates. Numbers
in forms: typed as text, parsed leniently, validated by the domain; or in a range. And a form that
the domain checks."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar

from django import forms

from campaigns.domain.plan.step import MAX_METHOD, METHODS
from campaigns.domain.typed_text import has_unit


class CheckedForm(forms.Form):
    # The field that shows what is wrong with an argument of another name.
    field_of: ClassVar[Mapping[str, str]] = {}

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


def other_method() -> forms.CharField:
    return forms.CharField(
        label="Another method",
        required=False,
        max_length=MAX_METHOD,
        widget=text_widget("input-name", placeholder="PURGE"),
        help_text="In place of the one above: any name, such as PURGE or PROPFIND.",
    )


class RequestFields(forms.Form):
    method = forms.ChoiceField(
        choices=[(method, method) for method in METHODS],
        initial="GET",
        widget=forms.Select({"aria-label": "Method"}),
    )
    other_method = other_method()
    path = forms.CharField(
        initial="/", max_length=8000, strip=True, required=False, widget=text_widget("input-wide")
    )
    headers = forms.CharField(
        required=False,
        max_length=MOST_CHARACTERS,
        widget=area(3, placeholder="Content-Type: text/xml; charset=utf-8"),
        help_text="One per line, “Name: value”. Host and Content-Length are set for you; a "
        "Host of your own is sent in place of the endpoint's.",
    )
    body = forms.CharField(required=False, strip=False, widget=area(4))

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
    return [[part.strip() for part in _split(line)] for line in lines]


def write_headers(headers) -> str:
    return "\n".join(f"{name}: {value}" for name, value in headers)


def _split(line: str) -> tuple[str, str]:
    """A line without a colon becomes a header name, which the domain rejects."""
    name, colon, value = line.partition(":")
    return (name, value) if colon else (line + " ", "")


class ProbeForm(RequestFields):
    subprotocols = forms.CharField(
        required=False,
        widget=text_widget("input-medium"),
        help_text="WebSocket only. Separate with spaces; often none.",
    )
    message = forms.CharField(
        required=False,
        strip=False,
        widget=area(2),
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
