"""Numbers in forms: typed as text, parsed leniently, validated by the domain; or in a range. And a
form that the domain checks."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django import forms


class CheckedForm(forms.Form):
    # The field that shows what is wrong with an argument of another name.
    field_of: ClassVar[Mapping[str, str]] = {}

    refused_at: ClassVar[str | None] = None  # the field that says why it is not possible now

    def fields_of_service(self) -> dict[str, Any]:
        """The service's arguments."""
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
