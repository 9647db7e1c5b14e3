"""Forms of projects: members, share links, caps, the job of CI. Forms of the user's own account:
sign-in, password, tokens."""

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.core.exceptions import ValidationError

from campaigns.domain.caps import PROJECT_CAPS, most_of
from campaigns.domain.units import counted
from campaigns.models import Campaign, Project
from campaigns.permissions import Role, Scope
from campaigns.services.tokens import MAX_DAYS, live_tokens


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


AGAINST = {"baseline": "its baseline", "preview": "a preview, side by side"}
_SLOWER, _ERRORS = 5, 1


def _percent_field(words: str, initial: int) -> forms.FloatField:
    widget = forms.NumberInput(attrs={"class": "input-number", "aria-label": words, "step": "any"})
    return forms.FloatField(
        min_value=0, max_value=1000, initial=initial, required=False, widget=widget
    )


class JobForm(forms.Form):
    campaign = forms.ChoiceField(required=False, widget=forms.Select)
    against = forms.ChoiceField(required=False, choices=[*AGAINST.items()])
    slower = _percent_field("Percent slower", _SLOWER)
    errors_over = _percent_field("Percent of requests", _ERRORS)

    def __init__(self, data: Any, *, campaigns: Mapping[str, Campaign]):
        super().__init__(data)
        self.fields["campaign"].choices = [(name, name) for name in campaigns]
        for name, words in (("campaign", "Campaign"), ("against", "Compared with")):
            self.fields[name].widget.attrs["aria-label"] = words
        self._first = next(iter(campaigns), "")

    def job(self) -> dict[str, str]:
        """What is chosen; what is not, or is wrong, as it is proposed."""
        self.full_clean()
        chosen = getattr(self, "cleaned_data", {})
        numbers = {"slower": ("slower", _SLOWER), "errors": ("errors_over", _ERRORS)}
        return {
            "campaign": chosen.get("campaign") or self._first,
            "against": chosen.get("against") or "baseline",
            **{
                key: f"{usual if chosen.get(name) is None else chosen[name]:g}"
                for key, (name, usual) in numbers.items()
            },
        }


_LEAST = 6
_NO_LETTER = re.compile(r"[\W_]+")


class NotTheUserName:
    """Refuses chpass-chpass for chpass: without the name, six letters or digits must be left."""

    def validate(self, password: str, user=None) -> None:
        name = user.get_username() if user else ""
        if (
            name
            and len(_NO_LETTER.sub("", re.sub(re.escape(name), "", password, flags=re.IGNORECASE)))
            < _LEAST
        ):
            raise ValidationError(
                f"Without your user name this password has fewer than {_LEAST} letters and digits.",
                code="password_is_the_name",
            )

    def get_help_text(self) -> str:
        return f"Without your user name it has at least {_LEAST} letters and digits."


SCOPES = [
    (Scope.READ, "Read: results, targets, plans"),
    (Scope.RUN, "Run: also start and stop campaigns"),
    (Scope.WRITE, "Write: also create and edit targets, plans, campaigns"),
]


class SignInForm(AuthenticationForm):
    error_messages = {
        "invalid_login": "Wrong user name or password. Both are case-sensitive.",
        "inactive": "This account is disabled.",
    }


class NewPasswordForm(PasswordChangeForm):
    """Offers to revoke the user's API tokens: a new password alone does not end them."""

    revokes_tokens = forms.BooleanField(
        required=False,
        help_text="Otherwise tokens stay valid. Tick this if someone else may know your password.",
    )

    def __init__(self, user, *args, **kwargs):
        super().__init__(user, *args, **kwargs)
        if n := live_tokens(user).count():
            self.fields["revokes_tokens"].label = f"Also revoke {counted(n, 'API tokens')}"
        else:
            del self.fields["revokes_tokens"]


class TokenForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        widget=forms.TextInput(attrs={"class": "input-medium", "autocomplete": "off"}),
        help_text="What will use it, such as “nightly build”.",
    )
    scope = forms.ChoiceField(choices=SCOPES, help_text="A token never has more rights than you.")
    days = forms.IntegerField(
        min_value=1,
        max_value=365,
        initial=90,
        label="Expires after",
        help_text="The token expires after this many days.",
    )
