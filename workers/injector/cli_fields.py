"""Options of the command line that are fields of a plan: added and read by the registry's rows."""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from campaigns.domain.plan.fields import PlanField, fields_of
from campaigns.domain.presentation.field_words import option_help
from campaigns.domain.typed_text import AMOUNTS, seconds_in


def text_of(path: str) -> str:
    """The file's text in UTF-8, to the byte: opened as text, CR LF would become LF. Raises OSError,
    ValueError."""
    try:
        return Path(path).read_bytes().decode()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: this is no text in UTF-8 (byte {error.start + 1:,} cannot be read)."
        ) from None


def add_field_options(group: argparse._ActionsContainer, owner: type) -> None:
    for field in fields_of(owner).values():
        if field.option:
            flag, _, metavar = field.option.partition(" ")
            named = {"metavar": metavar} if metavar else {}
            words = option_help(field).replace("%", "%%")
            group.add_argument(flag, help=words, **named, **_how_to_read(field))


def given_fields(options: argparse.Namespace, owner: type) -> dict[str, Any]:
    """The fields that were given as options, as JSON has them."""
    values = {
        name: getattr(options, dest_of(field))
        for name, field in fields_of(owner).items()
        if field.option
    }
    return {name: value for name, value in values.items() if value is not None}


def flag_of(field: PlanField) -> str:
    """As it is typed: --ramp-up."""
    return field.option.partition(" ")[0]


def dest_of(field: PlanField) -> str:
    return flag_of(field).removeprefix("--").replace("-", "_")


def refuse_given(options: argparse.Namespace, owner: type, sentence: str) -> None:
    """Raises ValueError, "--option sentence", where an option asks for more than the default."""
    for name, value in given_fields(options, owner).items():
        field = fields_of(owner)[name]
        if value != field.default:
            raise ValueError(f"{flag_of(field)} {sentence}")


def _how_to_read(field: PlanField) -> dict[str, Any]:
    """What argparse needs; a list that is typed value by value is an option to repeat."""
    if field.kind is bool:
        return {"action": "store_const", "const": not field.default}
    if field.is_choice:
        # Argparse would print members as code: <Hold.CLOSE: 'close'>.
        return {"choices": list(map(str, field.kind))}
    if field.kind is None and field.from_text is None:
        return {"action": "append"}
    if field.kind in (int, float) and (read := AMOUNTS.get(field.unit)):
        return {"type": partial(read_amount, read=read, kind=field.kind)}
    return {"type": field.from_text or field.kind}


def read_amount(text: str, read: Callable[[str], float] = seconds_in, kind: type = float) -> float:
    """Seconds or a rate with its unit."""
    try:
        value = read(text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None
    if kind(value) != value:
        raise argparse.ArgumentTypeError(f"{text!r}: write whole seconds")
    return kind(value)
