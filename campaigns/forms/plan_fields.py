"""Form fields for plan fields, from the registry's rows."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django import forms

from campaigns.domain.plan.fields import PlanField, fields_of
from campaigns.domain.plan.plan import Plan, Timeouts
from campaigns.forms.numbers import number
from campaigns.forms.requests import MOST_CHARACTERS, text_widget


def _form_field(row: PlanField, widget: forms.Widget | None = None, **more: Any) -> forms.Field:
    """Input stays text: the domain validates it. The page reads `unit`, `is_choice`, and in
    `shown_if` the choices that show the field (lib/shown_if.js)."""
    initial = row.default if row.example is None else row.example
    given = {"label": row.label, "help_text": row.help, "required": False, "initial": initial}
    if row.is_choice:
        made = forms.ChoiceField(
            choices=list(row.choices.items()), widget=forms.RadioSelect, **given
        )
    elif row.kind is bool:
        made = forms.BooleanField(**given)
    else:
        default_widget = text_widget("", inputmode="decimal") if row.is_number else None
        given["initial"] = _typed(initial, row)
        most = int(row.high) if row.kind is str else MOST_CHARACTERS
        made = forms.CharField(widget=widget or default_widget, max_length=most, **given, **more)
    made.unit, made.has_wide_unit, made.is_choice = row.unit, len(row.unit) > 2, row.is_choice
    made.shown_if = "protocol=http" if row.http_only else ""
    return made


def form_choice(label: str, choices: list[tuple[str, str]], help_text: str = "") -> forms.Field:
    """A choice that only the form has, not the registry; the first option is the default."""
    made = forms.ChoiceField(
        choices=choices,
        initial=choices[0][0],
        required=False,
        label=label,
        help_text=help_text,
        widget=forms.RadioSelect,
    )
    made.is_choice = True
    return made


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
        made = {self.form_name(name): self.field(name) for name, row in rows if row.kind}
        return type(f"{self.owner.__name__}Rows", (forms.Form,), made)

    def names_on_form(self) -> list[str]:
        """The form names of all rows but objects, in the registry's order."""
        return [self.form_name(name) for name, row in fields_of(self.owner).items() if not row.part]

    def field(self, name: str, widget: forms.Widget | None = None, **more: Any) -> forms.Field:
        """One field; for non-scalar rows, or rows with a custom widget."""
        rows = fields_of(self.owner)
        made = _form_field(rows[name], widget, **more)
        if "kind" in rows and rows[name].used_by:
            made.shown_if = f"{self.form_name('kind')}={','.join(sorted(rows[name].used_by))}"
        return made

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
        wanted = [name for name, row in rows.items() if row.kind] if names is None else names
        values = {name: _value(rows[name], data[self.form_name(name)]) for name in wanted}
        return {name: value for name, value in values.items() if value is not None}

    def initial(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """The form's values for the stored JSON, with the form's defaults for missing ones."""
        rows = {name: row for name, row in fields_of(self.owner).items() if name in stored}
        return {
            self.form_name(name): _typed(stored[name], row)
            for name, row in rows.items()
            if (row.kind or row.to_text) and not _says_nothing(row, stored[name])
        }


def _says_nothing(row: PlanField, value: Any) -> bool:
    return value is None or value == [] or (row.example == "" and value == row.default)


def _value(row: PlanField, text: Any) -> Any:
    if row.is_choice:
        return text or row.default
    if row.from_text:
        return row.from_text(text)
    return number(text) if row.is_number else text


def _typed(value: Any, row: PlanField) -> Any:
    if value is None or value == ():
        return ""
    if row.to_text and not isinstance(value, str):
        return row.to_text(value)
    if row.is_number and value != "":
        return f"{value:g}" if isinstance(value, float) else str(value)
    return value


PLAN = FormPart(Plan)
TIMEOUTS = FormPart(Timeouts, "timeouts")
