"""Reads values from parsed JSON and collects errors by field path."""

import sys
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from campaigns.domain.typed_text import has_unit


class JsonReader:
    """Reads values from JSON and collects errors, so that all are reported at once."""

    def __init__(self, data: Any, path: str = "", errors: dict[str, str] | None = None):
        self.errors = {} if errors is None else errors
        self.path = path
        self.data = data if isinstance(data, dict) else {}
        if not isinstance(data, dict):
            self.errors[path or "plan"] = "Write an object with named fields."

    def child(self, name: str) -> "JsonReader":
        return JsonReader(self.data.get(name, {}), self._path(name), self.errors)

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def fail(self, name: str, sentence: str) -> None:
        self.errors.setdefault(self._path(name), sentence)

    def refuse_unknown(self, *known: str) -> None:
        for name in sorted(set(self.data) - set(known)):
            self.fail(name, f"There is no field {name!r} here. Known: {', '.join(known)}.")

    def number(
        self,
        name: str,
        default: float | None = None,
        *,
        low: float,
        high: float,
        whole: bool = False,
        above_low: bool = False,
        amount: Callable[[str], float] | None = None,
    ) -> float | None:
        """A number in [low, high] (or above low), or the default if missing. `amount` reads a text
        that ends with a unit, such as 500ms."""
        value = self.data.get(name)
        if amount and has_unit(value):
            try:
                value = amount(value)
            except ValueError as fault:
                self.fail(name, f"{fault}.")
                return default
        if value is None or value == "":
            return default
        bounds = f"{'above' if above_low else 'from'} {_digits(low)} to {_digits(high)}"
        kind = "a whole number" if whole else "a number"
        if not is_number(value) or (whole and value != int(value)):
            self.fail(name, f"Write {kind} {bounds}.")
            return default
        if value > high or value < low or (above_low and value == low):
            self.fail(name, f"{_digits(value)} is outside: write {kind} {bounds}.")
            return default
        return int(value) if whole else float(value)

    def text(self, name: str, default: str = "", limit: int = 2000) -> str:
        value = self.data.get(name, default)
        if not isinstance(value, str):
            self.fail(name, "Write text.")
            return default
        if len(value) > limit:
            self.fail(name, f"{len(value):,} characters are too many; at most {limit:,}.")
            return default
        return value

    def boolean(self, name: str, default: bool) -> bool:
        value = self.data.get(name, default)
        if not isinstance(value, bool):
            self.fail(name, "Write true or false.")
            return default
        return value

    def choice(self, name: str, kind: type[StrEnum], default: Any) -> Any:
        value = self.data.get(name, default)
        try:
            return kind(value)
        except ValueError:
            self.fail(name, f"Choose one of: {', '.join(kind)}.")
            return default


def is_number(value: Any) -> bool:
    """Python reads NaN and Infinity, too, and whole numbers that are larger than any float."""
    is_any = isinstance(value, int | float) and not isinstance(value, bool)
    return is_any and abs(value) <= sys.float_info.max


def _digits(number: float) -> str:
    """All of them: rounded, a number just outside would look like its bound."""
    return f"{int(number):,}" if abs(number) < 1e15 and number == int(number) else f"{number:,}"
