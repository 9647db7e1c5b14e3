"""The form of a new campaign: what is measured, where and how. Messages say what to enter."""

import secrets
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django import forms

from campaigns.campaigns.forms.pickers import PickerFields, PicksField
from campaigns.campaigns.queries.campaign_grid import Arm, Grid, GridPlan, Picks
from campaigns.campaigns.queries.cells import MAX_REPEATS, CampaignCell, cells_of_sweep
from campaigns.campaigns.queries.references import why_no_reference
from campaigns.campaigns.services.blocks import MAX_RUNS
from campaigns.campaigns.services.campaigns import MAX_INJECTORS, MAX_PAUSE_S
from campaigns.core.forms import amount_field, number_field
from campaigns.domain.errors import Refused
from campaigns.domain.metrics.profiles import PerfOf
from campaigns.domain.plan.arrivals import share_fault
from campaigns.domain.plan.sweep import (
    INJECTORS,
    MAX_POINTS,
    Sweep,
    fields_used_by,
    swept_plan,
    values_of_text,
)
from campaigns.domain.plan.turns import LONGEST_LIMIT_S
from campaigns.domain.presentation.what_to_do import QUESTION_TITLES
from campaigns.domain.typed_text import seconds_in
from campaigns.domain.units import and_joined, counted
from campaigns.items.forms import name_field
from campaigns.models import Campaign


def new_seed() -> int:
    return secrets.randbelow(2**31)


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


class ValuesField(forms.CharField):
    """The values of a sweep, a list or a range. Cleans to a tuple, () for none."""

    def __init__(self, **more: Any):
        widget = forms.TextInput(attrs={"class": "input-medium", "autocomplete": "off"})
        super().__init__(widget=widget, max_length=300, **more)

    def clean(self, value: Any) -> tuple[float, ...]:
        text = super().clean(value)
        if not text.strip():
            return ()
        try:
            return values_of_text(text)
        except ValueError as fault:
            raise forms.ValidationError(str(fault)) from None


_PERF_CHOICES = (
    (PerfOf.NONE, "Nothing"),
    (PerfOf.PROCESSES, "Watched processes"),
    (PerfOf.MACHINE, "Whole machine"),
)


_ADVANCED = (
    *("order", "repeats", "pause_s", "injectors", "sweep_field", "sweep_values"),
    *("practical_threshold", "keeps_going", "perf", "profile", "reference"),
)
# What becomes the tests, and what only the page needs.
_PICKS = {*Picks._fields, "offered", "question"}


class CampaignForm(PickerFields):
    """What is measured are all combinations of its pickers but those `left_out`. `seed` fixes the
    order."""

    name = name_field("campaign", required=False)
    left_out = PicksField()
    order = forms.ChoiceField(
        required=False,
        choices=[("", Campaign.Order.SIDE_BY_SIDE.label), *Campaign.Order.choices[1:]],
        initial="",
        widget=forms.RadioSelect,
        help_text="Side by side: the tests of a plan take turns of a tenth of a second. Blocks run "
        "every test once, every second block in reverse. As listed: a drift affects one test only.",
    )
    until_settled = forms.TypedChoiceField(
        required=False,
        choices=[("on", "When settled"), ("", "After a fixed time")],
        coerce=bool,
        empty_value=False,
        initial="on",
        label="Stop",
        widget=forms.RadioSelect,
    )
    limit_s = amount_field(
        seconds_in,
        1,
        LONGEST_LIMIT_S,
        required=False,
        label="At most, in seconds",
        help_text="Empty: 60 s, 10 s a test, or 18 rounds at a low rate.",
    )
    repeats = number_field(
        forms.IntegerField,
        1,
        MAX_REPEATS,
        required=False,
        help_text="Leave empty for one pass side by side, or five blocks. A verdict needs three "
        "blocks.",
    )
    pause_s = amount_field(
        seconds_in,
        0,
        MAX_PAUSE_S,
        initial=2,
        label="Pause between runs",
        help_text="Lets the target settle between runs.",
    )
    injectors = InjectorsField(
        initial="1",
        label="Injector processes per run",
        help_text="Several numbers, such as 1, 2, 4, 8, make a sweep: one test per number.",
    )
    sweep_field = forms.ChoiceField(required=False, label="Vary a parameter")
    sweep_values = ValuesField(
        required=False,
        label="Values",
        help_text=f"2 to {MAX_POINTS} values, such as 100, 200, 400, or a range: 100 to 800 step "
        "100. Each value becomes a test of its own.",
    )
    practical_threshold = number_field(
        forms.FloatField, 0, 99, initial=5, label="Ignore differences below"
    )
    keeps_going = forms.BooleanField(
        required=False,
        label="Continue on errors",
        help_text="Otherwise a failed first request pauses the campaign, and a run in which "
        "everything failed stops it.",
    )
    perf = forms.ChoiceField(
        required=False,
        choices=_PERF_CHOICES,
        initial=PerfOf.NONE,
        widget=forms.RadioSelect,
        label="perf stat",
        help_text="The agent on the target's machine counts context switches, page faults, cycles, "
        "instructions and branches. It needs perf there, and the agent's --perf.",
    )
    profile = forms.BooleanField(
        required=False,
        label="perf record",
        help_text="The agent also records in which functions the CPU time goes.",
    )
    reference = forms.BooleanField(
        required=False,
        label="Add a control run",
        help_text="Measures benchsite's own target in each block. It tells changes of the server "
        "from noise of the machine, and counts as no test.",
    )
    seed = forms.IntegerField(min_value=0, max_value=2**31, widget=forms.HiddenInput)

    def __init__(self, *args, grid: Grid, **kwargs):
        super().__init__(*args, grid=grid, **kwargs)
        self.fields["left_out"].keys = grid.cells
        if why_no_reference():
            del self.fields["reference"]
        self.fields["sweep_field"].choices = [
            ("", "None"),
            *(
                (each.key, f"{each.label}, {each.unit}" if each.unit else each.label)
                for each in fields_used_by([row.plan for row in grid.plans])
            ),
        ]

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        keys, repeats = self.cells, data.get("repeats") or 1
        self.check_picks(keys)
        counts = data.get("injectors") or (1,)
        # What varies; what is typed wrongly is said, and then nothing does.
        field, values = data.get("sweep_field"), data.get("sweep_values")
        if not field:
            if values:
                self.add_error("sweep_field", "Choose what these values are of.")
            sweep = Sweep(INJECTORS, counts) if len(counts) > 1 else None
        else:
            if len(counts) > 1:
                self.add_error(
                    "injectors", "Sweep one number at a time: use one number of injectors."
                )
            elif not values and "sweep_values" not in self.errors:
                self.add_error("sweep_values", "Enter the values of the sweep.")
            sweep = Sweep(field, values) if values and len(counts) == 1 else None
        n_tests = len(keys or ()) * (len(sweep.values) if sweep else 1)
        n_tests += data.get("reference", False)
        if n_tests * repeats > MAX_RUNS:
            self.add_error(
                "repeats",
                f"{n_tests} tests × {repeats} are {n_tests * repeats:,} runs; at most "
                f"{MAX_RUNS:,}. Use fewer repeats, or create two campaigns.",
            )
        if keys:
            plans = {self.grid.cells[key][0] for key in keys}
            faults = (
                f"{plan.version} {fault}."
                for plan in plans
                for count in counts
                if (fault := share_fault(plan.plan.load, count))
            )
            if sentence := next(faults, None):
                self.add_error("injectors", sentence)
        if keys and sweep and sweep.field != INJECTORS:
            self._check_values(keys, sweep)
        return data

    def _check_values(self, keys: list[str], sweep: Sweep) -> None:
        for plan in {self.grid.cells[key][0] for key in keys}:
            for value in sweep.values:
                try:
                    swept_plan(plan.plan, sweep.field, value)
                except Refused as refusal:
                    self.add_error("sweep_values", f"{plan.version}: {refusal}")
                    return

    @property
    def cells(self) -> list[str]:
        """The keys of the tests, in the order of the grid."""
        return [key for key in self.combinations if key not in self.picks.left_out]

    @property
    def is_advanced(self) -> bool:
        """Whether a field that stands under Advanced has another value than usual, or a fault."""
        names = [name for name in _ADVANCED if name in self.fields]
        plain = {None, "", False}
        return any(
            self.errors.get(name)
            or (
                str(value := self[name].value()) != str(usual := self.fields[name].initial)
                and not {value, usual} <= plain
            )
            for name in names
        )

    def known(self) -> dict[str, Any]:
        """All usable values, even while others are invalid: the input of the estimate."""
        self.is_valid()
        defaults = {name: field.initial for name, field in self.fields.items()}
        usable = {**defaults, **self.initial, **getattr(self, "cleaned_data", {})}
        if isinstance(usable["injectors"], str):
            usable["injectors"] = self.fields["injectors"].clean(usable["injectors"])
        field, values = usable["sweep_field"], usable["sweep_values"]
        if isinstance(values, str):
            values = self.fields["sweep_values"].clean(values)
        sweep = Sweep(field, values) if field and values else Sweep(INJECTORS, usable["injectors"])
        return {**usable, "cells": self.cells, "sweep": sweep}

    def known_cells(self) -> list[CampaignCell]:
        """The tests of all usable values, without those that cannot have a value of the sweep."""
        values = self.known()
        cells_of_form = [self.grid.cells[key] for key in values["cells"]]
        cells = [CampaignCell(row.version, arm.endpoint, arm.mode) for row, arm in cells_of_form]
        right = []
        for value in values["sweep"].values:
            with suppress(Refused):
                sweep = Sweep(values["sweep"].field, (value,))
                of_value = cells_of_sweep(cells, values["injectors"][0], sweep)
                right += [cell for cell in of_value if cell.plan()]
        return right

    def fields_of_service(self) -> dict[str, Any]:
        """The arguments of services.campaigns.create_campaign."""
        values = {name: self.cleaned_data[name] for name in self.fields if name not in _PICKS}
        cells = [self.grid.cells[key] for key in self.cells]
        counts = values.pop("injectors")
        field, swept = values.pop("sweep_field"), values.pop("sweep_values")
        return {
            **values,
            "name": values["name"] or self.usual_name,
            "injectors": counts[0],
            "sweep": Sweep(field, swept) if field else Sweep(INJECTORS, counts),
            "cells": [CampaignCell(plan.version, arm.endpoint, arm.mode) for plan, arm in cells],
            "practical_threshold": values["practical_threshold"] / 100,
        }

    @property
    def tests(self) -> list[tuple[str, GridPlan, Arm, bool]]:
        """(key, plan, arm, whether it is left out) of all combinations."""
        left_out = self.picks.left_out
        return [(key, *self.grid.cells[key], key in left_out) for key in self.combinations]

    @property
    def usual_name(self) -> str:
        """What it is called where nobody names it: What does HTTPS cost? shop-api"""
        cells = [self.grid.cells[key] for key in self.cells]
        if not cells:
            return "New campaign"
        plans = _names("plans", (row.version.plan.name for row, _ in cells))
        targets = _names("targets", (arm.endpoint.target.name for _, arm in cells))
        question = QUESTION_TITLES.get(self["question"].value() or "")
        return f"{question or f'{plans} on'} {targets}"[:150]


def _names(nouns: str, names: Iterable[str]) -> str:
    """Two by name, more by their number."""
    different = list(dict.fromkeys(names))
    return and_joined(different) if len(different) < 3 else counted(len(different), nouns)
