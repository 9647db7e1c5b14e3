"""Form fields for plan fields, from the registry's rows. The load in the plan form: model,
arrivals, when to stop."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django import forms

from campaigns.core.forms import MOST_CHARACTERS, area, number, text_widget
from campaigns.domain.plan.fields import PlanField, fields_of
from campaigns.domain.plan.load import Load, Model
from campaigns.domain.plan.load_rules import USES
from campaigns.domain.plan.plan import Plan, Timeouts


def _form_field(row: PlanField, widget: forms.Widget | None = None, **more: Any) -> forms.Field:
    """Input stays text: the domain validates it. The page reads `unit`, `is_choice`, and in
    `shown_if` the choices that show the field (lib/shown_if.js)."""
    initial = row.default if row.example is None else row.example
    options = {"label": row.label, "help_text": row.help, "required": False, "initial": initial}
    if row.is_choice:
        field = forms.ChoiceField(
            choices=list(row.choices.items()), widget=forms.RadioSelect, **options
        )
    elif row.kind is bool:
        field = forms.BooleanField(**options)
    else:
        default_widget = text_widget("", inputmode="decimal") if row.is_number else None
        options["initial"] = _as_typed(initial, row)
        most = int(row.high) if row.kind is str else MOST_CHARACTERS
        field = forms.CharField(widget=widget or default_widget, max_length=most, **options, **more)
    field.unit, field.has_wide_unit, field.is_choice = row.unit, len(row.unit) > 2, row.is_choice
    field.shown_if = "protocol=http" if row.http_only else ""
    return field


def form_choice(label: str, choices: list[tuple[str, str]], help_text: str = "") -> forms.Field:
    """A choice that only the form has, not the registry; the first option is the default."""
    field = forms.ChoiceField(
        choices=choices,
        initial=choices[0][0],
        required=False,
        label=label,
        help_text=help_text,
        widget=forms.RadioSelect,
    )
    field.is_choice = True
    return field


@dataclass(frozen=True)
class FormPart:
    """The fields of one part of a plan, such as session.think_time, named think_… in the form."""

    owner: type
    path: str = ""
    prefix: str = ""
    names: Mapping[str, str] = field(default_factory=dict)

    def form_name(self, name: str) -> str:
        return self.names.get(name, self.prefix + name)

    def form(self) -> type[forms.Form]:
        """A form class with a field for each scalar row."""
        rows = fields_of(self.owner).items()
        fields = {self.form_name(name): self.field(name) for name, row in rows if row.kind}
        return type(f"{self.owner.__name__}Rows", (forms.Form,), fields)

    def names_on_form(self) -> list[str]:
        """The form names of all rows but objects, in the registry's order."""
        return [self.form_name(name) for name, row in fields_of(self.owner).items() if not row.part]

    def field(self, name: str, widget: forms.Widget | None = None, **more: Any) -> forms.Field:
        """One field; for non-scalar rows, or rows with a custom widget."""
        rows = fields_of(self.owner)
        form_field = _form_field(rows[name], widget, **more)
        if "kind" in rows and rows[name].used_by:
            form_field.shown_if = f"{self.form_name('kind')}={','.join(sorted(rows[name].used_by))}"
        return form_field

    def uses(self, kind: str) -> list[str]:
        """The fields that a kind of this part uses."""
        return [name for name, row in fields_of(self.owner).items() if kind in row.used_by]

    def places(self) -> dict[str, str]:
        """The form's name for each domain path."""
        start = f"{self.path}." if self.path else ""
        return {start + name: self.form_name(name) for name in fields_of(self.owner)}

    def values(self, data: Mapping[str, Any], names: Iterable[str] | None = None) -> dict[str, Any]:
        """JSON from the form's cleaned data, without empty fields."""
        rows = fields_of(self.owner)
        chosen_names = [name for name, row in rows.items() if row.kind] if names is None else names
        values = {name: _value(rows[name], data[self.form_name(name)]) for name in chosen_names}
        return {name: value for name, value in values.items() if value is not None}

    def initial(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """The form's values for the stored JSON, with the form's defaults for missing ones."""
        rows = {name: row for name, row in fields_of(self.owner).items() if name in spec}
        return {
            self.form_name(name): _as_typed(spec[name], row)
            for name, row in rows.items()
            if (row.kind or row.to_text) and not _says_nothing(row, spec[name])
        }


def _says_nothing(row: PlanField, value: Any) -> bool:
    return value is None or value == [] or (row.example == "" and value == row.default)


def _value(row: PlanField, text: Any) -> Any:
    if row.is_choice:
        return text or row.default
    if row.from_text:
        return row.from_text(text)
    return number(text) if row.is_number else text


def _as_typed(value: Any, row: PlanField) -> Any:
    if value is None or value == ():
        return ""
    if row.to_text and not isinstance(value, str):
        return row.to_text(value)
    if row.is_number and value != "":
        return f"{value:g}" if isinstance(value, float) else str(value)
    return value


PLAN = FormPart(Plan)
TIMEOUTS = FormPart(Timeouts, "timeouts")


_NOT_UNIFORM = "distribution=deterministic,exponential"
_COUNTED = "model=closed,sequential,window"
_STEADY = f"model=open {_NOT_UNIFORM} rate_shape=steady"
# Fields that depend on more than the model; "stop", "rate_shape" and "protocol" are choices of the
# form.
_CONDITIONS = {
    "rate_shape": f"model=open {_NOT_UNIFORM}",
    "rate_per_s": _STEADY,
    "stages": f"model=open {_NOT_UNIFORM} rate_shape=stages",
    "uniform_min_s": "model=open distribution=uniform",
    "uniform_max_s": "model=open distribution=uniform",
    "hold_s": "model=window hold=keep_s",
    "stop": f"{_COUNTED} or {_STEADY}",
    "requests": f"model=over or model=open distribution=uniform or {_COUNTED} stop=requests or "
    f"{_STEADY} stop=requests",
    "duration_s": f"{_COUNTED} stop=duration or {_STEADY} stop=duration",
}


def _by_model(name: str) -> str:
    models = f"model={','.join(model for model, names in USES.items() if name in names)}"
    return f"{models} protocol=http" if fields_of(Load)[name].http_only else models


LOAD_FIELDS = sorted(set().union(*USES.values()))
SHOWN_IF = {name: _by_model(name) for name in LOAD_FIELDS} | _CONDITIONS


def is_shown(condition: str, choices: Mapping[str, str]) -> bool:
    """Whether a condition holds for these choices: {"model": "open", "stop": "requests", …}."""
    ways = [[part.partition("=") for part in way.split()] for way in condition.split(" or ")]
    return any(all(choices[name] in values.split(",") for name, _, values in way) for way in ways)


def shown_fields(choices: Mapping[str, str]) -> set[str]:
    """The fields of a load that are used with these choices."""
    return {name for name in LOAD_FIELDS if is_shown(SHOWN_IF[name], choices)}


LOAD = FormPart(Load, "load")
MODELS = list(fields_of(Load)["model"].choices.items())
# One line per choice; the page shows that of the chosen one.
MODEL_WORDS = {
    Model.OVER: "Send N requests evenly over T seconds without waiting for responses.",
    Model.OPEN: "Requests start at a steady rate, whether replies come or not, as real visitors "
    "do. Response times count from the intended start.",
    Model.CLOSED: "Each connection sends its next request when its reply is complete. A slow "
    "server gets fewer requests.",
    Model.SEQUENTIAL: "One connection, one request at a time: the plain response time without "
    "any queue.",
    Model.WINDOW: "New connections, each with one request or more. Up to the high mark are opened "
    "at a time; when fewer than the low mark are left, the next burst begins. Each injector "
    "process has its own window.",
}
STOPS = [("requests", "After a number"), ("duration", "After a time")]
RATES = [("steady", "Steady"), ("stages", "In stages")]
# Fields that only the form has, each shown before a field of the load.
_BEFORE = {"stages": ["rate_shape"], "requests": ["stop"]}


class LoadFields(LOAD.form()):
    """The domain validates the load; fields that the chosen model does not use are left out."""

    stages = LOAD.field("stages", area(3))
    shares = LOAD.field("shares", text_widget("input-medium", placeholder="2, 1, 1"))
    rate_shape = form_choice("Rate over time", RATES)
    stop = form_choice("Stop", STOPS)

    @property
    def load_rows(self) -> list[forms.BoundField]:
        """What is always in sight; the registry's groups are further down the page."""
        rows = fields_of(Load)
        names = [name for name in LOAD.names_on_form() if name != "model" and not rows[name].group]
        return [self[each] for name in names for each in (*_BEFORE.get(name, ()), name)]

    def load(self) -> dict[str, Any]:
        fields_in_use = self.used_of_load()
        values = LOAD.values(self.cleaned_data, sorted(fields_in_use))
        if "stages" in fields_in_use:
            values["stages"] = values["stages"] or [""]
        return {"model": self._choice("model"), **values}

    def used_of_load(self) -> set[str]:
        """The fields in use for the current choices; the page shows the same ones."""
        names = ("model", "stop", "distribution", "hold", "rate_shape", "protocol")
        return shown_fields({name: self._choice(name) for name in names})

    def _choice(self, name: str) -> str:
        return self.cleaned_data[name] or self.base_fields[name].initial


for _name, _condition in SHOWN_IF.items():
    LoadFields.base_fields[_name].shown_if = _condition


def initial_load(load: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored load."""
    stop = "duration" if load.get("duration_s") else "requests"
    shape = {"rate_shape": "stages"} if load.get("stages") else {}
    return {"stop": stop, **LOAD.initial(load), **shape}
