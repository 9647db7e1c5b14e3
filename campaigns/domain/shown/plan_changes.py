"""What differs between two plans, field by field."""

from typing import Any

_UNITS = {"_per_s": ", per s", "_s": ", s"}


def changes_between(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The fields that differ, in the order of the plan's JSON; a missing one reads "–"."""
    old, new = _flat(before), _flat(after)
    fields = [*new, *(field for field in old if field not in new)]
    return [
        (field_name(field), _said(old.get(field)), _said(new.get(field)))
        for field in fields
        if _said(old.get(field)) != _said(new.get(field))
    ]


def field_name(path: str) -> str:
    """load.duration_s → duration, s; steps.0.path → path; steps.1.path → step 2 path."""
    head, _, rest = path.partition(".")
    if head == "steps":
        index, _, rest = rest.partition(".")
        rest = rest if index == "0" else f"step {int(index) + 1} {rest}"
    name = (rest or head).replace(".", " ")
    unit = next((unit for unit in _UNITS if name.endswith(unit)), "")
    return name.removesuffix(unit).replace("_", " ") + _UNITS.get(unit, "")


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    """Leaves by path. Lists of plain values and header pairs stay whole."""
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        items = enumerate(value)
    else:
        return {path: value}
    return {
        name: leaf
        for key, each in items
        for name, leaf in _flat(each, f"{path}.{key}" if path else str(key)).items()
    }


def _said(value: Any) -> str:
    if value is None or value == "" or value == []:
        return "–"
    if isinstance(value, list):
        return ", ".join(": ".join(each) if isinstance(each, list) else str(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)
