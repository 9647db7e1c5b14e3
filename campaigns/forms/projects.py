"""Forms of projects: members, share links, caps."""

from django import forms
from django.conf import settings

from campaigns.domain.caps import PROJECT_CAPS, most_of
from campaigns.models import Project
from campaigns.permissions import Role
from campaigns.services.shares import MAX_DAYS


class CapsForm(forms.Form):
    """One field for each cap; empty means the installation's, 0 no cap."""

    def __init__(self, *args, project: Project, **kwargs):
        super().__init__(*args, initial=project.caps, **kwargs)
        for cap in PROJECT_CAPS:
            most = most_of(cap, settings.CAPS, {})
            of_all = "no cap" if most is None else cap.setting_words(most)
            self.fields[cap.name] = forms.IntegerField(
                label=f"{cap.title}, in percent" if cap.is_share else cap.title,
                required=False,
                min_value=0,
                max_value=cap.highest,
                widget=forms.NumberInput(attrs={"class": "input-number"}),
                help_text=f"Empty: {of_all}, as for all projects. 0: no cap.",
            )


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


ROLE_CHOICES = [(role, role.title()) for role in Role]


class ProjectForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        widget=forms.TextInput(attrs={"class": "input-name", "autocomplete": "off"}),
        help_text="The team or the product. Members see each other's targets, plans and results.",
    )


class MemberForm(forms.Form):
    username = forms.CharField(
        max_length=150,
        label="User name",
        widget=forms.TextInput(attrs={"class": "input-medium", "autocomplete": "off"}),
        help_text="The name they sign in with.",
    )
    role = forms.ChoiceField(choices=ROLE_CHOICES, initial=Role.EDITOR)


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=ROLE_CHOICES)
