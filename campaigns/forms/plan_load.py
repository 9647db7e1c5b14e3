"""The load in the plan form: model, arrivals, when to stop."""

from typing import Any

from django import forms

from campaigns.domain.plan.fields import fields_of
from campaigns.domain.plan.load import Load, Model
from campaigns.forms.plan_fields import FormPart, form_choice
from campaigns.forms.plan_shown import SHOWN_IF, shown_fields
from campaigns.forms.requests import area, text_widget

LOAD = FormPart(Load, "load")
MODELS = list(fields_of(Load)["model"].choices.items())
# One line per choice; the page shows that of the chosen one.
MODEL_WORDS = {
    Model.OVER: "N requests start at even distances over T seconds, whether replies come or not.",
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

    def take_errors(self, errors: dict[str, str]) -> None:
        """Attach an error about `requests` to the stop field that is shown."""
        errors = dict(errors)
        if "load.requests" in errors and "requests" not in self._used():
            sentence = errors.pop("load.requests")
            errors.setdefault("load.duration_s", sentence)
        super().take_errors(errors)

    def load(self) -> dict[str, Any]:
        """The load's JSON."""
        used = self._used()
        values = LOAD.values(self.cleaned_data, sorted(used))
        if "stages" in used:
            values["stages"] = values["stages"] or [""]
        return {"model": self._chosen("model"), **values}

    def _used(self) -> set[str]:
        """The fields in use for the current choices; the page shows the same ones."""
        names = ("model", "stop", "distribution", "hold", "rate_shape", "protocol")
        return shown_fields({name: self._chosen(name) for name in names})

    def _chosen(self, name: str) -> str:
        return self.cleaned_data[name] or self.base_fields[name].initial


for _name, _condition in SHOWN_IF.items():
    LoadFields.base_fields[_name].shown_if = _condition


def initial_load(load: dict[str, Any]) -> dict[str, Any]:
    """The form's values for a stored load."""
    stop = "duration" if load.get("duration_s") else "requests"
    shape = {"rate_shape": "stages"} if load.get("stages") else {}
    return {"stop": stop, **LOAD.initial(load), **shape}
