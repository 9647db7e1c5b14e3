"""What people type to sign in, of their own account, of members, and of the users of the site."""

import re

from allauth.account.adapter import get_adapter
from allauth.account.forms import ChangePasswordForm, LoginForm, SetPasswordForm
from allauth.core import context
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from axes.handlers.proxy import AxesProxyHandler
from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from campaigns.accounts.services import INVITATION_DAYS
from campaigns.accounts.tokens import MAX_DAYS, live_tokens
from campaigns.core.forms import CheckedForm, number_field, text_field, text_widget
from campaigns.core.permissions import Role, Scope
from campaigns.domain.units import counted

_LEAST = 6
_NO_LETTER = re.compile(r"[\W_]+")
_HINT = "At least 8 characters, not only digits, not a common word."


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


_NEW_PASSWORD = {"password1": "New password", "password2": "The same again"}


def _label(form: forms.Form, **labels: str) -> None:
    """In our words, which stand beside the field and not in it as well."""
    for name, label in labels.items():
        field = form.fields[name]
        field.label, field.help_text = label, ""
        field.widget.attrs.pop("placeholder", None)


# --- signing in ----------------------------------------------------------------------------------
class SignInForm(LoginForm):
    """allauth's `login` is sent as `username`, which scripts and password managers know."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        _label(self, login="User name", password="Password")  # noqa: S106 (a label)

    def add_prefix(self, field_name: str) -> str:
        return "username" if field_name == "login" else super().add_prefix(field_name)


class _LockedByAxes:
    """A locked name stays locked for codes, too, from the address that guessed."""

    def clean_code(self) -> str:
        credentials = {"username": self.user.get_username()}
        if not AxesProxyHandler.is_allowed(context.request, credentials):
            raise get_adapter().validation_error("too_many_login_attempts")
        return super().clean_code()


class CodeForm(_LockedByAxes, AuthenticateForm):
    pass


class ConfirmCodeForm(_LockedByAxes, ReauthenticateForm):
    pass


# --- one's own account ---------------------------------------------------------------------------
class FirstPasswordForm(SetPasswordForm):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        _label(self, **_NEW_PASSWORD)


class NewPasswordForm(ChangePasswordForm):
    """Offers to revoke the user's API tokens: a new password alone does not end them."""

    revokes_tokens = forms.BooleanField(
        required=False,
        help_text="Otherwise tokens stay valid. Tick this if someone else may know your password.",
    )

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        _label(self, oldpassword="Current password", **_NEW_PASSWORD)
        if n := live_tokens(self.user).count():
            self.fields["revokes_tokens"].label = f"Also revoke {counted(n, 'API tokens')}"
        else:
            del self.fields["revokes_tokens"]


class PasskeyForm(AddWebAuthnForm):
    """Each is a passkey, which signs in by itself; one that only confirms a password is not
    offered."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.fields["name"] = text_field(
            None, text_widget("input-medium"), 100, help_text="Such as the device that keeps it."
        )
        del self.fields["passwordless"]

    def clean(self):
        self.cleaned_data["passwordless"] = True  # so that it must have checked who uses it
        return super().clean()


def _name_field(help_text: str = "") -> forms.CharField:
    widget = text_widget("input-medium", autocomplete="name")
    return text_field("Display name", widget, 150, help_text=help_text)


def _email_field(autocomplete: str) -> forms.EmailField:
    attrs = {"class": "input-medium", "autocomplete": autocomplete}
    widget = forms.EmailInput(attrs=attrs)
    return forms.EmailField(label="E-mail address", required=False, widget=widget)


class ProfileForm(CheckedForm):
    name = _name_field("Pages show it in place of your user name.")
    email = _email_field("email")


SCOPES = [
    (Scope.READ, "Read: results, targets, plans"),
    (Scope.RUN, "Run: also start and stop campaigns"),
    (Scope.WRITE, "Write: also create and edit targets, plans, campaigns"),
]


class TokenForm(CheckedForm):
    refused_at = "name"

    name = forms.CharField(
        max_length=100,
        widget=text_widget("input-medium"),
        help_text="What will use it, such as “nightly build”.",
    )
    scope = forms.ChoiceField(choices=SCOPES, help_text="A token never has more rights than you.")
    days = number_field(
        forms.IntegerField,
        1,
        MAX_DAYS,
        initial=90,
        label="Expires after",
        help_text="The token expires after this many days.",
    )


# --- members -------------------------------------------------------------------------------------
ROLE_CHOICES = [(role, role.title()) for role in Role]


class MemberForm(CheckedForm):
    refused_at = "username"

    username = forms.CharField(
        max_length=150,
        label="User name",
        widget=text_widget("input-medium"),
        help_text="The name they sign in with.",
    )
    role = forms.ChoiceField(choices=ROLE_CHOICES, initial=Role.EDITOR)


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=ROLE_CHOICES)


class InvitationForm(CheckedForm):
    refused_at = "email"

    email = _email_field("off")
    role = forms.ChoiceField(
        choices=ROLE_CHOICES,
        initial=Role.EDITOR,
        help_text=f"The link works once, within {INVITATION_DAYS} days. People without an account "
        "create one.",
    )

    def __init__(self, *args, sends_email: bool, **kwargs):
        super().__init__(*args, auto_id="id_invited_%s", **kwargs)
        self.fields["email"].help_text = (
            "Gets the link. Leave empty to pass it on yourself."
            if sends_email
            else "For your list. This site sends no e-mail: pass the link on yourself."
        )


class _AccountFields(CheckedForm):
    refused_at = "username"

    username = forms.CharField(
        label="User name",
        max_length=150,
        validators=User._meta.get_field("username").validators,
        widget=text_widget("input-medium", autocomplete="username"),
    )
    name = _name_field()


class JoinForm(_AccountFields):
    """A new account for whoever was invited."""

    email = _email_field("email")
    password = forms.CharField(
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=_HINT,
    )


class UserForm(_AccountFields):
    email = _email_field("off")
    is_administrator = forms.BooleanField(
        label="Administrator",
        required=False,
        help_text="Manages the installation: load, caps, storage, users.",
    )
