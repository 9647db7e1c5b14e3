"""Sessions and credentials in the plan form. The secret is write-only."""

from typing import Any

from django import forms

from campaigns.domain.plan.session import Auth, AuthKind, Session, ThinkKind, ThinkTime
from campaigns.forms.plan_fields import FormPart
from campaigns.forms.requests import text_widget

SESSION = FormPart(Session, "session")
THINK_TIME = FormPart(ThinkTime, "session.think_time", "think_")
AUTH = FormPart(Auth, "auth", "auth_")


class SessionFields(SESSION.form(), THINK_TIME.form(), AUTH.form()):
    auth_user = AUTH.field("user", text_widget("input-name"))
    secret = forms.CharField(
        required=False,
        strip=False,
        label="Secret",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "class": "input-name"}),
        help_text="The password or the token. Stored encrypted and never shown again. It is sent "
        "only where you use the plan first; to send it elsewhere, others have to enter it again.",
    )
    forget_secret = forms.BooleanField(required=False, label="Delete the stored secret")

    def session(self) -> dict[str, Any]:
        data = self.cleaned_data
        values = SESSION.values(data)
        kind = ThinkKind(data["think_kind"] or ThinkKind.NONE)
        alone = values.get("burst_length", 1) == 1 or data["first_call_alone"]
        think_time = {"kind": kind, **THINK_TIME.values(data, THINK_TIME.uses(kind))}
        return {**values, "first_call_alone": alone, "think_time": think_time}

    def auth(self) -> dict[str, Any]:
        auth = AUTH.values(self.cleaned_data)
        return auth if auth["kind"] == AuthKind.BASIC else {**auth, "user": ""}

    def new_secret(self) -> str | None:
        """The secret to store; "" removes it, None keeps the stored one."""
        data = self.cleaned_data
        if data["auth_kind"] in ("", AuthKind.NONE) or data["forget_secret"]:
            return ""
        return data["secret"] or None


def initial_session(spec: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored plan, without the secret."""
    session = spec["session"]
    return {
        **SESSION.initial(session),
        **THINK_TIME.initial(session["think_time"]),
        **AUTH.initial(spec["auth"]),
    }
