"""Forms of one's own account: sign-in, password, tokens."""

from django import forms
from django.contrib.auth.forms import AuthenticationForm

from campaigns.permissions import Scope

SCOPES = [
    (Scope.READ, "Read: results, targets, plans"),
    (Scope.RUN, "Run: also start and stop campaigns"),
    (Scope.WRITE, "Write: also make and change targets, plans, campaigns"),
]


class SignInForm(AuthenticationForm):
    error_messages = {
        "invalid_login": "User name and password do not fit together; capitals count in both.",
        "inactive": "This account is switched off.",
    }


class TokenForm(forms.Form):
    name = forms.CharField(
        max_length=100,
        widget=forms.TextInput(attrs={"class": "input-medium", "autocomplete": "off"}),
        help_text="What will use it, such as “nightly build”.",
    )
    scope = forms.ChoiceField(
        choices=SCOPES, help_text="A token never may more than you may yourself."
    )
    days = forms.IntegerField(
        min_value=1,
        max_value=365,
        initial=90,
        label="Valid for",
        help_text="After this many days it stops working by itself.",
    )
