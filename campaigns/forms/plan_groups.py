"""The second level of the plan form: named disclosures that say what is set in them. Which field is
in which is in the registry (`group` of domain.plan.fields). Sessions and credentials in the plan
form. The secret is write-only."""

from dataclasses import dataclass
from typing import Any

from django import forms

from campaigns.domain.plan.fields import groups_of
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import Auth, AuthKind, Session, ThinkKind, ThinkTime
from campaigns.domain.units import counted
from campaigns.forms.plan_fields import LOAD, PLAN, TIMEOUTS, FormPart
from campaigns.forms.plan_steps import EXCHANGE, HTTP, ORDER, VARIABLES, WEBSOCKET, StepsFields
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


_LONGEST_WORDS = 120
# What a group holds beside its rows.
_APART = {"steps": "further_steps_words", "values": "table_words"}
_PARTS = (PLAN, TIMEOUTS, LOAD, SESSION, THINK_TIME, AUTH, VARIABLES, ORDER, EXCHANGE)
_FORM_NAMES = {path: name for part in _PARTS for path, name in part.places().items()}
# Fields of the form alone, beside those of the registry.
_MORE = {"auth": ("secret", "forget_secret")}


@dataclass(frozen=True, slots=True)
class Group:
    """`usual`: what is said while nothing in it differs; without, its values are. `protocol`: the
    only one that has it."""

    key: str
    title: str
    usual: str = ""
    protocol: str = ""


STEPS = Group("steps", "More steps and their order", "1 step", HTTP)
GROUPS = (
    Group("right", "What counts as right", protocol=HTTP),
    Group("thresholds", "Thresholds", "none"),
    STEPS,
    Group("exchange", "Messages and closing", protocol=WEBSOCKET),
    Group("visits", "Visits and pauses", "none: every request is on its own", HTTP),
    Group("auth", "Sign-in and secrets", "none"),
    Group("values", "Values that change", "none: every request is the same"),
    Group("limits", "Timeouts and limits"),
    Group("http", "HTTP version and host name"),
    Group("start", "Warm-up and start", "no warm-up; all injector processes together"),
)


@dataclass(frozen=True, slots=True)
class Disclosure:
    """A group as a page shows it; it must be open if a field in it has an error."""

    group: Group
    rows: list[forms.BoundField]
    words: str
    is_usual: bool
    is_open: bool


class DisclosedFields(StepsFields):
    """Adds `disclosures` to the plan form."""

    @property
    def disclosures(self) -> list[Disclosure]:
        return [self._disclosure(group) for group in GROUPS]

    @property
    def differing_words(self) -> str:
        """How many of the disclosures in sight have something set that is not usual."""
        protocol = plain(self["protocol"].value())
        shown = [each for each in self.disclosures if each.group.protocol in ("", protocol)]
        n = sum(not each.is_usual for each in shown)
        verb = "differs" if n == 1 else "differ"
        return f"{n} of {len(shown)} {verb} from the usual" if n else "none differs from the usual"

    @property
    def table_words(self) -> str:
        """table of 1,024 bytes; "" without one."""
        n_bytes = self.bytes_of("csv", "csv_size")
        return f"table of {counted(n_bytes, 'bytes')}" if n_bytes else ""

    def _disclosure(self, group: Group) -> Disclosure:
        rows = [self[name] for name in names_in(group.key) if name in self.fields]
        more = self.further_step_names if group == STEPS else _MORE.get(group.key, ())
        apart = ""
        if group.key in _APART:
            apart = getattr(self, _APART[group.key])  # reads bodies and tables, which may be large
        differing = [row for row in rows if row.name != "csv" and differs(row)]
        said = differing or ([] if group.usual else rows)
        words = ", ".join(filter(None, (apart, *map(_words, said)))) or group.usual
        return Disclosure(
            group=group,
            rows=rows,
            words=words if len(words) <= _LONGEST_WORDS else f"{words[: _LONGEST_WORDS - 1]}…",
            is_usual=not (differing or apart),
            is_open=any(name in self.errors for name in (*(row.name for row in rows), *more)),
        )


def names_in(group: str) -> list[str]:
    """The form's names of a group's fields, in the registry's order."""
    groups = groups_of(Plan)
    return [_FORM_NAMES[path] for path in groups if groups[path] == group and path in _FORM_NAMES]


def differs(row: forms.BoundField) -> bool:
    """Whether the field has another value than a new form proposes."""
    return plain(row.value()) != plain(row.field.initial)


def plain(value: Any) -> str:
    """A field's value for comparisons: unticked, missing and empty are the same."""
    if value in (None, False, "False"):
        return ""
    return str(value).replace("\r\n", "\n").strip()


def _words(row: forms.BoundField) -> str:
    """Connect within 5 s; a switch by its name alone; "" without a value."""
    value = plain(row.value())
    label = str(row.label)
    if isinstance(row.field, forms.BooleanField):
        return label if value else f"not {label[0].lower()}{label[1:]}"
    if not value:
        return ""
    choices = dict(getattr(row.field, "choices", []))
    shown = str(choices.get(value, value)).replace("\n", "; ")
    return f"{label} {shown} {getattr(row.field, 'unit', '')}".rstrip()
