"""Numbers in forms: typed as text, read leniently, judged by the domain."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from campaigns.forms.requests import text_widget


def number_field(label: str, initial: str, help_text: str = "") -> forms.CharField:
    """Text, not a number field: what cannot be read goes to the domain, which says what would."""
    widget = text_widget("", inputmode="decimal")
    return forms.CharField(
        label=label, required=False, initial=initial, help_text=help_text, widget=widget
    )


def typed(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """The numbers of these names that are there, as somebody would type them."""
    return {
        name: f"{values[name]:g}" if isinstance(values[name], float) else str(values[name])
        for name in names
        if values.get(name) is not None
    }


def number(text: str) -> int | float | str | None:
    """A number where the text is one; else the text, for the domain to say what is wrong."""
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
    """1,000 is a thousand; 0,5 is not a number that we guess at."""
    groups = text.strip().split(",")
    return len(groups) > 1 and all(len(group) == 3 and group.isdigit() for group in groups[1:])
