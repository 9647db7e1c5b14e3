"""Reads the JSON of `sadf -j`."""

import json
from collections.abc import Iterator
from typing import Any

from campaigns.domain.printed.lines import PrintedLine, not_understood, refused
from campaigns.domain.printed.output import PrintedBy, PrintedOutput, PrintedValue

_NO_SADF = "This JSON is not the output of sadf -j: it has no statistics of a host."
_DEEPEST = 8


def read_sadf(text: str) -> PrintedOutput:
    """Of the first host. Raises InvalidFields."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        at = min(error.lineno, text.count("\n") + 1)
        raise not_understood(PrintedLine(at, text.split("\n")[at - 1]), PrintedBy.SADF) from None
    except (RecursionError, ValueError):
        raise refused(_NO_SADF) from None
    host = _host(data)
    told: dict[tuple[str, str], list[float]] = {}
    unknown: dict[str, None] = {}
    for each in host["statistics"]:
        for name, of, value in _walk(each, "", ""):
            if isinstance(value, int | float) and not isinstance(value, bool):
                told.setdefault((name, of), []).append(float(value))
            elif not name.startswith("timestamp"):
                unknown[f"{name}: {str(value)[:100]}"] = None
    if not told:
        raise refused(_NO_SADF)
    values = (
        PrintedValue.mean_of(name, series, _unit(name), of) for (name, of), series in told.items()
    )
    about = " ".join(str(host.get(key, "")) for key in ("sysname", "release", "nodename"))
    return PrintedOutput(PrintedBy.SADF, tuple(values), about.strip(), unknown=tuple(unknown))


def _host(data: Any) -> dict[str, Any]:
    try:
        host = data["sysstat"]["hosts"][0]
        is_host = isinstance(host["statistics"], list)
    except (KeyError, IndexError, TypeError):
        is_host = False
    if not is_host:
        raise refused(_NO_SADF)
    return host


def _walk(data: Any, section: str, of: str, depth: int = 0) -> Iterator[tuple[str, str, Any]]:
    """(name with its section, what it belongs to, value). In a list each entry has its name in its
    first text, such as {"cpu": "all", …}."""
    if depth > _DEEPEST:
        yield section, of, "nested too deeply"
    elif isinstance(data, list):
        for each in data:
            texts = each.items() if isinstance(each, dict) else ()
            key = next((name for name, text in texts if isinstance(text, str)), None)
            rest = {name: one for name, one in texts if name != key} if key else each
            name = each[key] if key else of
            yield from _walk(rest, section, "" if name == "all" else name, depth + 1)
    elif isinstance(data, dict):
        for name, each in data.items():
            is_leaf = not isinstance(each, dict | list)
            inner = f"{section} {name}".strip() if is_leaf else name
            yield from _walk(each, inner, of, depth + 1)
    else:
        yield section, of, data


def _unit(name: str) -> str:
    section, _, key = name.partition(" ")
    is_share = section.startswith("cpu-load") or key.endswith("-percent")
    return "%" if is_share or key.startswith("percent") else ""
