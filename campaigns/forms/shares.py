"""The form of a share link."""

from django import forms

from campaigns.services.shares import MAX_DAYS


class ShareForm(forms.Form):
    days = forms.IntegerField(
        label="Expires after",
        min_value=1,
        max_value=MAX_DAYS,
        initial=30,
        widget=forms.NumberInput(attrs={"class": "input-number"}),
        error_messages={"required": "Enter a number of days."},
    )
    shows_machines = forms.BooleanField(
        label="Addresses and machines",
        required=False,
        help_text="Show the target's address, and the facts about its and the injectors' machines.",
    )
    note = forms.CharField(
        label="Note",
        required=False,
        max_length=100,
        widget=forms.TextInput(attrs={"class": "input-name", "autocomplete": "off"}),
    )
