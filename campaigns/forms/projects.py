"""Forms of projects and their members."""

from django import forms

from campaigns.permissions import Role

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
