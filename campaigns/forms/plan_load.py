"""The load in the plan form: model, arrivals, when to stop."""

from collections.abc import Mapping
from typing import Any

from django import forms

from campaigns.domain.plan.fields import fields_of
from campaigns.domain.plan.load import Load, Model
from campaigns.domain.plan.load_rules import USES
from campaigns.forms.plan_fields import FormPart, form_choice
from campaigns.forms.requests import area, text_widget

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
    models = f"model={','.join(model for model, used in USES.items() if name in used)}"
    return f"{models} protocol=http" if fields_of(Load)[name].http_only else models


LOAD_FIELDS = sorted(set().union(*USES.values()))
SHOWN_IF = {name: _by_model(name) for name in LOAD_FIELDS} | _CONDITIONS


def is_shown(condition: str, choices: Mapping[str, str]) -> bool:
    """Whether a condition holds for these choices: {"model": "open", "stop": "requests", …}."""
    return any(
        all(_holds(each, choices) for each in way.split()) for way in condition.split(" or ")
    )


def _holds(part: str, choices: Mapping[str, str]) -> bool:
    name, _, values = part.partition("=")
    return choices[name] in values.split(",")


def shown_fields(choices: Mapping[str, str]) -> set[str]:
    """The fields of a load that are used with these choices."""
    return {name for name in LOAD_FIELDS if is_shown(SHOWN_IF[name], choices)}


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
