"""The form of a new campaign. Error messages say what to enter. The form of a protocol ladder. The
form of a search for a capacity. Error messages say what to enter."""

import secrets
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from django import forms

from campaigns.domain.errors import Refused
from campaigns.domain.metrics.perf_counts import PerfOf
from campaigns.domain.plan.http_version import HttpVersion
from campaigns.domain.plan.injectors import share_fault
from campaigns.domain.plan.load import MAX_RATE_PER_S
from campaigns.domain.plan.rungs import RUNGS, USUAL_RUNGS, Rung, rung_of_profile
from campaigns.domain.plan.search_start import rules_of_text
from campaigns.domain.plan.sweep import (
    INJECTORS,
    MAX_POINTS,
    Sweep,
    fields_used_by,
    swept_plan,
    values_of_text,
)
from campaigns.domain.plan.threshold import EXAMPLES
from campaigns.domain.plan.tls_options import TlsProfile
from campaigns.domain.plan.turns import LONGEST_LIMIT_S
from campaigns.domain.presentation.ladder import SECTION_TITLES
from campaigns.domain.typed_text import per_second_in, seconds_in
from campaigns.forms.filters import CHOOSE_ENDPOINT, ENDPOINT_GONE, PLAN_GONE, name_field
from campaigns.forms.requests import CheckedForm, amount_field, number_field
from campaigns.models import Campaign, Endpoint, PlanVersion
from campaigns.queries.campaigns import Arm, Grid, GridPlan
from campaigns.queries.references import why_no_reference
from campaigns.services.blocks import MAX_REPEATS, MAX_RUNS, CampaignCell, cells_of_sweep
from campaigns.services.campaigns import MAX_INJECTORS, MAX_PAUSE_S
from campaigns.services.searches import LONGEST_SEARCH_S, LONGEST_TRIAL_S, SHORTEST_TRIAL_S


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


class CellsField(forms.MultipleChoiceField):
    """Keys of a grid's cells, plans × arms: too many to be listed as choices."""

    cells: Collection[str] = ()

    def valid_value(self, value: str) -> bool:
        return value in self.cells


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


class CampaignForm(forms.Form):
    """Takes a `grid`; `cells` are its ticked keys, `seed` fixes the displayed order."""

    name = name_field("campaign")
    cells = CellsField(
        error_messages={
            "required": "Tick at least one cell: one tick is one test.",
            "invalid_choice": "A ticked plan or endpoint has been archived. Check the ticks.",
        }
    )
    order = forms.ChoiceField(
        required=False,
        choices=[("", Campaign.Order.SIDE_BY_SIDE.label), *Campaign.Order.choices[1:]],
        initial="",
        widget=forms.RadioSelect,
    )
    limit_s = amount_field(
        seconds_in,
        1,
        LONGEST_LIMIT_S,
        required=False,
        label="Measure at most",
        help_text="All arms of a plan together. Leave empty for 60 s, 10 s an arm, "
        "or 18 rounds at a low rate. Stages take their own time.",
    )
    until_settled = forms.BooleanField(
        required=False,
        initial=True,
        label="End when settled",
        help_text="The campaign ends as soon as its answer is clear.",
    )
    repeats = number_field(
        forms.IntegerField,
        1,
        MAX_REPEATS,
        required=False,
        help_text="Leave empty for one pass side by side, or five blocks. Blocks need at least "
        "three for a verdict.",
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
        help_text="The same number for every arm, so that the ratio does not measure the "
        "injectors. Several numbers, such as 1, 2, 4, 8, make a sweep: each ticked cell becomes "
        "one test per number, with a table and a curve.",
    )
    sweep_field = forms.ChoiceField(required=False, label="Sweep")
    sweep_values = ValuesField(
        required=False,
        label="Values",
        help_text=f"2 to {MAX_POINTS} values, such as 100, 200, 400, or a range: 100 to 800 step "
        "100. Each ticked cell becomes one test per value: the plan with this number replaced.",
    )
    practical_threshold = number_field(
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
    perf = forms.ChoiceField(
        required=False,
        choices=_PERF_CHOICES,
        initial=PerfOf.NONE,
        widget=forms.RadioSelect,
        label="perf stat",
    )
    profile = forms.BooleanField(
        required=False,
        label="perf record",
        help_text="Have the agent also record in which functions the CPU time goes, of what perf "
        "stat counts or else of the watched processes. It needs perf there.",
    )
    reference = forms.BooleanField(required=False, label="Reference")
    seed = forms.IntegerField(min_value=0, max_value=2**31, widget=forms.HiddenInput)

    def __init__(self, *args, grid: Grid, **kwargs):
        super().__init__(*args, **kwargs)
        self.grid = grid
        self.fields["cells"].cells = grid.cells
        if why_no_reference():
            del self.fields["reference"]
        self.fields["sweep_field"].choices = [
            ("", "Nothing, or the injectors above"),
            *(
                (each.key, f"{each.label}, {each.unit}" if each.unit else each.label)
                for each in fields_used_by([row.plan for row in grid.plans])
            ),
        ]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        keys, repeats = cleaned.get("cells"), cleaned.get("repeats") or 1
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
        cells = self.grid.cells.in_order(self.ticked())
        field, values = usable["sweep_field"], usable["sweep_values"]
        if isinstance(values, str):
            values = self.fields["sweep_values"].clean(values)
        sweep = Sweep(field, values) if field and values else Sweep(INJECTORS, usable["injectors"])
        return {**usable, "cells": cells, "sweep": sweep}

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

    def service_values(self) -> dict[str, Any]:
        """The arguments of services.campaigns.create_campaign."""
        values = dict(self.cleaned_data)
        ticked = [self.grid.cells[key] for key in self.grid.cells.in_order(values["cells"])]
        counts = values.pop("injectors")
        field, swept = values.pop("sweep_field"), values.pop("sweep_values")
        return {
            **values,
            "injectors": counts[0],
            "sweep": Sweep(field, swept) if field else Sweep(INJECTORS, counts),
            "cells": [CampaignCell(plan.version, arm.endpoint, arm.mode) for plan, arm in ticked],
            "practical_threshold": values["practical_threshold"] / 100,
            "keeps_going": values["keeps_going"],
        }


# The fields on which the estimate depends.
_COSTS = ("plan", "endpoint", "rungs", "repeats", "pause_s")


class LadderForm(CheckedForm):
    """Takes a `grid`, the plans and arms of the project, and its own TLS `profiles`: rungs too."""

    field_of: ClassVar = {"version": "plan"}

    name = name_field("ladder")
    plan = forms.ChoiceField(
        label="Plan",
        help_text="What is sent on every rung, and how hard. Rungs of HTTP/2 send the same by a "
        "plan of their own.",
        error_messages=PLAN_GONE,
    )
    endpoint = forms.ChoiceField(
        label="Endpoint",
        help_text="Rungs of other TLS profiles get endpoints of the same address.",
        error_messages=ENDPOINT_GONE,
    )
    rungs = forms.MultipleChoiceField(
        initial=list(USUAL_RUNGS), error_messages={"required": "Tick at least two rungs."}
    )
    repeats = number_field(
        forms.IntegerField, 1, MAX_REPEATS, required=False, label="Repeats",
        help_text="Leave empty for one pass side by side, or five blocks."
    )  # fmt: skip
    pause_s = amount_field(seconds_in, 0, MAX_PAUSE_S, initial=1, label="Pause between runs")

    def __init__(self, *args, grid: Grid, profiles: Sequence[TlsProfile] = (), **kwargs):
        super().__init__(*args, **kwargs)
        own = {rung.key: rung for rung in map(rung_of_profile, profiles)}
        self.offered = {**RUNGS, **own}
        self.fields["rungs"].choices = [(key, rung.title) for key, rung in self.offered.items()]
        self.versions = {str(version.pk): version for version in _plans(grid)}
        self.endpoints = {str(each.pk): each for each in _endpoints(grid)}
        self.fields["plan"].choices = [(pk, v.plan.name) for pk, v in self.versions.items()]
        choices = [(pk, each.named) for pk, each in self.endpoints.items()]
        self.fields["endpoint"].choices = [("", CHOOSE_ENDPOINT), *choices]

    @property
    def sections(self) -> list[tuple[str, list[tuple[Rung, bool]]]]:
        """(title, [(rung, is it ticked)]) in the order of the ladder."""
        ticked = set(self["rungs"].value() or ())
        found: dict[str, list[tuple[Rung, bool]]] = {}
        for key, rung in self.offered.items():
            of_section = found.setdefault(SECTION_TITLES[rung.section], [])
            of_section.append((rung, key in ticked))
        return list(found.items())

    def known(self) -> dict[str, Any]:
        """What has been filled in so far; what is missing or wrong as it was at first."""
        found = {name: self.get_initial_for_field(self.fields[name], name) for name in _COSTS}
        if self.is_bound:
            self.is_valid()
            typed = {name: self.cleaned_data[name] for name in _COSTS if name in self.cleaned_data}
            found |= {"rungs": [], **typed}
        return {
            "version": self.versions.get(found["plan"]),
            "endpoint": self.endpoints.get(found["endpoint"]),
            "rungs": [self.offered[key] for key in found["rungs"]],
            "repeats": found["repeats"],
            "pause_s": found["pause_s"],
        }

    def fields_of_service(self) -> dict[str, Any]:
        """The arguments of services.searches.start_ladder."""
        values = dict(self.cleaned_data)
        version, endpoint = values.pop("plan"), values.pop("endpoint")
        return {
            **values,
            "version": self.versions[version],
            "endpoint": self.endpoints[endpoint],
        }


def _plans(grid: Grid) -> Iterator[PlanVersion]:
    """Those that a ladder can be made of: HTTP/1.1, no WebSocket."""
    for row in grid.plans:
        if row.plan.exchange is None and row.plan.http_version == HttpVersion.HTTP_1_1:
            yield row.version


def _endpoints(grid: Grid) -> Iterator[Endpoint]:
    """Each HTTPS origin of a target once, with the standard TLS profile where it has one."""
    https = {arm.endpoint for arm in grid.arms if arm.endpoint.scheme == "https"}
    seen = set()
    for each in sorted(https, key=lambda each: (each.target.name, each.tls_profile, each.pk)):
        if (each.target_id, each.origin) not in seen:
            seen.add((each.target_id, each.origin))
            yield each


class SearchForm(CheckedForm):
    """Takes a `grid`: the plans and arms of the project."""

    field_of: ClassVar = {"longest_s": "longest_min", "cell": "plan"}
    refused_at = "plan"

    name = name_field("search")
    plan = forms.ChoiceField(
        label="Plan",
        help_text="What is sent. The search replaces the plan's load by a rate of its own.",
        error_messages=PLAN_GONE,
    )
    arm = forms.ChoiceField(label="Endpoint", error_messages=ENDPOINT_GONE)
    objective = forms.CharField(
        label="Objective",
        required=False,
        max_length=2000,
        widget=forms.TextInput(attrs={"class": "input-wide", "autocomplete": "off"}),
        help_text=f"What every trial must keep: {EXAMPLES}. Empty: the plan's thresholds.",
    )
    start_per_s = amount_field(
        per_second_in,
        0,
        MAX_RATE_PER_S,
        label="Start at",
        help_text="Start low. We double the rate until a trial fails.",
    )
    limit_per_s = amount_field(per_second_in, 0, MAX_RATE_PER_S, label="Never above")
    trial_s = amount_field(
        seconds_in,
        int(SHORTEST_TRIAL_S),
        int(LONGEST_TRIAL_S),
        initial=20,
        label="One trial measures",
    )
    longest_min = number_field(
        forms.FloatField,
        1,
        LONGEST_SEARCH_S // 60,
        initial=60,
        label="Ends at the latest after",
        help_text="The search stops at this time and reports its best result.",
    )
    injectors = number_field(
        forms.IntegerField, 1, MAX_INJECTORS, initial=1, label="Injector processes"
    )

    def __init__(self, *args, grid: Grid, **kwargs):
        super().__init__(*args, **kwargs)
        self.cells = grid.cells
        spoken = {arm.is_websocket for arm in grid.arms}
        self.fields["plan"].choices = [
            (str(row.version.pk), row.version.plan.name)
            for row in grid.plans
            if row.is_websocket in spoken
        ]
        needed = {row.is_websocket for row in grid.plans}
        choices = [
            (arm.key, f"{arm.endpoint.named}, {arm.mode}")
            for arm in grid.arms
            if arm.is_websocket in needed
        ]
        self.fields["arm"].choices = [("", CHOOSE_ENDPOINT), *choices]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        if "plan" in cleaned and "arm" in cleaned and self.cell() is None:
            name = dict(self.fields["plan"].choices)[cleaned["plan"]]
            self.add_error("arm", f"{name} cannot be sent here: one speaks HTTP, one WebSocket.")
        return cleaned

    def cell(self) -> tuple[GridPlan, Arm] | None:
        """What is chosen; None if the two do not fit."""
        known = self.known()
        return self.cells.get(f"{known['plan']}.{known['arm']}")

    def known(self) -> dict[str, Any]:
        """All usable values, even while others are invalid: the input of the estimate."""
        defaults = {name: field.initial for name, field in self.fields.items()}
        return {**defaults, **self.initial, **getattr(self, "cleaned_data", {})}

    def fields_of_service(self) -> dict[str, Any]:
        """The arguments of services.searches.start_search."""
        values = dict(self.cleaned_data)
        plan, arm = self.cell()
        del values["plan"], values["arm"]
        injectors, longest_min = values.pop("injectors"), values.pop("longest_min")
        return {
            **values,
            "cell": CampaignCell(plan.version, arm.endpoint, str(arm.mode), injectors),
            "objective": rules_of_text(values["objective"]),
            "longest_s": longest_min * 60,
        }
