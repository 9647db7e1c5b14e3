"""Forms of projects: share links, caps, the job of CI."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings

from campaigns.accounts.tokens import MAX_DAYS
from campaigns.core.forms import CheckedForm, number_field, text_field, text_widget
from campaigns.domain.caps import PROJECT_CAPS, most_of
from campaigns.models import Campaign, Project


class CapsForm(forms.Form):
    """One field for each cap; empty means the installation's, 0 no cap."""

    def __init__(self, *args, project: Project, **kwargs):
        super().__init__(*args, initial=project.caps, **kwargs)
        for cap in PROJECT_CAPS:
            most = most_of(cap, settings.CAPS, {})
            of_all = "no cap" if most is None else cap.setting_words(most)
            self.fields[cap.name] = forms.IntegerField(
                label=f"{cap.title}, in percent" if cap.is_share else cap.title,
                required=False,
                min_value=0,
                max_value=cap.highest,
                widget=forms.NumberInput(attrs={"class": "input-number"}),
                help_text=f"Empty: {of_all}, as for all projects. 0: no cap.",
            )


class ShareForm(CheckedForm):
    refused_at = "days"

    days = number_field(forms.IntegerField, 1, MAX_DAYS, label="Expires after", initial=30)
    shows_machines = forms.BooleanField(
        label="Addresses and machines",
        required=False,
        help_text="Show the target's address, and the facts about its and the injectors' machines.",
    )
    note = text_field("Note", text_widget("input-name"), 100)


class ProjectForm(CheckedForm):
    name = forms.CharField(
        max_length=100,
        widget=text_widget("input-name"),
        help_text="The team or the product. Members see each other's targets, plans and results.",
    )


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
        values = getattr(self, "cleaned_data", {})
        numbers = {"slower": ("slower", _SLOWER), "errors": ("errors_over", _ERRORS)}
        return {
            "campaign": values.get("campaign") or self._first,
            "against": values.get("against") or "baseline",
            **{
                key: f"{usual if values.get(name) is None else values[name]:g}"
                for key, (name, usual) in numbers.items()
            },
        }
