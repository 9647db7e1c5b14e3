"""The plan as an injector gets it in its order."""

from collections.abc import Mapping
from typing import Any

# What plans have had only since injectors of protocol 1 are written, by part of the plan; at its
# default it is empty or false.
_LATER = {"load": ("shares",), "session": ("retry_on_failure",)}


def ordered_plan(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan without later fields that ask for nothing.

    An injector refuses fields that it does not know. One that was written before such a field came
    so goes on sending every plan that it could send.
    """
    return {name: _without_idle(value, _LATER.get(name, ())) for name, value in plan.items()}


def _without_idle(part: Any, later: tuple[str, ...]) -> Any:
    if not later:
        return part
    return {name: value for name, value in part.items() if value or name not in later}
