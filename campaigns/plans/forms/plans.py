"""The plan form: fields and texts only; domain.plan validates. Its closed rows say what is set in
them; which field is in which is in the registry (`group` of domain.plan.fields). Sessions and
credentials in the plan form. The secret is write-only. A flow is a heading over some of the steps,
typed at the first of them; where several flows are not chosen, headings are ignored."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms

from campaigns.core.forms import area, number, text_field, text_widget
from campaigns.domain.errors import InvalidFields
from campaigns.domain.plan.fields import fields_of, groups_of
from campaigns.domain.plan.flows import Flow, steps_of
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import Auth, AuthKind, Session, ThinkKind, ThinkTime
from campaigns.domain.plan.threshold import Threshold, parse_rule
from campaigns.domain.units import counted
from campaigns.plans.forms.plan_fields import (
    LOAD,
    PLAN,
    TIMEOUTS,
    FormPart,
    LoadFields,
    form_choice,
    initial_load,
)
from campaigns.plans.forms.plan_steps import (
    BLANK_STEP,
    EXCHANGE,
    ORDER,
    VARIABLES,
    ExchangeFields,
    StepsFields,
    VariableFields,
    initial_exchange,
    initial_steps,
    prefix_of,
)

ONE, SEVERAL = "one", "several"
_CHOICES = [(ONE, "One: a user sends all steps"), (SEVERAL, "Several, each with its share")]
_WHERE = "Each is a heading over its first step."
_AT = {"name": "flow", "share": "share"}  # the step's field of each of a flow's


class FlowFields(StepsFields):
    flows = form_choice("Flows", _CHOICES, f"{fields_of(Plan)['flows'].help} {_WHERE}")

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._headings: list[str] = []

    def plan_flows(self) -> list[dict[str, Any]]:
        """The flows in the plan's JSON form."""
        flows, heading, self._headings = [], prefix_of(0), []
        if self.cleaned_data["flows"] != SEVERAL:
            return []
        for index in range(self.step_count):
            prefix = prefix_of(index)
            heading = prefix if self._typed(f"{prefix}flow").strip() else heading
            if heading not in self._headings:
                self._headings.append(heading)
                name, share = (self._typed(heading + field) for field in ("flow", "share"))
                flows.append({"name": name, "share": number(share), "steps": 0})
            flows[-1]["steps"] += 1
        return flows

    @property
    def flow_words(self) -> str:
        """browse 90, buy 10; "" where several are not chosen."""
        if self._typed("flows") != SEVERAL:
            return ""
        prefixes = [prefix_of(index) for index in range(self.step_count)]
        names = [
            (self._typed(f"{prefix}flow"), self._typed(f"{prefix}share")) for prefix in prefixes
        ]
        return (
            ", ".join(" ".join(each) for each in names if each[0]) or "several, without a name yet"
        )

    def _place(self, path: str) -> str:
        """flows.1.share → step3_share, if the second flow begins with the third step."""
        match path.split("."):
            case ["flows", index, *rest] if int(index) < len(self._headings):
                name = self._headings[int(index)] + _AT.get(rest[0] if rest else "name", "flow")
                return name if name in self.fields else path
        return super()._place(path)


def initial_flows(spec: dict[str, Any]) -> dict[str, Any]:
    """The form's values for the flows of a stored plan."""
    flows = [Flow(**each) for each in spec.get("flows", ())]
    values = {"flows": SEVERAL} if flows else {}
    for flow, numbers in zip(flows, steps_of(flows), strict=True):
        prefix = prefix_of(numbers.start)
        values |= {f"{prefix}flow": flow.name, f"{prefix}share": f"{flow.share:g}"}
    return values


SESSION = FormPart(Session, "session")
THINK_TIME = FormPart(ThinkTime, "session.think_time", "think_")
AUTH = FormPart(Auth, "auth", "auth_")


class SessionFields(SESSION.form(), THINK_TIME.form(), AUTH.form()):
    auth_user = AUTH.field("user", text_widget("input-name"))
    secret = text_field(
        "Secret",
        forms.PasswordInput(attrs={"autocomplete": "new-password", "class": "input-name"}),
        None,
        strip=False,
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


_LONGEST_WORDS = 120
_TOLD_APART = {"csv", "flows"}
_PARTS = (PLAN, TIMEOUTS, LOAD, SESSION, THINK_TIME, AUTH, VARIABLES, ORDER, EXCHANGE)
_FORM_NAMES = {path: name for part in _PARTS for path, name in part.places().items()}
# Fields of the form alone, beside those of the registry.
_MORE = {"auth": ("secret", "forget_secret")}


@dataclass(frozen=True, slots=True)
class Group:
    """A closed row of the form. `holds`: the registry's groups in it; `usual`: what is said while
    nothing in it differs, without which its values are."""

    key: str
    title: str
    holds: tuple[str, ...]
    usual: str = ""


# Beside the steps, or in place of them.
STEPS = Group("steps", "Order and flows", ("steps", "flows"), "in turn, one flow")
MESSAGES = Group("exchange", "Messages and closing", ("exchange",))
GROUPS = (
    Group("connections", "Connections", ("visits",)),
    Group("right", "Success criteria", ("right",)),
    Group("thresholds", "Limits", ("thresholds",), "none"),
    Group("values", "Test data", ("values",), "every request is the same"),
    Group("auth", "Authentication", ("auth",), "none"),
    Group(
        "advanced",
        "Advanced",
        ("limits", "http", "start"),
        "timeouts, HTTP version, warm-up, injector processes",
    ),
)


@dataclass(frozen=True, slots=True)
class Disclosure:
    """A group as a page shows it; it must be open if a field in it has an error."""

    group: Group
    rows: list[forms.BoundField]
    words: str
    is_usual: bool
    is_open: bool


class DisclosedFields(FlowFields):
    """Adds the closed rows to the plan form."""

    @property
    def disclosures(self) -> list[Disclosure]:
        return [self._disclosure(group) for group in GROUPS]

    @property
    def order_disclosure(self) -> Disclosure:
        return self._disclosure(STEPS)

    @property
    def messages_disclosure(self) -> Disclosure:
        return self._disclosure(MESSAGES)

    @property
    def table_words(self) -> str:
        """table of 1,024 bytes; "" without one."""
        n_bytes = self.bytes_of("csv", "csv_size")
        return f"table of {counted(n_bytes, 'bytes')}" if n_bytes else ""

    def _disclosure(self, group: Group) -> Disclosure:
        rows = [self[name] for name in names_in(group) if name in self.fields]
        # Read by themselves: flows stand at the steps, a table may be large.
        apart = {STEPS.key: "flow_words", "values": "table_words"}.get(group.key)
        apart_words = getattr(self, apart) if apart else ""
        differing = [row for row in rows if row.name not in _TOLD_APART and differs(row)]
        fields = differing or ([] if group.usual else [row for row in rows if _says_by_itself(row)])
        words = ", ".join(filter(None, (apart_words, *map(_words, fields)))) or group.usual
        more = _MORE.get(group.key, ())
        return Disclosure(
            group=group,
            rows=rows,
            words=words if len(words) <= _LONGEST_WORDS else f"{words[: _LONGEST_WORDS - 1]}…",
            is_usual=not (differing or apart_words),
            is_open=any(name in self.errors for name in (*(row.name for row in rows), *more)),
        )


def names_in(group: Group) -> list[str]:
    """The form's names of a group's fields, in the registry's order."""
    groups = groups_of(Plan)
    names = [
        _FORM_NAMES[path] for path in groups if path in _FORM_NAMES and groups[path] in group.holds
    ]
    return ["connection_mode", *names] if group.key == "connections" else names


def _says_by_itself(row: forms.BoundField) -> bool:
    """Whether its value needs no label; of the usual values only these are told."""
    return row.name in {"connection_mode", "expected_status", "thresholds"}


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
    text = str(choices.get(value, value)).replace("\n", "; ")
    if _says_by_itself(row):
        return text
    return f"{label} {text} {getattr(row.field, 'unit', '')}".rstrip()


class ThresholdFields(forms.Form):
    thresholds = PLAN.field("thresholds", area(2, placeholder="p95 < 300 ms"))

    def clean_thresholds(self) -> list[dict[str, Any]]:
        text = self.cleaned_data["thresholds"]
        try:
            return [parse_rule(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise forms.ValidationError(str(error)) from None


# Form names that differ from the domain's.
_PLACES = {"variables": "csv"} | {
    path: name
    for part in (THINK_TIME, AUTH, VARIABLES, ORDER, EXCHANGE)
    for path, name in part.places().items()
}
# What a preset does not determine.
_NOT_COMPARED = {"name", "n_steps", "kept", "secret", "forget_secret"}


class PlanForm(
    DisclosedFields,
    ExchangeFields,
    ThresholdFields,
    LoadFields,
    SessionFields,
    VariableFields,
    PLAN.form(),
    TIMEOUTS.form(),
    StepsFields,
):
    name = text_field(None, text_widget("input-name"), 100)
    expected_status = PLAN.field("expected_status", text_widget("input-medium"))

    field_order = ["name", "method", "path"]
    # The version that is edited, of which parts are kept that the form does not show.
    base: dict[str, Any] | None = None

    @classmethod
    def of(cls, name: str, spec: dict[str, Any]):
        return cls(initial=initial_of(name, spec))

    def base_of(self, name: str, spec: dict[str, Any]) -> dict[str, dict[str, str]]:
        """{form name: {"label", "value"}} of a preset: what later changes are compared with."""
        values = initial_of(name, spec)
        return {
            each: {
                "label": str(field.label or each).lower(),
                "value": plain(values.get(each, field.initial)),
            }
            for each, field in self.fields.items()
            if each not in _NOT_COMPARED
        }

    def clean(self):
        self.take_bodies()
        if not self.is_exchange:
            self.check_paths()
        return self.cleaned_data

    def add_other_faults(self, check: Callable[[str, dict[str, Any]], Any]) -> None:
        """Of a form that is not valid: those of the other fields, which `check` raises for name and
        spec. Invalid fields stand at their defaults."""
        invalid_names = set(self.errors)
        initial = {name: each.to_python(each.initial) for name, each in self.fields.items()}
        self.cleaned_data = initial | self.cleaned_data
        try:
            check(self.cleaned_data["name"] or "", self.spec())
        except InvalidFields as invalid:
            for path, text in invalid.errors.items():
                if self._place(path).rpartition(".")[2] not in invalid_names:
                    self.take_errors({path: text})

    def fields_of_service(self) -> dict[str, Any]:
        name, secret = self.cleaned_data["name"], self.new_secret()
        return {"name": name, "spec": self.spec(), "secret": secret}

    def spec(self) -> dict[str, Any]:
        """The plan's JSON without fields that the chosen model does not use."""
        data = self.cleaned_data
        spec = {
            **(self.base or {}),
            **PLAN.values(data),
            "steps": self.steps(),
            "order": self.order(),
            "flows": self.plan_flows(),
            "load": self.load(),
            "session": self.session(),
            "auth": self.auth(),
            "variables": self.variables(),
            "timeouts": TIMEOUTS.values(data),
            "expected_status": data["expected_status"],
            "thresholds": data["thresholds"],
            "exchange": None,
        }
        return self.as_exchange(spec) if self.is_exchange else spec

    def take_errors(self, errors: dict[str, str]) -> None:
        """Attach the domain's errors to their fields, one about `requests` to the stop field that
        is shown."""
        if "load.requests" in errors and "requests" not in self.used_of_load():
            errors = dict(errors)
            errors = {"load.duration_s": errors.pop("load.requests"), **errors}
        super().take_errors(errors)

    def _place(self, path: str) -> str:
        """Of any line of a text the one text field."""
        match path.split("."):
            case ["thresholds", *_]:
                return "thresholds"
            case ["variables", "generators", *_]:
                return "generators"
        name = _PLACES.get(path, path)
        return name if name in self.fields else super()._place(path)


def initial_of(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored plan, without the secret."""
    session = spec["session"]
    if not spec["steps"]:  # the HTTP fields have a blank one
        spec = {**spec, "steps": [BLANK_STEP]}
    return {
        "name": name,
        **initial_exchange(spec),
        **initial_steps(spec),
        **initial_flows(spec),
        **initial_load(spec["load"]),
        **SESSION.initial(session),
        **THINK_TIME.initial(session["think_time"]),
        **AUTH.initial(spec["auth"]),
        **VARIABLES.initial(spec["variables"]),
        **PLAN.initial(spec),
        **TIMEOUTS.initial(spec["timeouts"]),
        "expected_status": " ".join(spec["expected_status"]),
        # A stored plan's rules as text; older plans have none.
        "thresholds": "\n".join(Threshold(**each).rule for each in spec.get("thresholds", [])),
    }
