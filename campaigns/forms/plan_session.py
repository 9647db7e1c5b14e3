"""Sessions and credentials in the plan form. The secret is write-only."""

from typing import Any

from django import forms

from campaigns.domain.plan.fields import fields_of
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
        help_text="The password or the token. Stored encrypted and never shown again.",
    )
    forget_secret = forms.BooleanField(required=False, label="Delete the stored secret")

    @property
    def session_rows(self) -> list[forms.BoundField]:
        rows = {name: [name] for name in fields_of(Session)}
        rows["think_time"] = THINK_TIME.names_on_form()
        return [self[name] for names in rows.values() for name in names]

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

    @property
    def session_is_plain(self) -> bool:
        """Whether the section can stay collapsed: no values and no errors."""
        names = SessionFields.base_fields
        return not any(name in self.errors for name in names) and all(
            str(self[name].value() or "") in {"", "0", "1", "none", "False"}
            for name in names
            if name != "first_call_alone"
        )


def initial_session(spec: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored plan, without the secret."""
    session = spec["session"]
    return {
        **SESSION.initial(session),
        **THINK_TIME.initial(session["think_time"]),
        **AUTH.initial(spec["auth"]),
    }
