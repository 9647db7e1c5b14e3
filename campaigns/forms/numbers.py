"""Numbers in forms: typed as text, parsed leniently, validated by the domain; or in a range."""

from typing import Any

from django import forms


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
    kind = "a number" if field is forms.FloatField else "a whole number"
    sentence = f"Enter {kind} from {low:,} to {high:,}."
    wrong = ("required", "invalid", "min_value", "max_value")
    step = {"step": "any"} if field is forms.FloatField else {}
    return field(
        min_value=low,
        max_value=high,
        widget=forms.NumberInput(attrs={"class": "input-number", **step}),
        error_messages=dict.fromkeys(wrong, sentence),
        **more,
    )
