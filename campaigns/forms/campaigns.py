"""The form of a new campaign: what is measured, where and how. Messages say what to enter."""

import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

from django import forms
from django.utils.timesince import timesince

from campaigns.domain.errors import Refused
from campaigns.domain.metrics.perf_counts import PerfOf
from campaigns.domain.plan.injectors import share_fault
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.plan.sweep import (
    INJECTORS,
    MAX_POINTS,
    Sweep,
    fields_used_by,
    swept_plan,
    values_of_text,
)
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.plan.turns import LONGEST_LIMIT_S
from campaigns.domain.presentation.what_to_do import QUESTION_TITLES
from campaigns.domain.typed_text import seconds_in
from campaigns.domain.units import and_joined, counted
from campaigns.forms.filters import name_field
from campaigns.forms.requests import CheckedForm, amount_field, number_field
from campaigns.models import Campaign, Endpoint, Target
from campaigns.queries.campaign_grid import Arm, Grid, GridPlan, Picks, endpoints_to_propose
from campaigns.queries.references import why_no_reference
from campaigns.services.blocks import MAX_REPEATS, MAX_RUNS, CampaignCell, cells_of_sweep
from campaigns.services.campaigns import MAX_INJECTORS, MAX_PAUSE_S


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


class PicksField(forms.MultipleChoiceField):
    """Keys of rows: too many to be listed as choices."""

    _GONE = "What you chose has been archived. Choose again."

    def __init__(self, *, is_strict: bool = False, **more: Any):
        super().__init__(required=False, **more)
        self.keys: Collection[str] = ()
        self._is_strict = is_strict

    def known(self, values: Iterable[str]) -> list[str]:
        return [each for each in dict.fromkeys(values) if each in self.keys]

    def clean(self, value: Any) -> list[str]:
        known = self.known(value or ())
        if self._is_strict and len(known) < len(set(value or ())):
            raise forms.ValidationError(self._GONE)
        return known


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
_MODES = {
    ConnectionMode.NEW: "New for each request",
    ConnectionMode.RESUMED: "Resumed TLS sessions",
    ConnectionMode.KEEP_ALIVE: "Keep-alive",
}


class Option(NamedTuple):
    """A row or chip of a picker. `why_not`: it cannot be used."""

    key: str
    name: str
    words: str
    is_on: bool
    why_not: str = ""


class Picker(NamedTuple):
    """A list to choose one from, or several where `is_several`."""

    field: str
    noun: str
    options: Sequence[Option]
    errors: Sequence[str]
    is_several: bool
    is_open: bool

    @property
    def chosen(self) -> list[Option]:
        return [each for each in self.options if each.is_on]


class CampaignForm(CheckedForm):
    """Takes a `grid`; what is measured are all combinations of its pickers but those `left_out`.
    `seed` fixes the order. `offered`: the targets whose endpoints the page had."""

    refused_at = "plans"

    name = name_field("campaign", required=False)
    question = forms.CharField(required=False, max_length=10, widget=forms.HiddenInput)
    plans = PicksField(is_strict=True)
    targets = PicksField(is_strict=True)
    endpoints = PicksField(is_strict=True)
    modes = PicksField(label="Connections")
    left_out = PicksField()
    offered = PicksField()
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
        forms.FloatField,
        0,
        99,
        initial=5,
        label="Ignore differences below",
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
        super().__init__(*args, **kwargs)
        self.grid = grid
        targets = {str(each.pk) for each in grid.targets}
        self.fields["plans"].keys = {str(row.version.pk) for row in grid.plans}
        self.fields["targets"].keys = self.fields["offered"].keys = targets
        self.fields["endpoints"].keys = {str(arm.endpoint.pk) for arm in grid.arms}
        self.fields["modes"].keys = set(map(str, ConnectionMode))
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
        cleaned = super().clean()
        keys, repeats = self.cells, cleaned.get("repeats") or 1
        self._check_picks(keys)
        counts = cleaned.get("injectors") or (1,)
        sweep = self._sweep(cleaned, counts)
        n_tests = len(keys or ()) * (len(sweep.values) if sweep else 1)
        n_tests += cleaned.get("reference", False)
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
        return cleaned

    def _sweep(self, cleaned: dict[str, Any], counts: Sequence[int]) -> Sweep | None:
        """What varies; what is typed wrongly is said, and then nothing does."""
        field, values = cleaned.get("sweep_field"), cleaned.get("sweep_values")
        if not field:
            if values:
                self.add_error("sweep_field", "Choose what these values are of.")
            return Sweep(INJECTORS, counts) if len(counts) > 1 else None
        if len(counts) > 1:
            self.add_error("injectors", "Sweep one number at a time: use one number of injectors.")
        elif not values and "sweep_values" not in self.errors:
            self.add_error("sweep_values", "Enter the values of the sweep.")
        return Sweep(field, values) if values and len(counts) == 1 else None

    def _check_values(self, keys: list[str], sweep: Sweep) -> None:
        for plan in {self.grid.cells[key][0] for key in keys}:
            for value in sweep.values:
                try:
                    swept_plan(plan.plan, sweep.field, value)
                except Refused as refusal:
                    self.add_error("sweep_values", f"{plan.version}: {refusal}")
                    return

    def _check_picks(self, keys: Sequence[str]) -> None:
        """Says of the first picker that has nothing what is missing."""
        picks = self.picks
        if not picks.plans:
            self.add_error("plans", "Choose a plan.")
        elif not picks.targets:
            self.add_error("targets", "Choose a target.")
        elif not picks.endpoints:
            self.add_error("endpoints", "Choose at least one endpoint.")
        elif not picks.modes:
            self.add_error("modes", "Choose at least one kind of connection.")
        elif not keys:
            self.add_error("endpoints", "No chosen plan can use these endpoints and connections.")

    @cached_property
    def picks(self) -> Picks:
        """What is chosen. A target that was chosen just now comes with the endpoints that fit."""
        if not self.is_bound:
            return Picks(*(self.initial.get(name, ()) for name in Picks._fields))
        found = Picks(*(self.fields[name].known(self.data.getlist(name)) for name in Picks._fields))
        rows = [row for row in self.grid.plans if str(row.version.pk) in found.plans]
        offered, endpoints = self.data.getlist("offered"), []
        for target in self._chosen_targets(found):
            here = self.grid.endpoints_of(target)
            if str(target.pk) not in offered:
                here = endpoints_to_propose(self.grid, target, rows, self.data.get("question", ""))
                endpoints += [str(each.pk) for each in here]
            else:
                endpoints += [str(e.pk) for e in here if str(e.pk) in found.endpoints]
        return found._replace(endpoints=endpoints)

    def _chosen_targets(self, picks: Picks) -> list[Target]:
        return [each for each in self.grid.targets if str(each.pk) in picks.targets]

    @cached_property
    def combinations(self) -> list[str]:
        """The keys of all tests that the pickers make, those that are left out too."""
        return self.grid.cells.combined(self.picks)

    @property
    def cells(self) -> list[str]:
        """The keys of the tests, in the order of the grid."""
        return [key for key in self.combinations if key not in self.picks.left_out]

    @property
    def plan_picker(self) -> Picker:
        chosen, rows = self.picks.plans, self.grid.recent_plans
        names = Counter(row.version.plan.name for row in rows)
        named = (
            (str(v.pk), str(v) if names[v.plan.name] > 1 else v.plan.name, row)
            for row in rows
            for v in (row.version,)
        )
        return self._picker(
            "plans",
            (Option(key, name, row.words, key in chosen) for key, name, row in named),
        )

    @property
    def target_picker(self) -> Picker:
        chosen, measured_at = self.picks.targets, self.grid.measured_at

        def words(target: Target) -> str:
            hosts = dict.fromkeys(each.host for each in self.grid.endpoints_of(target))
            at = measured_at.get(target.pk)
            when = [f"last measured {timesince(at, depth=1)} ago"] if at else []
            return " · ".join([", ".join(hosts), *when])

        rows = self.grid.recent_targets
        return self._picker(
            "targets",
            (Option(str(e.pk), e.name, words(e), str(e.pk) in chosen) for e in rows),
        )

    def _picker(self, field: str, options: Iterable[Option]) -> Picker:
        """`pick` is the button *Add another*; the question of the faster one needs two targets."""
        wanted = self.data.get("pick") if self.is_bound else None
        is_asked = field == "targets" and self["question"].value() == "faster"
        is_several = wanted == field or is_asked or len(getattr(self.picks, field)) > 1
        errors = self.errors.get(field, ())
        return Picker(field, field[:-1], list(options), errors, is_several, wanted == field)

    @property
    def endpoint_rows(self) -> list[tuple[Target, list[Option]]]:
        """The endpoints of each chosen target."""
        picks = self.picks
        rows = [row for row in self.grid.plans if str(row.version.pk) in picks.plans]
        names = and_joined([f"“{row.version.plan.name}”" for row in rows]) if rows else ""
        sent = "messages" if all(row.is_websocket for row in rows) else "HTTP requests"

        def option(each: Endpoint, is_spread: bool) -> Option:
            speaks = each.scheme in WEBSOCKET_SCHEMES
            fits = not rows or any(row.is_websocket == speaks for row in rows)
            scheme = each.scheme.upper()
            what = f"{names} sends {sent}" if len(rows) == 1 else f"{names} send {sent}"
            why = "" if fits else f"{scheme} isn't available: {what}."
            is_on = fits and str(each.pk) in picks.endpoints
            profile = f" {each.tls_profile}" if each.tls_profile else ""
            words = f"{each.host if is_spread else ''}:{each.port}{profile}"
            return Option(str(each.pk), each.scheme, words, is_on, why)

        found = []
        for target in self._chosen_targets(picks):
            here = self.grid.endpoints_of(target)
            is_spread = len({each.host for each in here}) > 1  # a port tells them apart no longer
            found.append((target, [option(each, is_spread) for each in here]))
        return found

    @property
    def mode_options(self) -> list[Option]:
        picks = self.picks
        there = {arm.mode for arm in self.grid.arms if str(arm.endpoint.pk) in picks.endpoints}
        needs = {
            ConnectionMode.RESUMED: "Resumed TLS sessions need an HTTPS or WSS endpoint.",
            ConnectionMode.KEEP_ALIVE: "Keep-alive needs an HTTP or HTTPS endpoint.",
        }
        return [
            Option(
                str(mode),
                words,
                "",
                mode in picks.modes,
                needs.get(mode, "") if picks.endpoints and mode not in there else "",
            )
            for mode, words in _MODES.items()
        ]

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
        known = self.known()
        ticked = [self.grid.cells[key] for key in known["cells"]]
        cells = [CampaignCell(row.version, arm.endpoint, arm.mode) for row, arm in ticked]
        found = []
        for value in known["sweep"].values:
            with suppress(Refused):
                sweep = Sweep(known["sweep"].field, (value,))
                of_value = cells_of_sweep(cells, known["injectors"][0], sweep)
                found += [cell for cell in of_value if cell.plan()]
        return found

    def fields_of_service(self) -> dict[str, Any]:
        """The arguments of services.campaigns.create_campaign."""
        values = {name: self.cleaned_data[name] for name in self.fields if name not in _PICKS}
        ticked = [self.grid.cells[key] for key in self.cells]
        counts = values.pop("injectors")
        field, swept = values.pop("sweep_field"), values.pop("sweep_values")
        return {
            **values,
            "name": values["name"] or self.usual_name,
            "injectors": counts[0],
            "sweep": Sweep(field, swept) if field else Sweep(INJECTORS, counts),
            "cells": [CampaignCell(plan.version, arm.endpoint, arm.mode) for plan, arm in ticked],
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
