"""A schedule's form reads like a sentence: Run CAMPAIGN every DAY at 02:00 in ZONE."""

from typing import Any
from zoneinfo import available_timezones

from django import forms

from campaigns.core.forms import CheckedForm, number_field, text_field, text_widget
from campaigns.domain.timetable import DAYS, LONGEST_CRON, daily_cron, read_daily
from campaigns.models import Campaign, Schedule
from campaigns.schedules.models import LONGEST_RESULT_H

MOST_TEMPLATES = 100
_CRON = "cron"
_EVERY = [*((key, key) for key in DAYS), (_CRON, "cron expression")]


class _TemplateField(forms.ModelChoiceField):
    def label_from_instance(self, campaign: Campaign) -> str:
        state = f"of {campaign.started_at:%-d %b}" if campaign.started_at else "draft"
        return f"{campaign.name} ({state})"


class ScheduleForm(CheckedForm):
    template = _TemplateField(
        queryset=None,
        label="Run",
        empty_label="a campaign",
        error_messages={"required": "Choose a campaign."},
    )
    every = forms.ChoiceField(choices=_EVERY, label="every")
    at = forms.TimeField(
        label="at",
        initial="02:00",
        required=False,
        widget=forms.TimeInput(attrs={"type": "time", "class": "input-number"}, format="%H:%M"),
    )
    cron = text_field(
        "cron expression", text_widget("input-name", placeholder="0 2 * * 1-5"), LONGEST_CRON
    )
    zone = forms.ChoiceField(label="Time zone")
    name = forms.CharField(
        max_length=150,
        widget=text_widget("input-name"),
        help_text="Its campaigns have this name, too.",
    )
    when_quiet = forms.BooleanField(
        required=False, initial=True, label="Wait up to 30 min for a quiet machine"
    )
    result_within_h = number_field(
        forms.IntegerField,
        1,
        LONGEST_RESULT_H,
        initial=6,
        label="Expect a result within",
        help_text="The schedule counts as silent if no usable result arrives by then.",
    )

    def __init__(self, *args: Any, templates, zone: str, **kwargs: Any):
        """`templates`: campaigns to choose from; `zone`: the reader's."""
        super().__init__(*args, **kwargs)
        self.fields["template"].queryset = templates
        self.fields["zone"].choices = [(each, each) for each in sorted(available_timezones())]
        self.fields["zone"].initial = zone

    @classmethod
    def of(cls, schedule: Schedule, **given: Any) -> "ScheduleForm":
        every, at = read_daily(schedule.cron) or (_CRON, "02:00")
        values = forms.model_to_dict(schedule, [*cls.base_fields])
        return cls(initial={**values, "every": every, "at": at}, **given)

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        if data.get("every") != _CRON and data.get("at") is None and "at" not in self.errors:
            self.add_error("at", "Enter a time such as 02:00.")
        return data

    def fields_of_service(self) -> dict[str, Any]:
        data = dict(self.cleaned_data)
        every, at = data.pop("every"), data.pop("at")
        if every != _CRON:
            data["cron"] = daily_cron(every, at.hour, at.minute)
        return data
