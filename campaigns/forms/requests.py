"""The fields of one request, shared by plans and "try one request"; the domain validates."""

import time
from typing import Any

from django import forms

from campaigns.domain.plan.step import METHODS


def text_widget(css: str, **attrs):
    return forms.TextInput(
        attrs={"class": css, "autocomplete": "off", "spellcheck": "false"} | attrs
    )


# Of a text that is read line by line: 2 MiB of lines would hold the web process for a second.
MOST_CHARACTERS = 64 * 1024


class _Area(forms.Textarea):
    def render(self, name, value, *args, **kwargs):
        """A megabyte takes 10 ms to escape: others have their turn before and after."""
        pause = time.sleep if len(value or "") > MOST_CHARACTERS else id
        pause(0)
        html = super().render(name, value, *args, **kwargs)
        pause(0)
        return html


def area(rows: int, **attrs):
    return _Area(attrs={"rows": rows, "spellcheck": "false"} | attrs)


class RequestFields(forms.Form):
    method = forms.ChoiceField(
        choices=[(method, method) for method in METHODS],
        initial="GET",
        widget=forms.Select({"aria-label": "Method"}),
    )
    path = forms.CharField(
        initial="/", max_length=8000, strip=True, required=False, widget=text_widget("input-wide")
    )
    headers = forms.CharField(
        required=False,
        max_length=MOST_CHARACTERS,
        widget=area(3, placeholder="Content-Type: text/xml; charset=utf-8"),
        help_text="One per line, “Name: value”. Host and Content-Length are set for you.",
    )
    body = forms.CharField(required=False, strip=False, widget=area(6))

    def step(self) -> dict:
        """The request as a plan step. Invalid header lines are kept for the domain to reject."""
        data = self.cleaned_data
        return {
            "method": data["method"],
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
