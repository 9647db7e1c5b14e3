"""A sweep: the same test at several values of one number, of the plan or of the injectors.

Which numbers of a plan can vary is what the registry of plan fields knows as one.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from campaigns.domain.errors import InvalidPlan, Refused
from campaigns.domain.plan.fields import PlanField, all_fields
from campaigns.domain.plan.plan import Plan
from campaigns.domain.units import and_joined, counted

INJECTORS = "injectors"
MAX_POINTS = 20
# What more of it divides among itself: speed-up and efficiency mean something.
DIVIDED = frozenset({INJECTORS, "connections"})
# Numbers whose labels are no noun that an amount can follow.
_PHRASES = {
    "hold_s": "a holding time of {}",
    "over_s": "a spread over {}",
    "max_in_flight": "a limit of {} in flight",
    "start_offset_s": "a stagger of {}",
    "timeouts.connect_s": "a connect timeout of {}",
    "timeouts.tls_s": "a TLS timeout of {}",
    "timeouts.total_s": "a reply timeout of {}",
    "order.block_repeat": "a block size of {}",
    "exchange.close_timeout_s": "a close timeout of {}",
    "session.think_time.mean_s": "a mean think time of {}",
    "session.think_time.min_s": "a shortest think time of {}",
    "session.think_time.max_s": "a longest think time of {}",
}
_FEW_VALUES = 4  # of which a sentence names each
_CODES = frozenset({"exchange.close_code"})  # no amounts: 1000, not 1,000
BEYOND_VALUES, _DECIMALS = 10**9, 6
_NUMBER = rf"\d{{1,9}}(?:\.\d{{1,{_DECIMALS}}})?"
_RANGE = re.compile(rf"({_NUMBER}) to ({_NUMBER})(?: step ({_NUMBER}))?")


@dataclass(frozen=True, slots=True)
class Sweep:
    """`field`: a key of `sweep_fields`, or INJECTORS; `values` in the order of the tests."""

    field: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SweepField:
    """`path`: where the number is in a plan's JSON."""

    key: str
    path: tuple[str, ...]
    row: PlanField
    label: str

    @property
    def unit(self) -> str:
        return self.row.unit


@cache
def sweep_fields() -> Mapping[str, SweepField]:
    """Every number of a plan by its key: its path, for those of the load without `load.`."""
    rows = all_fields(Plan)
    fields = {}
    for path, row in rows.items():
        if row.is_number:
            key = path.removeprefix("load.")
            # Think time, mean: a part with kinds is called as the choice of its kind.
            kind = rows.get(f"{path.rpartition('.')[0]}.kind")
            label = f"{kind.label}, {row.label.lower()}" if kind else row.label
            fields[key] = SweepField(key, tuple(path.split(".")), row, label)
    return fields


def parameter_label(field: str) -> str:
    return "Injector processes" if field == INJECTORS else sweep_fields()[field].label


def parameter_unit(field: str) -> str:
    return "" if field == INJECTORS else sweep_fields()[field].unit


def value_text(value: float) -> str:
    return f"{_exact(value):,f}"


def _exact(value: float) -> Decimal:
    """To the last digit, as it was typed."""
    return Decimal(repr(value)).normalize()


def values_words(values: Sequence[float]) -> str:
    """9; 9 and 12; 2, 4 and 8; 6 values."""
    if len(values) > _FEW_VALUES:
        return counted(len(values), "values")
    return and_joined(list(map(value_text, values)))


def point_words(field: str, value: float) -> str:
    """2 injector processes; 8 connections; rate of 200 requests/s."""
    return point_phrase(field, value).removeprefix("a ")


def point_phrase(field: str, value: float) -> str:
    """As a sentence says it: 2 injector processes; 8 connections; a rate of 200 requests/s."""
    nouns = "injector processes" if field == INJECTORS else _label_in_text(field)
    # Connections, requests per burst: what a label without a unit counts.
    is_counted = not parameter_unit(field) and nouns.partition(" per ")[0].endswith("s")
    if is_counted and field not in _PHRASES:
        things, per, of = nouns.partition(" per ")
        return f"{value_text(value)} {_singular(things) if value == 1 else things}{per}{of}"
    if field in _CODES:
        return f"a {_label_in_text(field)} {value:g}"
    things, per, time = parameter_unit(field).partition("/")
    if value == 1 and per:  # 1 request/s, but 1 B
        things = _singular(things)
    amount = f"{value_text(value)} {things}{per}{time}".rstrip()
    return _PHRASES.get(field, f"a {_label_in_text(field)} of {{}}").format(amount)


def at_point(field: str, value: float) -> str:
    """with 8 connections; at a rate of 200 requests/s."""
    word = "at" if parameter_unit(field).endswith("/s") else "with"
    return f"{word} {point_phrase(field, value)}"


def _singular(nouns: str) -> str:
    return counted(1, nouns).removeprefix("1 ")


def _label_in_text(field: str) -> str:
    label = parameter_label(field)
    return label[0].lower() + label[1:]


def swept_plan(plan: Plan, field: str, value: float) -> Plan:
    """The plan with this one number replaced. Raises Refused if it cannot have it, and says why."""
    spec = plan.to_json()
    if _owner(spec, field) is None:
        raise Refused(f"This plan has no {parameter_label(field).lower()}; sweep something else.")
    sweep_field = sweep_fields()[field]
    is_whole = sweep_field.row.kind is int and float(value).is_integer()
    _owner(spec, field)[sweep_field.path[-1]] = int(value) if is_whole else value
    try:
        return Plan.from_json(spec)
    except InvalidPlan as invalid:
        why = next(iter(invalid.errors.values()))
        raise Refused(f"It cannot be measured {at_point(field, value)}: {why}") from None


def number_of(plan: Plan, field: str) -> float | None:
    """The plan's own value of what can be swept; None if it has no such number."""
    owner = _owner(plan.to_json(), field)
    return owner.get(sweep_fields()[field].path[-1]) if owner else None


def fields_used_by(plans: Sequence[Plan]) -> list[SweepField]:
    """Those that at least one of the plans uses."""
    specs = [plan.to_json() for plan in plans]
    return [each for each in sweep_fields().values() if any(_uses(spec, each) for spec in specs)]


def _uses(spec: Mapping[str, Any], field: SweepField) -> bool:
    owner = _owner(spec, field.key)
    if owner is None or (field.row.http_only and spec.get("exchange")):
        return False
    kind = owner.get("model") or owner.get("kind")
    return not field.row.used_by or kind in field.row.used_by


def _owner(spec: Mapping[str, Any], field: str) -> dict[str, Any] | None:
    if field not in sweep_fields():
        raise Refused(f"There is no number {field!r} to sweep. Known: {', '.join(known_fields())}.")
    owner: Any = spec
    for name in sweep_fields()[field].path[:-1]:
        owner = owner.get(name)
        if owner is None:
            return None
    return owner


def known_fields() -> list[str]:
    return [INJECTORS, *sweep_fields()]


def values_of_text(text: str) -> tuple[float, ...]:
    """Of "100, 200, 400" or "100 to 800 step 100". Raises ValueError with what to type."""
    words = " ".join(text.split())
    if match := _RANGE.fullmatch(words):
        low, high, step = (float(each or 1) for each in match.groups())
        # At most one more than a sweep may have.
        steps = [round(low + number * step, _DECIMALS) for number in range(MAX_POINTS + 1)]
        values = tuple(value for value in steps if step and value <= high)
    else:
        numbers = [word for word in re.split(r"[,\s]+", words) if word]
        if not numbers or not all(re.fullmatch(_NUMBER, word) for word in numbers):
            raise ValueError("Enter a list such as 100, 200, 400, or a range: 100 to 800 step 100.")
        values = tuple(map(float, numbers))
    if not 2 <= len(values) <= MAX_POINTS:
        raise ValueError(f"A sweep has 2 to {MAX_POINTS} values; these are {len(values)}.")
    return checked_values(values)


def checked_values(values: Sequence[float]) -> tuple[float, ...]:
    """Those that can be typed, each once: a sentence names them with all their digits. Raises
    ValueError with what to write."""
    if not all(0 <= value < BEYOND_VALUES and value == round(value, _DECIMALS) for value in values):
        raise ValueError(
            f"Write numbers from 0 to below {BEYOND_VALUES:,} with at most {_DECIMALS} decimals."
        )
    if len(set(values)) < len(values):
        raise ValueError("List each value only once.")
    return tuple(values)


def text_of_values(values: Sequence[float]) -> str:
    return ", ".join(f"{_exact(value):f}" for value in values)
