"""The forms of a protocol ladder and of a search for a capacity. Messages say what to enter."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from django import forms

from campaigns.domain.plan.http_version import HttpVersion
from campaigns.domain.plan.load import MAX_RATE_PER_S
from campaigns.domain.plan.rungs import RUNGS, USUAL_RUNGS, Rung, rung_of_profile
from campaigns.domain.plan.search_start import rules_of_text
from campaigns.domain.plan.threshold import EXAMPLES
from campaigns.domain.plan.tls_options import TlsProfile
from campaigns.domain.presentation.ladder import SECTION_TITLES
from campaigns.domain.typed_text import per_second_in, seconds_in
from campaigns.forms.filters import CHOOSE_ENDPOINT, ENDPOINT_GONE, PLAN_GONE, name_field
from campaigns.forms.requests import CheckedForm, amount_field, number_field
from campaigns.models import Endpoint, PlanVersion
from campaigns.queries.campaign_grid import Arm, Grid, GridPlan
from campaigns.services.blocks import MAX_REPEATS, CampaignCell
from campaigns.services.campaigns import MAX_INJECTORS, MAX_PAUSE_S
from campaigns.services.searches import LONGEST_SEARCH_S, LONGEST_TRIAL_S, SHORTEST_TRIAL_S

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
