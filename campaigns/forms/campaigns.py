"""The form of a new campaign, and the filters of the list. A field's error says what to write."""

import secrets
from datetime import timedelta
from typing import Any

from django import forms
from django.utils import timezone

from campaigns.domain.plan import Model, late_start_fault
from campaigns.models import Campaign, Project
from campaigns.queries.campaigns import STATES, CampaignFilter, Grid, GridPlan
from campaigns.services.campaigns import MAX_INJECTORS, MAX_PAUSE_S, MAX_REPEATS, MAX_RUNS, Cell

SINCE_DAYS = {"1": "24 hours", "7": "7 days", "30": "30 days", "90": "90 days"}


def new_seed() -> int:
    return secrets.randbelow(2**31)


def _number(field: type[forms.IntegerField], low: int, high: int, **more: Any):
    """A field for a number in a range; whatever is wrong with it, the answer is the range."""
    kind = "a number" if field is forms.FloatField else "a whole number"
    sentence = f"Write {kind} from {low:,} to {high:,}."
    wrong = ("required", "invalid", "min_value", "max_value")
    step = {"step": "any"} if field is forms.FloatField else {}
    return field(
        min_value=low,
        max_value=high,
        widget=forms.NumberInput(attrs={"class": "input-number", **step}),
        error_messages=dict.fromkeys(wrong, sentence),
        **more,
    )


class CampaignForm(forms.Form):
    """Takes a `grid`; `cells` are its ticked keys, `seed` fixes the order that the page shows."""

    name = forms.CharField(
        max_length=150,
        strip=True,
        widget=forms.TextInput(attrs={"class": "input-wide", "autocomplete": "off"}),
        error_messages={"required": "Give the campaign a name; it stands in lists and reports."},
    )
    cells = forms.MultipleChoiceField(
        error_messages={
            "required": "Tick at least one cell: one tick is one test.",
            "invalid_choice": "One of the ticked plans or endpoints was archived meanwhile.",
        }
    )
    repeats = _number(forms.IntegerField, 1, MAX_REPEATS, initial=5)
    order = forms.ChoiceField(
        choices=Campaign.Order.choices, initial=Campaign.Order.BLOCKS, widget=forms.RadioSelect
    )
    pause_s = _number(forms.FloatField, 0, MAX_PAUSE_S, initial=2, label="Pause between runs")
    injectors = _number(forms.IntegerField, 1, MAX_INJECTORS, initial=1, label="Injectors per run")
    practical_threshold = _number(forms.FloatField, 0, 99, initial=5, label="Practical threshold")
    seed = forms.IntegerField(min_value=0, max_value=2**31, widget=forms.HiddenInput)

    def __init__(self, *args, grid: Grid, **kwargs):
        super().__init__(*args, **kwargs)
        self.grid = grid
        self.fields["cells"].choices = [(key, key) for key in grid.cells]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        keys, repeats = cleaned.get("cells"), cleaned.get("repeats")
        if keys and repeats and len(keys) * repeats > MAX_RUNS:
            self.add_error(
                "repeats",
                f"{len(keys)} tests × {repeats} are {len(keys) * repeats:,} runs; at most "
                f"{MAX_RUNS:,}. Repeat less often or make two campaigns.",
            )
        if keys and cleaned.get("injectors"):
            self._check_injectors(keys, cleaned["injectors"])
        return cleaned

    def _check_injectors(self, keys: list[str], injectors: int) -> None:
        plans = {self.grid.cells[key][0] for key in keys}
        for plan in plans:
            sentence = _too_few_for(plan, injectors)
            if sentence:
                self.add_error("injectors", sentence)
                return

    def ticked(self) -> set[str]:
        """The ticks to draw: what was sent, else what was given as initial."""
        if not self.is_bound:
            return set(self.initial.get("cells", ()))
        return set(self.data.getlist("cells"))

    def known(self) -> dict[str, Any]:
        """Every value that is usable, also while others are wrong: what an estimate goes by."""
        self.is_valid()
        defaults = {name: field.initial for name, field in self.fields.items()}
        usable = {**defaults, **self.initial, **getattr(self, "cleaned_data", {})}
        cells = [key for key in self.grid.cells if key in self.ticked()]
        return {**usable, "cells": cells}

    def service_values(self) -> dict[str, Any]:
        """The arguments of services.campaigns.create_campaign."""
        values = dict(self.cleaned_data)
        ticked = [self.grid.cells[key] for key in self.grid.cells if key in values["cells"]]
        return {
            **values,
            "cells": [Cell(plan.version, arm.endpoint, arm.mode) for plan, arm in ticked],
            "practical_threshold": values["practical_threshold"] / 100,
        }


def _too_few_for(plan: GridPlan, injectors: int) -> str | None:
    load = plan.plan.load
    if injectors == 1:
        return None
    if load.model == Model.SEQUENTIAL:
        return f"{plan.version} sends one request after the other: use one injector."
    for count, noun in ((load.connections, "connections"), (load.requests, "requests")):
        if count is not None and count < injectors:
            return f"{plan.version} has {count} {noun}, too few to share among {injectors}."
    fault = late_start_fault(load, injectors)
    return fault and f"{plan.version}: {fault}."


class CampaignFilterForm(forms.Form):
    """The filters of the list; a value that makes no sense is as good as none."""

    name = forms.CharField(
        required=False,
        widget=forms.TextInput(
            attrs={"placeholder": "Name, target or plan", "data-search": "", "type": "search"}
        ),
    )
    state = forms.ChoiceField(
        required=False, choices=[("", "State: any"), *((s, s.capitalize()) for s in STATES)]
    )
    target = forms.TypedChoiceField(required=False, coerce=int, empty_value=None)
    since = forms.ChoiceField(
        required=False,
        choices=[("", "Since: ever"), *((d, f"Last {w}") for d, w in SINCE_DAYS.items())],
    )

    def __init__(self, *args, project: Project, **kwargs):
        super().__init__(*args, **kwargs)
        targets = project.targets.order_by("name").values_list("pk", "name")
        self.fields["target"].choices = [("", "Target: any"), *targets]

    def chosen(self) -> CampaignFilter:
        self.is_valid()
        values = self.cleaned_data
        return CampaignFilter(
            name=values.get("name", ""),
            state=values.get("state", ""),
            target=values.get("target"),
            since=since_days(values.get("since", "")),
        )


def since_days(days: str):
    """The instant so many days ago; None for no limit."""
    return timezone.now() - timedelta(days=int(days)) if days in SINCE_DAYS else None
