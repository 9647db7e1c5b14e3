"""The forms of a protocol ladder and of a search for a capacity. Messages say what to enter."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from django import forms

from campaigns.campaigns.forms.pickers import PickerFields
from campaigns.campaigns.queries.campaign_grid import Arm, Grid, GridPlan
from campaigns.campaigns.queries.cells import MAX_REPEATS, CampaignCell
from campaigns.campaigns.services.campaigns import MAX_INJECTORS, MAX_PAUSE_S
from campaigns.core.forms import amount_field, number_field, text_field, text_widget
from campaigns.domain.plan.load import MAX_RATE_PER_S
from campaigns.domain.plan.presets import rules_of_text
from campaigns.domain.plan.rungs import RUNGS, USUAL_RUNGS, Rung, rung_of_profile
from campaigns.domain.plan.session import HttpVersion
from campaigns.domain.plan.threshold import EXAMPLES
from campaigns.domain.plan.tls_options import TlsProfile
from campaigns.domain.presentation.ladder import SECTION_TITLES
from campaigns.domain.typed_text import per_second_in, seconds_in
from campaigns.items.forms import name_field
from campaigns.models import Endpoint, PlanVersion
from campaigns.search.services import LONGEST_SEARCH_S, LONGEST_TRIAL_S, SHORTEST_TRIAL_S

_NAMED = "Leave empty for the question and the target."
# The fields on which the estimate depends.
_COSTS = ("rungs", "repeats", "pause_s")


class LadderForm(PickerFields):
    """Takes the project's own TLS `profiles`, too: they are rungs. Of the `grid` it offers plans of
    HTTP/1.1 and each HTTPS origin once."""

    field_of: ClassVar = {"version": "plans", "endpoint": "endpoints"}
    is_single, has_modes = True, False

    name = name_field("ladder", required=False, help_text=_NAMED)
    rungs = forms.MultipleChoiceField(
        initial=list(USUAL_RUNGS), error_messages={"required": "Tick at least two rungs."}
    )
    repeats = number_field(
        forms.IntegerField, 1, MAX_REPEATS, required=False, label="Repeats",
        help_text="Leave empty for one pass side by side, or five blocks."
    )  # fmt: skip
    pause_s = amount_field(seconds_in, 0, MAX_PAUSE_S, initial=1, label="Pause between runs")

    def __init__(self, *args, grid: Grid, profiles: Sequence[TlsProfile] = (), **kwargs):
        super().__init__(*args, grid=_grid_of_ladders(grid), **kwargs)
        own = {rung.key: rung for rung in map(rung_of_profile, profiles)}
        self.offered_rungs = {**RUNGS, **own}
        choices = [(key, rung.title) for key, rung in self.offered_rungs.items()]
        self.fields["rungs"].choices = choices

    def clean(self) -> dict[str, Any]:
        self.check_picks(())
        return super().clean()

    @property
    def version(self) -> PlanVersion | None:
        picks = self.picks.plans
        rows = (row.version for row in self.grid.plans if str(row.version.pk) in picks)
        return next(rows, None)

    @property
    def endpoint(self) -> Endpoint | None:
        picks = self.picks.endpoints
        return next((a.endpoint for a in self.grid.arms if str(a.endpoint.pk) in picks), None)

    @property
    def usual_name(self) -> str:
        target = self.endpoint and self.endpoint.target.name
        return f"What does each layer cost{f' {target}' if target else ''}?"[:150]

    @property
    def sections(self) -> list[tuple[str, list[tuple[Rung, bool]]]]:
        """(title, [(rung, is it ticked)]) in the order of the ladder."""
        keys = set(self["rungs"].value() or ())
        by_section: dict[str, list[tuple[Rung, bool]]] = {}
        for key, rung in self.offered_rungs.items():
            of_section = by_section.setdefault(SECTION_TITLES[rung.section], [])
            of_section.append((rung, key in keys))
        return list(by_section.items())

    def known(self) -> dict[str, Any]:
        """What has been filled in so far; what is missing or wrong as it was at first."""
        values = {name: self.get_initial_for_field(self.fields[name], name) for name in _COSTS}
        if self.is_bound:
            self.is_valid()
            costs = {name: self.cleaned_data[name] for name in _COSTS if name in self.cleaned_data}
            values |= {"rungs": [], **costs}
        return {
            "version": self.version,
            "endpoint": self.endpoint,
            "rungs": [self.offered_rungs[key] for key in values["rungs"]],
            "repeats": values["repeats"],
            "pause_s": values["pause_s"],
        }

    def fields_of_service(self) -> dict[str, Any]:
        """The arguments of services.searches.start_ladder."""
        names = ("rungs", "repeats", "pause_s")
        return {
            **{name: self.cleaned_data[name] for name in names},
            "name": self.cleaned_data["name"] or self.usual_name,
            "version": self.version,
            "endpoint": self.endpoint,
        }


def _grid_of_ladders(grid: Grid) -> Grid:
    """Plans that a ladder can be made of, HTTP/1.1 and no WebSocket; and each HTTPS origin of a
    target once, with the standard TLS profile where it has one."""
    plans = [
        row
        for row in grid.plans
        if row.plan.exchange is None and row.plan.http_version == HttpVersion.HTTP_1_1
    ]
    https = {arm.endpoint for arm in grid.arms if arm.endpoint.scheme == "https"}
    by_origin: dict[tuple[int, str], Endpoint] = {}
    for each in sorted(https, key=lambda each: (each.tls_profile, each.pk)):
        by_origin.setdefault((each.target_id, each.origin), each)
    pks = {each.pk for each in by_origin.values()}
    arms = tuple(arm for arm in grid.arms if arm.endpoint.pk in pks)
    targets = {arm.endpoint.target_id for arm in arms}
    return replace(
        grid,
        plans=tuple(plans),
        arms=arms,
        targets=tuple(each for each in grid.targets if each.pk in targets),
    )


class SearchForm(PickerFields):
    """Of one plan on one endpoint in one mode."""

    field_of: ClassVar = {"longest_s": "longest_min", "cell": "plans"}
    is_single = True

    name = name_field("search", required=False, help_text=_NAMED)
    objective = text_field(
        "Objective",
        text_widget("input-wide"),
        2000,
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

    def clean(self) -> dict[str, Any]:
        self.check_picks(self.combinations)
        return super().clean()

    def cell(self) -> tuple[GridPlan, Arm] | None:
        """What is chosen; None if the two do not fit."""
        return next((self.grid.cells[key] for key in self.combinations), None)

    @property
    def usual_name(self) -> str:
        cell = self.cell()
        return f"How much can {cell[1].endpoint.target.name if cell else 'it'} handle?"[:150]

    def known(self) -> dict[str, Any]:
        """All usable values, even while others are invalid: the input of the estimate."""
        defaults = {name: field.initial for name, field in self.fields.items()}
        return {**defaults, **self.initial, **getattr(self, "cleaned_data", {})}

    def fields_of_service(self) -> dict[str, Any]:
        """The arguments of services.searches.start_search."""
        plan, arm = self.cell()
        names = ("start_per_s", "limit_per_s", "trial_s")
        values = self.cleaned_data
        return {
            **{name: values[name] for name in names},
            "name": values["name"] or self.usual_name,
            "cell": CampaignCell(plan.version, arm.endpoint, str(arm.mode), values["injectors"]),
            "objective": rules_of_text(values["objective"]),
            "longest_s": values["longest_min"] * 60,
        }
