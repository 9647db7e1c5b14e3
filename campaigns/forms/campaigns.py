"""The form of a new campaign. Error messages say what to enter."""

import secrets
from collections.abc import Sequence
from typing import Any

from django import forms

from campaigns.domain.plan.injectors import share_fault
from campaigns.models import Campaign
from campaigns.queries.campaigns import Grid
from campaigns.queries.references import why_no_reference
from campaigns.services.blocks import MAX_REPEATS
from campaigns.services.campaign_cells import MAX_RUNS, CampaignCell
from campaigns.services.campaigns import MAX_INJECTORS, MAX_PAUSE_S


def new_seed() -> int:
    return secrets.randbelow(2**31)


def _number(field: type[forms.IntegerField], low: int, high: int, **more: Any):
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


class InjectorsField(forms.CharField):
    """One number of injectors, or several for a sweep with a test each. Cleans to a tuple."""

    _WRONG = f"Enter a whole number from 1 to {MAX_INJECTORS}, or several: 1, 2, 4, 8."

    def __init__(self, **more: Any):
        widget = forms.TextInput(attrs={"class": "input-medium", "inputmode": "numeric"})
        wrong = {"required": self._WRONG}
        super().__init__(widget=widget, max_length=200, error_messages=wrong, **more)

    def clean(self, value: Any) -> tuple[int, ...]:
        words = super().clean(value).replace(",", " ").split()
        counts = [int(word) for word in words if word.isdecimal() and len(word) < 4]
        if len(counts) < len(words) or not all(1 <= n <= MAX_INJECTORS for n in counts):
            raise forms.ValidationError(self._WRONG)
        if len(set(counts)) < len(counts):
            raise forms.ValidationError("List each number of injectors only once.")
        return tuple(counts)


class CampaignForm(forms.Form):
    """Takes a `grid`; `cells` are its ticked keys, `seed` fixes the displayed order."""

    name = forms.CharField(
        max_length=150,
        strip=True,
        widget=forms.TextInput(attrs={"class": "input-wide", "autocomplete": "off"}),
        error_messages={"required": "Enter a name for the campaign."},
    )
    cells = forms.MultipleChoiceField(
        error_messages={
            "required": "Tick at least one cell: one tick is one test.",
            "invalid_choice": "A ticked plan or endpoint has been archived. Check the ticks.",
        }
    )
    repeats = _number(
        forms.IntegerField,
        1,
        MAX_REPEATS,
        initial=5,
        help_text="Each repeat is one block that runs every test once. A verdict needs at least "
        "three; five resolve differences of about 5 % when runs vary by 3 %.",
    )
    order = forms.ChoiceField(
        choices=Campaign.Order.choices, initial=Campaign.Order.BLOCKS, widget=forms.RadioSelect
    )
    pause_s = _number(
        forms.FloatField,
        0,
        MAX_PAUSE_S,
        initial=2,
        label="Pause between runs",
        help_text="Lets the target settle between runs.",
    )
    injectors = InjectorsField(
        initial="1",
        label="Injector processes per run",
        help_text="The same number for every arm, so that the ratio does not measure the "
        "injectors. Several numbers, such as 1, 2, 4, 8, make a sweep: each ticked cell becomes "
        "one test per number, with a table and a curve.",
    )
    practical_threshold = _number(
        forms.FloatField,
        0,
        99,
        initial=5,
        label="Practical threshold",
        help_text="A smaller difference counts as no practical difference.",
    )
    keeps_going = forms.BooleanField(
        required=False,
        label="Keep going, whatever fails",
        help_text="Otherwise the campaign waits for you when a first request fails, and stops "
        "after a run in which everything failed.",
    )
    reference = forms.BooleanField(required=False, label="Reference")
    seed = forms.IntegerField(min_value=0, max_value=2**31, widget=forms.HiddenInput)

    def __init__(self, *args, grid: Grid, **kwargs):
        super().__init__(*args, **kwargs)
        self.grid = grid
        self.fields["cells"].choices = [(key, key) for key in grid.cells]
        if why_no_reference():
            del self.fields["reference"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        keys, repeats = cleaned.get("cells"), cleaned.get("repeats")
        counts = cleaned.get("injectors") or (1,)
        n_tests = len(keys or ()) * len(counts) + cleaned.get("reference", False)
        if n_tests and repeats and n_tests * repeats > MAX_RUNS:
            self.add_error(
                "repeats",
                f"{n_tests} tests × {repeats} are {n_tests * repeats:,} runs; at most "
                f"{MAX_RUNS:,}. Use fewer repeats, or create two campaigns.",
            )
        if keys:
            self._check_injectors(keys, counts)
        return cleaned

    def _check_injectors(self, keys: list[str], counts: Sequence[int]) -> None:
        plans = {self.grid.cells[key][0] for key in keys}
        faults = (
            f"{plan.version} {fault}."
            for plan in plans
            for count in counts
            if (fault := share_fault(plan.plan.load, count))
        )
        if sentence := next(faults, None):
            self.add_error("injectors", sentence)

    def ticked(self) -> set[str]:
        """The keys of the cells to tick: submitted, else initial ones."""
        if not self.is_bound:
            return set(self.initial.get("cells", ()))
        return set(self.data.getlist("cells"))

    def known(self) -> dict[str, Any]:
        """All usable values, even while others are invalid: the input of the estimate."""
        self.is_valid()
        defaults = {name: field.initial for name, field in self.fields.items()}
        usable = {**defaults, **self.initial, **getattr(self, "cleaned_data", {})}
        if isinstance(usable["injectors"], str):
            usable["injectors"] = self.fields["injectors"].clean(usable["injectors"])
        cells = [key for key in self.grid.cells if key in self.ticked()]
        return {**usable, "cells": cells}

    def service_values(self) -> dict[str, Any]:
        """The arguments of services.campaigns.create_campaign."""
        values = dict(self.cleaned_data)
        ticked = [self.grid.cells[key] for key in self.grid.cells if key in values["cells"]]
        counts = values.pop("injectors")
        return {
            **values,
            "sweep": counts,
            "cells": [CampaignCell(plan.version, arm.endpoint, arm.mode) for plan, arm in ticked],
            "practical_threshold": values["practical_threshold"] / 100,
            "keeps_going": values["keeps_going"],
        }
