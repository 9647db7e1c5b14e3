"""Reads values from parsed JSON and collects errors by field path. And what a form was opened with,
so that saving it puts nothing back that was changed since: a form replaces every part of what it
edits. It carries a short digest of each part as it was when it was opened; who saves it compares
these with what is stored by then."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from hashlib import blake2s
from typing import Any

from campaigns.domain.errors import ChangedMeanwhile
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


Content = Mapping[str, Any]  # JSON; of an object in it, each field is a part


def version_token(content: Content) -> str:
    """What a form carries: "name=0f3c8a21 load.rate_per_s=…"."""
    return " ".join(f"{path}={digest}" for path, digest in _digests(content).items())


def check_unchanged(opened: str | None, *, stored: Content, wanted: Content) -> None:
    """Raise ChangedMeanwhile if saving what is `wanted` would put back a part that is `stored` in
    another way since the form was `opened`. None: nobody looked at it before."""
    if opened is None:
        return
    before = dict(part.partition("=")[::2] for part in opened.split())
    now, after = _digests(stored), _digests(wanted)
    paths = [*now, *(path for path in before if path not in now)]
    changed = [
        path
        for path in paths
        if before.get(path) != now.get(path) and now.get(path) != after.get(path)
    ]
    if changed:
        raise ChangedMeanwhile(changed, version_token(stored))


def _digests(content: Content) -> dict[str, str]:
    return {
        path: blake2s(json.dumps(value, sort_keys=True).encode(), digest_size=4).hexdigest()
        for path, value in _parts(content)
    }


def _parts(content: Content, start: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from _parts(value, f"{start}{name}.")
        else:
            yield f"{start}{name}", value
