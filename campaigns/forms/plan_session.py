"""Sessions and credentials in the form of a plan. The secret goes in here and never comes out."""

from typing import Any

from django import forms

from campaigns.domain.plan.session import AuthKind, ThinkKind
from campaigns.forms.numbers import number, number_field
from campaigns.forms.requests import text_widget

THINK_KINDS = [
    (ThinkKind.NONE, "None"),
    (ThinkKind.CONSTANT, "Always the same"),
    (ThinkKind.UNIFORM, "Between two"),
    (ThinkKind.EXPONENTIAL, "Exponential"),
]
AUTH_KINDS = [
    (AuthKind.NONE, "None"),
    (AuthKind.BASIC, "User and password"),
    (AuthKind.BEARER, "Bearer token"),
]
_THINK_USES = {
    ThinkKind.NONE: (),
    ThinkKind.CONSTANT: ("mean_s",),
    ThinkKind.UNIFORM: ("min_s", "max_s"),
    ThinkKind.EXPONENTIAL: ("mean_s",),
}
# What the domain calls these, where the form has another name for it.
_PLACES = {
    "session.think_time.kind": "think_kind",
    "session.think_time.mean_s": "think_mean_s",
    "session.think_time.min_s": "think_min_s",
    "session.think_time.max_s": "think_max_s",
    "auth.kind": "auth_kind",
    "auth.user": "auth_user",
}


class SessionFields(forms.Form):
    calls_per_connection = number_field(
        "Calls on a connection",
        "",
        "With kept connections. Empty: as many as the server allows; 1: a new one each. Where "
        "connections arrive, or in a window, each makes so many; empty: one.",
    )
    calls_per_session = number_field(
        "Calls of a session",
        "",
        "Then the user begins anew: first step, new connection, no cookies. Empty: never. Where "
        "sessions arrive, each makes so many.",
    )
    connections_per_session = number_field(
        "Connections of a session",
        "",
        "Where sessions arrive: the requests of a burst share up to so many. Empty: one.",
    )
    cookies = forms.BooleanField(
        required=False,
        label="Cookies",
        help_text="Each session keeps the cookies that it is given and sends them back.",
    )
    retry_on_failure = forms.BooleanField(
        required=False,
        label="Try again",
        help_text="Where sessions arrive: a failed request is made again, up to 3 times, before it "
        "ends its session; not after a timeout.",
    )
    think_kind = forms.ChoiceField(
        choices=THINK_KINDS,
        initial=ThinkKind.NONE,
        required=False,
        label="Think time",
        widget=forms.RadioSelect,
        help_text="A pause between requests, in no measured time.",
    )
    think_mean_s = number_field("Mean", "")
    think_min_s = number_field("Shortest", "")
    think_max_s = number_field("Longest", "")
    burst_length = number_field("Requests in a burst", "1", "The pauses lie between bursts.")
    first_call_alone = forms.BooleanField(
        required=False,
        initial=True,
        label="First one alone",
        help_text="The others of a burst wait for the first reply, as a browser does.",
    )
    pipeline_depth = number_field(
        "Unanswered at once",
        "1",
        "Pipelining: so many requests leave before a reply is there, each without a body.",
    )
    auth_kind = forms.ChoiceField(
        choices=AUTH_KINDS,
        initial=AuthKind.NONE,
        required=False,
        label="Credentials",
        widget=forms.RadioSelect,
    )
    auth_user = forms.CharField(
        label="User", required=False, max_length=200, widget=text_widget("input-name")
    )
    secret = forms.CharField(
        required=False,
        strip=False,
        label="Secret",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "class": "input-name"}),
        help_text="The password or the token. Stored encrypted and never shown again.",
    )
    forget_secret = forms.BooleanField(required=False, label="Forget the stored secret")

    def session(self) -> dict[str, Any]:
        data = self.cleaned_data
        kind = data["think_kind"] or ThinkKind.NONE
        burst = number(data["burst_length"]) or 1
        return {
            "calls_per_connection": number(data["calls_per_connection"]) or 0,
            "calls_per_session": number(data["calls_per_session"]),
            "connections_per_session": number(data["connections_per_session"]),
            "cookies": data["cookies"],
            "retry_on_failure": data["retry_on_failure"],
            "burst_length": burst,
            "pipeline_depth": number(data["pipeline_depth"]) or 1,
            "first_call_alone": burst == 1 or data["first_call_alone"],
            "think_time": {
                "kind": kind,
                **{
                    name: value
                    for name in _THINK_USES[ThinkKind(kind)]
                    if (value := number(data[f"think_{name}"])) is not None
                },
            },
        }

    def auth(self) -> dict[str, Any]:
        data = self.cleaned_data
        kind = data["auth_kind"] or AuthKind.NONE
        return {"kind": kind, "user": data["auth_user"] if kind == AuthKind.BASIC else ""}

    def new_secret(self) -> str | None:
        """What is to be stored; "" to forget, None to leave what is there."""
        data = self.cleaned_data
        if data["auth_kind"] in ("", AuthKind.NONE) or data["forget_secret"]:
            return ""
        return data["secret"] or None

    def take_errors(self, errors: dict[str, str]) -> None:
        super().take_errors({_PLACES.get(path, path): text for path, text in errors.items()})

    @property
    def session_is_plain(self) -> bool:
        """Whether the fields can stay folded: nothing is set in them and nothing is wrong."""
        names = SessionFields.base_fields
        return not any(name in self.errors for name in names) and all(
            str(self[name].value() or "") in {"", "0", "1", "none", "False"}
            for name in names
            if name != "first_call_alone"
        )


def initial_session(spec: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored plan; of the secret there are none."""
    session, auth = spec["session"], spec["auth"]
    think = session["think_time"]
    return {
        "calls_per_connection": str(session["calls_per_connection"] or ""),
        "calls_per_session": str(session["calls_per_session"] or ""),
        "connections_per_session": str(session["connections_per_session"] or ""),
        "cookies": session["cookies"],
        "retry_on_failure": session.get("retry_on_failure", False),
        "burst_length": str(session["burst_length"]),
        "pipeline_depth": str(session["pipeline_depth"]),
        "first_call_alone": session["first_call_alone"],
        "think_kind": think["kind"],
        **{f"think_{name}": f"{think[name]:g}" for name in _THINK_USES[ThinkKind(think["kind"])]},
        "auth_kind": auth["kind"],
        "auth_user": auth["user"],
    }
