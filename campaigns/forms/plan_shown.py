"""When the plan form shows, and so uses, a field of the load: one table for page and form.

Conditions are text for the page's data-shown-if attributes: "model=open,over stop=requests" holds
if each named choice has one of its values; " or " separates alternatives.
"""

from collections.abc import Mapping

from campaigns.domain.plan.fields import fields_of
from campaigns.domain.plan.load import Load
from campaigns.domain.plan.load_rules import USES

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
