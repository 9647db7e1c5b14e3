"""The parts of a plan that may be large are stored once, in the plan's version, not in each run."""

import json
from collections.abc import Mapping
from typing import Any

# Bodies, headers and tables of values.
_PARTS = ("steps", "variables")
_SMALL_CHARACTERS = 4000
_VERSION = "parts_of"


def without_parts(plan: Mapping[str, Any], spec: Mapping[str, Any], version: int) -> dict[str, Any]:
    """The stored plan of a run, without the large parts that its version's `spec` has as well."""
    parts = {name for name in _PARTS if name in plan and plan[name] == spec.get(name)}
    if sum(len(json.dumps(plan[name])) for name in parts) <= _SMALL_CHARACTERS:
        return dict(plan)
    kept = {name: value for name, value in plan.items() if name not in parts}
    return {**kept, _VERSION: version}


def version_of_parts(plan: Mapping[str, Any]) -> int | None:
    """The version that has the parts that are missing here; None for a whole plan."""
    return plan.get(_VERSION)


def with_parts(plan: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """What `without_parts` was given."""
    parts = {name: spec[name] for name in _PARTS if name in spec}
    return {name: value for name, value in {**parts, **plan}.items() if name != _VERSION}
