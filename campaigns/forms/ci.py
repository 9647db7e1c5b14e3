"""What a job of CI checks."""

from collections.abc import Mapping
from typing import Any

from django import forms

from campaigns.models import Campaign

AGAINST = {"baseline": "its baseline", "preview": "a preview, side by side"}
_SLOWER, _ERRORS = 5, 1


def _percent_field(words: str, initial: int) -> forms.FloatField:
    widget = forms.NumberInput(attrs={"class": "input-number", "aria-label": words, "step": "any"})
    return forms.FloatField(
        min_value=0, max_value=1000, initial=initial, required=False, widget=widget
    )


class JobForm(forms.Form):
    campaign = forms.ChoiceField(required=False, widget=forms.Select)
    against = forms.ChoiceField(required=False, choices=[*AGAINST.items()])
    slower = _percent_field("Percent slower", _SLOWER)
    errors_over = _percent_field("Percent of requests", _ERRORS)

    def __init__(self, data: Any, *, campaigns: Mapping[str, Campaign]):
        super().__init__(data)
        self.fields["campaign"].choices = [(name, name) for name in campaigns]
        for name, words in (("campaign", "Campaign"), ("against", "Compared with")):
            self.fields[name].widget.attrs["aria-label"] = words
        self._first = next(iter(campaigns), "")

    def job(self) -> dict[str, str]:
        """What is chosen; what is not, or is wrong, as it is proposed."""
        self.full_clean()
        chosen = getattr(self, "cleaned_data", {})
        numbers = {"slower": ("slower", _SLOWER), "errors": ("errors_over", _ERRORS)}
        return {
            "campaign": chosen.get("campaign") or self._first,
            "against": chosen.get("against") or "baseline",
            **{
                key: f"{usual if chosen.get(name) is None else chosen[name]:g}"
                for key, (name, usual) in numbers.items()
            },
        }
