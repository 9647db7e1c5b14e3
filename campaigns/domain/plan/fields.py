"""The registry of plan fields: one row for each field, with all that is known of it.

A row is written where its value lives, as the default of a dataclass attribute:

    ramp_up_s: float = number("Ramp-up", 0.0, low=0, high=MAX_DURATION_S, unit="s", help=…)

From the rows come the reading and checking of JSON, the fields of the plan form, the description in
the REST API, the options of the command line, docs/plan.md, docs/command-line.md and the plan in
docs/injector.schema.json. Rules between fields are code: load_rules, session, plan.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from campaigns.domain.typed_text import AMOUNTS, JsonReader


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanField:
    """`kind`: int, float, bool, str or an enum; None for lists and objects, which own code reads.

    What a value may be: from `low` to `high` (a text: at most `high` characters), above 0 where
    `positive`. `default` None: the field may be null. `used_by`: the load models, or the kinds of a
    part, that use it, and `needed`: each of them needs it. `http_only`: a WebSocket plan does not
    use it. `later`: it came after protocol 1 (domain.plan.frozen_run).

    Words: `label` and `help` on the form, `help` in the API and the docs, where `detail` adds what
    injectors must know. `example`: what a new form proposes, if not the default. `choices`: a label
    for each value of an enum. `fact`: how a plan's page says a value that is not the default.
    `group`: the part of the plan form that shows it on demand (forms.plan_groups); a field without
    one is always in sight, and a field of a part is where its part is.
    `option`: how the command line takes it, as in --ramp-up S, with its own help and default where
    these differ.
    """

    label: str = ""
    kind: type | None = None
    default: Any = None
    low: float = 0
    high: float = 0
    positive: bool = False
    unit: str = ""
    used_by: frozenset[str] = frozenset()
    needed: bool = False
    http_only: bool = False
    later: bool = False
    help: str = ""
    detail: str = ""
    example: Any = None
    choices: Mapping[str, str] = field(default_factory=dict)
    fact: str = ""
    group: str = ""
    option: str = ""
    option_help: str = ""
    option_default: str = ""
    # Of lists and objects: the type in words, and how they are typed as text.
    typed: str = ""
    from_text: Callable[[str], Any] | None = None
    to_text: Callable[[Any], str] | None = None
    part: type | None = None

    @property
    def is_choice(self) -> bool:
        return self.kind is not None and issubclass(self.kind, StrEnum)

    @property
    def is_number(self) -> bool:
        return self.kind in {int, float}

    def read(self, reader: JsonReader, name: str) -> Any:
        """The value in the reader's JSON; what is wrong with it goes to the reader's errors."""
        if self.is_number:
            bounds = {"low": self.low, "high": self.high, "above_low": self.positive}
            how = {"whole": self.kind is int, "amount": AMOUNTS.get(self.unit)}
            return reader.number(name, self.default, **bounds, **how)
        if self.kind is bool:
            return reader.boolean(name, self.default)
        if self.is_choice:
            return reader.choice(name, self.kind, self.default)
        return reader.text(name, self.default, limit=int(self.high))


def whole(label: str, default: int | None = None, **row: Any) -> Any:
    return _row(label=label, kind=int, default=default, **row)


def number(label: str, default: float | None = None, **row: Any) -> Any:
    return _row(label=label, kind=float, default=default, **row)


def flag(label: str, default: bool = False, **row: Any) -> Any:
    return _row(label=label, kind=bool, default=default, **row)


def text(label: str, default: str = "", **row: Any) -> Any:
    return _row(label=label, kind=str, default=default, **row)


def choice(label: str, default: StrEnum, choices: Mapping[StrEnum, str], **row: Any) -> Any:
    return _row(label=label, kind=type(default), default=default, choices=choices, **row)


def listed(label: str, typed: str, default: tuple = (), **row: Any) -> Any:
    return _row(label=label, typed=typed, default=default, **row)


def part(default: Any, kind: type | None = None, **row: Any) -> Any:
    """An object with fields of its own; `kind` where it may be null."""
    return _row(part=kind or type(default), default=default, **row)


def _row(**row: Any) -> Any:
    plan_field = PlanField(**{**row, "used_by": frozenset(row.get("used_by", ()))})
    return field(default=plan_field.default, metadata={"row": plan_field})


@cache
def fields_of(owner: type) -> Mapping[str, PlanField]:
    """The rows of a dataclass by name, in the order of the form."""
    return {each.name: each.metadata["row"] for each in fields(owner) if "row" in each.metadata}


@cache
def all_fields(owner: type) -> Mapping[str, PlanField]:
    """The rows of a dataclass and of its parts by path: load.ramp_up_s, session.think_time.kind."""
    return dict(_walk(owner, ""))


def _walk(owner: type, prefix: str) -> Iterator[tuple[str, PlanField]]:
    for name, row in fields_of(owner).items():
        yield prefix + name, row
        if row.part:
            yield from _walk(row.part, f"{prefix}{name}.")


@cache
def groups_of(owner: type) -> Mapping[str, str]:
    """The group of each row of a dataclass and of its parts by path; "" is always in sight."""
    rows = all_fields(owner)
    groups: dict[str, str] = {}
    for path, row in rows.items():
        groups[path] = row.group or groups.get(path.rpartition(".")[0], "")
    return groups


def read_scalars(reader: JsonReader, owner: type) -> dict[str, Any]:
    """The scalar fields of a dataclass from JSON; a field that it does not have is refused."""
    reader.refuse_unknown(*(each.name for each in fields(owner)))
    rows = fields_of(owner).items()
    return {name: row.read(reader, name) for name, row in rows if row.kind is not None}


def json_of(value: Any) -> dict[str, Any]:
    """A dataclass as JSON: objects for its parts, lists for tuples, words for enums."""
    return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}


def chosen_json(value: Any) -> dict[str, Any]:
    """The same without what is at its default."""
    rows = fields_of(type(value))
    return {
        name: chosen_json(value_given)
        if row.part and is_dataclass(value_given)
        else _plain(value_given)
        for name, row in rows.items()
        if (value_given := getattr(value, name)) != row.default
    }


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value):
        return json_of(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return str(value) if isinstance(value, StrEnum) else value
