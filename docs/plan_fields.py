"""What docs/ has of the registry of plan fields: tables, and the JSON schema's plan.

`python -m docs.write` updates the files; a test fails if they are out of date.
"""

import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from campaigns.domain.plan.fields import PlanField, all_fields, fields_of
from campaigns.domain.plan.plan import Plan
from campaigns.domain.presentation.plan_words import option_help


def type_words(field: PlanField) -> str:
    """Type, bounds and default: "whole number, 1 to 20,000; null"."""
    if field.is_choice:
        words = {str(value): " (default)" if value == field.default else "" for value in field.kind}
        return ", ".join(f"`{value}`{default}" for value, default in words.items())
    if field.kind is None:
        return field.typed or "object"
    if field.kind is bool:
        return f"true or false; {_json_words(field.default)}"
    if field.kind is str:
        return f"text up to {field.high:,}; {_json_words(field.default)}"
    noun = "seconds" if field.unit == "s" else "number"
    noun = f"whole {noun}" if field.kind is int else noun
    bounds = f" above 0 to {field.high:,}" if field.positive else f", {field.low} to {field.high:,}"
    return f"{noun}{bounds}; {_json_words(field.default)}"


def _json_words(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"


_TABLE = re.compile(r"(<!-- (fields|options): ([a-z_., ]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_HEADS = {"fields": "field | type, default | meaning", "options": "option | meaning"}
_WIDTH = 110


def written_tables(text: str) -> str:
    """Markdown with the tables below <!-- fields: load --> or <!-- options: load --> regenerated.

    With several parts (`options: load, session`) the field names are prefixed with their part's.
    """
    return _TABLE.sub(_table, text)


def _table(match: re.Match[str]) -> str:
    start, what, names, end = match.groups()
    rows = map(_line, (_field_rows if what == "fields" else _option_rows)(names.split(", ")))
    head = _HEADS[what]
    rule = "|---" * (head.count("|") + 1) + "|"
    return start + "\n".join(["", f"| {head} |", rule, *rows, "", end])


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _fields_at(path: str) -> dict[str, PlanField]:
    return dict(fields_of(Plan if path == "plan" else all_fields(Plan)[path].part))


def _field_rows(paths: list[str]) -> Iterator[tuple[str, ...]]:
    for path in paths:
        prefix = f"{path}." if len(paths) > 1 else ""
        for name, field in _fields_at(path).items():
            http_only = "Not with an `exchange`." if field.http_only else ""
            meaning = " ".join(filter(None, (field.help, field.detail, http_only)))
            yield f"`{prefix}{name}`", type_words(field), meaning


def _option_rows(paths: list[str]) -> Iterator[tuple[str, ...]]:
    for path in paths:
        for field in _fields_at(path).values():
            if field.option:
                choices = f" {'|'.join(field.kind)}" if field.is_choice else ""
                yield f"`{field.option}{choices}`", option_help(field)


def written_schema(text: str) -> str:
    """The protocol's JSON schema with the plan's scalar fields regenerated; the rest is kept."""
    schema = json.loads(text)
    definitions = schema["$defs"]
    _write_fields(definitions["plan"], Plan, definitions)
    return _dumped(schema) + "\n"


def _write_fields(node: dict[str, Any], owner: type, definitions: dict[str, Any]) -> None:
    """`kept`: the definitions, where some parts of a plan have theirs."""
    properties = node["properties"]
    for name, field in fields_of(owner).items():
        if field.part:
            _write_fields(
                definitions[name] if name in _DEFINED else properties[name], field.part, definitions
            )
        elif field.kind is not None:
            texts = {key: properties[name][key] for key in _SAID & properties.get(name, {}).keys()}
            properties[name] = texts | _schema_of(field)
    later = {name for name, field in fields_of(owner).items() if field.later}
    node["required"] = [name for name in properties if name not in later]


# Parts of a plan that the schema has as definitions; the others are written out where they are.
_DEFINED = {"load", "timeouts", "exchange"}
_SAID = {"description"}


def _schema_of(field: PlanField) -> dict[str, Any]:
    if field.is_choice:
        return {"enum": [str(value) for value in field.kind]}
    if not field.is_number:
        return {"type": "boolean" if field.kind is bool else "string"}
    kind = "integer" if field.kind is int else "number"
    least = "exclusiveMinimum" if field.positive else "minimum"
    nullable = [kind, "null"] if field.default is None else kind
    return {"type": nullable, least: field.low, "maximum": field.high}


def _dumped(value: Any, indent: str = "", used: int = 0) -> str:
    """JSON on one line where it fits beside what is there already, else a line for each part."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + used + len(line) < _WIDTH or not isinstance(value, dict | list) or not value:
        return line
    deeper = f"{indent}  "
    if isinstance(value, dict):
        parts = (
            f"{json.dumps(key)}: {_dumped(each, deeper, len(key) + 4)}"
            for key, each in value.items()
        )
        return "{\n" + ",\n".join(deeper + part for part in parts) + f"\n{indent}}}"
    parts = [_dumped(each, deeper) for each in value]
    if isinstance(value[0], dict | list):
        return "[\n" + ",\n".join(deeper + part for part in parts) + f"\n{indent}]"
    wrapped = textwrap.wrap(
        ", ".join(parts), _WIDTH, initial_indent=deeper, subsequent_indent=deeper
    )
    return "[\n" + "\n".join(wrapped) + f"\n{indent}]"
