"""The form of a search for a capacity. Error messages say what to enter."""

from typing import Any, ClassVar

from django import forms

from campaigns.domain.plan.load import MAX_RATE_PER_S
from campaigns.domain.plan.search_start import rules_of_text
from campaigns.domain.plan.threshold import EXAMPLES
from campaigns.forms.items import CHOOSE_ENDPOINT, ENDPOINT_GONE, PLAN_GONE, name_field
from campaigns.forms.requests import CheckedForm, number_field
from campaigns.queries.campaigns import Arm, Grid, GridPlan
from campaigns.services.blocks import CampaignCell
from campaigns.services.campaigns import MAX_INJECTORS
from campaigns.services.searches import LONGEST_SEARCH_S, LONGEST_TRIAL_S, SHORTEST_TRIAL_S


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
    start_per_s = number_field(
        forms.FloatField,
        0,
        MAX_RATE_PER_S,
        label="Start at",
        help_text="A rate that is kept easily. It is doubled until a trial fails.",
    )
    limit_per_s = number_field(forms.FloatField, 0, MAX_RATE_PER_S, label="Never above")
    trial_s = number_field(
        forms.FloatField,
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
        help_text="No trial begins that would end later. What is known by then is the answer.",
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
