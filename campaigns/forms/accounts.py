"""Forms of the user's own account: sign-in, password, tokens."""

from django import forms
from django.contrib.auth.forms import AuthenticationForm

from campaigns.permissions import Scope

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
