"""The filters of the history of runs."""

from django import forms

from campaigns.forms.campaigns import SINCE_DAYS, since_days
from campaigns.models import Project
from campaigns.queries.history import (
    HISTORY_STATES,
    MEASUREMENTS,
    PRECISIONS,
    TARGET_STATES,
    HistoryFilter,
)


class HistoryFilterForm(forms.Form):
    """An invalid value is ignored."""

    target = forms.TypedChoiceField(required=False, coerce=int, empty_value=None)
    plan = forms.TypedChoiceField(required=False, coerce=int, empty_value=None)
    campaign = forms.IntegerField(required=False, widget=forms.HiddenInput)
    state = forms.ChoiceField(required=False, choices=[("", "State: any"), *HISTORY_STATES.items()])
    measurement = forms.ChoiceField(
        required=False, choices=[("", "Measurement: any"), *MEASUREMENTS.items()]
    )
    target_state = forms.ChoiceField(
        required=False, choices=[("", "Target state: any"), *TARGET_STATES.items()]
    )
    precision = forms.ChoiceField(
        required=False, choices=[("", "Precision: any"), *PRECISIONS.items()]
    )
    since = forms.ChoiceField(
        required=False,
        choices=[("", "Since: any time"), *((d, f"Last {w}") for d, w in SINCE_DAYS.items())],
    )

    def __init__(self, *args, project: Project, **kwargs):
        super().__init__(*args, **kwargs)
        targets = project.targets.order_by("name").values_list("pk", "name")
        plans = project.plans.order_by("name").values_list("pk", "name")
        self.fields["target"].choices = [("", "Target: any"), *targets]
        self.fields["plan"].choices = [("", "Plan: any"), *plans]

    def chosen(self) -> HistoryFilter:
        self.is_valid()
        values = self.cleaned_data
        return HistoryFilter(
            target=values.get("target"),
            plan=values.get("plan"),
            campaign=values.get("campaign"),
            state=values.get("state", ""),
            measurement=values.get("measurement", ""),
            target_state=values.get("target_state", ""),
            precision=values.get("precision", ""),
            since=since_days(values.get("since", "")),
        )
