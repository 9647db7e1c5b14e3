"""What differs between two plans or the settings of two runs, field by field."""

from typing import Any

from campaigns.domain.plan.fields import all_fields
from campaigns.domain.plan.plan import Plan

_UNITS = {"_per_s": ", per s", "_s": ", s"}
# Labels of the plan form that need the heading above them.
_UNDER = {"session.think_time": "Think time", "exchange": "WebSocket"}
# Fields with other words than the form's, and those that no plan has.
_NAMES = {
    "connection_mode": "Connection mode",
    "endpoint.verify_tls": "Certificate verified",
    "endpoint.tls.min_version": "Minimum TLS version",
    "endpoint.tls.max_version": "Maximum TLS version",
    "endpoint.tls.ca_pem": "Trusted authorities",
    "endpoint.tls.client_certificate_pem": "Client certificate",
    "endpoint.tls.sni": "Server name (SNI)",
    "endpoint.tls.alpn": "ALPN",
    "endpoint.tls.profile": "TLS profile",
    "endpoint.tls.groups": "Key exchange groups",
    "endpoint.tls.ciphers": "Ciphers of TLS 1.2",
    "endpoint.tls.ciphersuites": "Ciphers of TLS 1.3",
    "endpoint.tls.signatures": "Signatures",
}


def changes_between(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The fields that differ, in the order of the JSON; a missing one reads "–"."""
    changed = changed_fields(before, after)
    return [(field_name(field), *values) for field, values in changed.items()]


def changed_fields(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The same by path: {"plan.load.rate_per_s": ("100", "200")}."""
    if before == after:
        return {}
    old, new = _flat(before), _flat(after)
    fields = [*new, *(field for field in old if field not in new)]
    both = {field: (_said(old.get(field)), _said(new.get(field))) for field in fields}
    return {field: values for field, values in both.items() if values[0] != values[1]}


def field_name(path: str) -> str:
    """load.rate_per_s → Rate, requests/s; steps.0.path → Path; steps.1.path → Step 2 path.

    A field of the registry has its label; a plan inside other settings begins with "plan.".
    """
    path = path.removeprefix("plan.")
    row = all_fields(Plan).get(path)
    if path in _NAMES:
        return _NAMES[path]
    if row and row.label:
        heading = _UNDER.get(path.rpartition(".")[0])
        label = f"{heading}: {row.label.lower()}" if heading else row.label
        return f"{label}, {row.unit}" if row.unit else label
    head, _, rest = path.partition(".")
    if head == "steps":
        index, _, rest = rest.partition(".")
        rest = rest if index == "0" else f"step {int(index) + 1} {rest}"
    if head == "thresholds":
        index, _, rest = rest.partition(".")
        rest = f"threshold {int(index or 0) + 1} {rest}"
    name = (rest or head).replace(".", " ")
    unit = next((unit for unit in _UNITS if name.endswith(unit)), "")
    words = name.removesuffix(unit).replace("_", " ") + _UNITS.get(unit, "")
    return words[:1].upper() + words[1:]


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
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(": ".join(each) if isinstance(each, list) else str(each) for each in value)
    return f"{value:.15g}" if isinstance(value, float) else str(value)
