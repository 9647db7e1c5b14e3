"""A plan field in words: its type, its option's help, what a plan's page says of its value."""

from typing import Any

from campaigns.domain.plan.fields import PlanField, fields_of


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


def option_help(field: PlanField) -> str:
    """What the option of the command line does, and its default in brackets."""
    words = (field.option_help or field.help).removesuffix(".")
    words = words[0].lower() + words[1:]
    return f"{words} ({field.option_default or _default_words(field)})"


def _default_words(field: PlanField) -> str:
    if field.kind is bool:
        return "off"
    if field.default is None or field.default == ():
        return "none"
    return f"{field.default:g} {field.unit}".strip() if field.is_number else str(field.default)


def field_facts(part: Any) -> list[tuple[str, str]]:
    """[(label, words)] of the fields of a plan's part that are not at their default."""
    return [
        (row.label, row.fact.format(value))
        for name, row in fields_of(type(part)).items()
        if row.fact and (value := getattr(part, name)) != row.default
    ]
