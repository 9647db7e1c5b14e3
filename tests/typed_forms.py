"""A page's form as a browser has it, to be changed and sent."""

from html.parser import HTMLParser
from typing import Any


class _Form(HTMLParser):
    """The values of the fields of the one form that has a field named name, or of all."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, list[str]] = {}
        self._select = self._textarea = ""
        self._in_template = 0

    def handle_starttag(self, tag: str, attrs: list) -> None:
        attributes = dict(attrs)
        name = attributes.get("name") or ""
        self._in_template += tag == "template"
        if self._in_template:
            return
        if tag == "input" and name and self._counts(attributes):
            self._add(name, attributes.get("value") or "")
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select and "selected" in attributes:
            self._add(self._select, attributes.get("value") or "")
        elif tag == "textarea":
            self._textarea = name
            self._add(name, "")

    def handle_endtag(self, tag: str) -> None:
        self._in_template -= tag == "template"
        self._select = "" if tag == "select" else self._select
        self._textarea = "" if tag == "textarea" else self._textarea

    def handle_data(self, data: str) -> None:
        if self._textarea:
            self.values[self._textarea][-1] += data.removeprefix("\n")

    def _counts(self, attributes: dict[str, Any]) -> bool:
        kind = attributes.get("type")
        if kind in {"checkbox", "radio"}:
            return "checked" in attributes
        return kind not in {"file", "submit", "button", "search"}

    def _add(self, name: str, value: str) -> None:
        self.values.setdefault(name, []).append(value)


def form_data(page: bytes, **changes: Any) -> dict[str, Any]:
    """What a browser sends of the page's fields, with those that somebody typed anew."""
    reader = _Form()
    reader.feed(page.decode().partition("<main")[2])
    return {**reader.values, **changes}


def form_values(form) -> dict[str, Any]:
    """What a browser sends of a form in which nobody has changed anything."""
    return {name: form[name].value() or "" for name in form.fields}
