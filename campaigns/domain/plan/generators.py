"""Values that are made for each request: ids, numbers, choices and times, each under its name.

As people write them, one a line: `id = uuid`, `n = counter 1000`, `size = integer 1 to 9`,
`kind = choice book, pen`, `at = time ms`.
"""

import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from typing import Any
from uuid import UUID

from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.reply_rules import VARIABLE_NAME
from campaigns.domain.plan.step_order import draw

MAX_GENERATORS, MAX_WORDS, MAX_WORD = 50, 1000, 200
MAX_NUMBER = 10**15
EXAMPLES = "id = uuid, n = counter 1, size = integer 1 to 9, kind = choice a, b or at = time ms"
_LINE = re.compile(r"\s*(\S+?)\s*=\s*(\w+)\s*(.*?)\s*")
_RANGE = re.compile(r"(-?\d{1,16})\s*(?:to|-|\.\.)\s*(-?\d{1,16})")


class GeneratorKind(StrEnum):
    UUID = "uuid"
    COUNTER = "counter"
    INTEGER = "integer"
    CHOICE = "choice"
    TIME = "time"


class Clock(StrEnum):
    """Seconds or milliseconds since 1970, or 2026-11-29T08:15:30.123Z."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    ISO = "iso"


@dataclass(frozen=True, slots=True)
class Generator:
    """A counter counts uses from `low`; an integer is from `low` to `high`, both included."""

    name: str
    kind: GeneratorKind
    low: int = 1
    high: int = 1
    words: tuple[str, ...] = ()
    clock: Clock = Clock.SECONDS

    @property
    def line(self) -> str:
        """As `parse_lines` reads it."""
        match self.kind:
            case GeneratorKind.COUNTER:
                more = str(self.low)
            case GeneratorKind.INTEGER:
                more = f"{self.low} to {self.high}"
            case GeneratorKind.CHOICE:
                more = ", ".join(self.words)
            case GeneratorKind.TIME:
                more = str(self.clock)
            case _:
                more = ""
        return f"{self.name} = {self.kind} {more}".rstrip()

    def to_json(self) -> dict[str, Any]:
        values: dict[str, Any] = {"name": self.name, "kind": str(self.kind)}
        match self.kind:
            case GeneratorKind.COUNTER:
                values |= {"low": self.low}
            case GeneratorKind.INTEGER:
                values |= {"low": self.low, "high": self.high}
            case GeneratorKind.CHOICE:
                values |= {"words": list(self.words)}
            case GeneratorKind.TIME:
                values |= {"clock": str(self.clock)}
        return values


def parse_lines(text: str) -> list[dict[str, Any]]:
    """One value a line, as JSON; a line that cannot be read is one that the plan refuses."""
    return [_parsed(line) for line in text.splitlines() if line.strip()]


def _parsed(line: str) -> dict[str, Any]:
    match = _LINE.fullmatch(line)
    if match is None:
        return {"name": line.strip()[:64], "kind": ""}
    name, kind, more = match.groups()
    made = {"name": name, "kind": kind.lower()}
    bounds = _RANGE.fullmatch(more)
    if made["kind"] == GeneratorKind.INTEGER and bounds:
        return {**made, "low": int(bounds[1]), "high": int(bounds[2])}
    if made["kind"] == GeneratorKind.COUNTER and re.fullmatch(r"-?\d{1,16}", more):
        return {**made, "low": int(more)}
    if made["kind"] == GeneratorKind.CHOICE:
        return {**made, "words": [word.strip() for word in more.split(",")]}
    if made["kind"] == GeneratorKind.TIME and more:
        return {**made, "clock": more.lower()}
    return {**made, "more": more} if more else made


def write_lines(generators: Iterable[dict[str, Any]]) -> str:
    """What `parse_lines` reads, of the stored form."""
    return "\n".join(_read(JsonReader(each)).line for each in generators)


def read_generators(reader: JsonReader) -> tuple[Generator, ...]:
    """The field `generators` of the variables; what is wrong goes to the reader's errors."""
    raw = reader.data.get("generators") or []
    if not isinstance(raw, list | tuple) or len(raw) > MAX_GENERATORS:
        reader.fail("generators", f"Write a list of at most {MAX_GENERATORS} values.")
        return ()
    path = f"{reader.path}.generators" if reader.path else "generators"
    read = tuple(
        _read(JsonReader(item, f"{path}.{index}", reader.errors)) for index, item in enumerate(raw)
    )
    if len({each.name for each in read}) < len(read):
        reader.fail("generators", "Use each name once.")
    return read


_USED = {
    GeneratorKind.UUID: (),
    GeneratorKind.COUNTER: ("low",),
    GeneratorKind.INTEGER: ("low", "high"),
    GeneratorKind.CHOICE: ("words",),
    GeneratorKind.TIME: ("clock",),
}


def _read(reader: JsonReader) -> Generator:
    name, kind = reader.text("name", limit=64), reader.text("kind")
    if not VARIABLE_NAME.fullmatch(name):
        reader.fail("name", f"{name!r} is not a name. Write such as {EXAMPLES}.")
    if kind not in list(GeneratorKind):
        reader.fail("kind", f"{name} = {kind} cannot be made. Write such as {EXAMPLES}.")
        return Generator(name, GeneratorKind.UUID)
    kind = GeneratorKind(kind)
    reader.refuse_unknown("name", "kind", *_USED[kind])
    bounds = {"low": -MAX_NUMBER, "high": MAX_NUMBER, "whole": True}
    low = reader.number("low", 1 if kind == GeneratorKind.COUNTER else None, **bounds)
    high = reader.number("high", None, **bounds)
    if kind == GeneratorKind.INTEGER and (low is None or high is None or low > high):
        reader.fail("low", f"Write two whole numbers, as in {name} = integer 1 to 9.")
    clock = reader.choice("clock", Clock, Clock.SECONDS)
    return Generator(name, kind, low or 0, high or 0, _read_words(reader, kind), clock)


def _read_words(reader: JsonReader, kind: GeneratorKind) -> tuple[str, ...]:
    words = reader.data.get("words", [])
    is_list = isinstance(words, list | tuple) and all(isinstance(each, str) for each in words)
    if kind == GeneratorKind.CHOICE and (
        not is_list
        or not 0 < len(words) <= MAX_WORDS
        or any(len(each) > MAX_WORD or "\0" in each for each in words)
    ):
        reader.fail(
            "words", f"Write 1 to {MAX_WORDS:,} texts of at most {MAX_WORD} characters each."
        )
        return ()
    return tuple(words) if is_list else ()


class ValueMaker:
    """Makes the values of uses by their numbers. `salt` makes ids differ from those of any other
    run; whatever else is random follows from the seed."""

    def __init__(self, generators: Iterable[Generator], seed: int, salt: bytes):
        self._seed, self._salt = seed, salt
        self._made: list[tuple[str, Callable[[int], str]]] = []
        self._clocks: list[tuple[str, Callable[[int], str]]] = []
        for each in generators:
            if each.kind == GeneratorKind.TIME:
                self._clocks.append((each.name, _CLOCKS[each.clock]))
            else:
                self._made.append((each.name, self._maker(each)))

    def values(self, number: int) -> dict[str, str]:
        """Of use `number`, but for times."""
        return {name: make(number) for name, make in self._made}

    @property
    def has_times(self) -> bool:
        return bool(self._clocks)

    def times(self, epoch_ns: int) -> dict[str, str]:
        return {name: write(epoch_ns) for name, write in self._clocks}

    def _maker(self, each: Generator) -> Callable[[int], str]:
        stream = self._seed ^ zlib.crc32(each.name.encode())
        match each.kind:
            case GeneratorKind.COUNTER:
                return lambda number: str(each.low + number)
            case GeneratorKind.INTEGER:
                size = each.high - each.low + 1
                return lambda number: str(each.low + (draw(stream, number) * size >> 64))
            case GeneratorKind.CHOICE:
                return lambda number: each.words[draw(stream, number) * len(each.words) >> 64]
        salt = self._salt + each.name.encode()
        return lambda number: _uuid(salt, number)


def _uuid(salt: bytes, number: int) -> str:
    return str(UUID(bytes=blake2b(salt + b"%d" % number, digest_size=16).digest(), version=4))


def _iso(epoch_ns: int) -> str:
    moment = datetime.fromtimestamp(epoch_ns // 1_000_000 / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


_CLOCKS: dict[Clock, Callable[[int], str]] = {
    Clock.SECONDS: lambda epoch_ns: str(epoch_ns // 1_000_000_000),
    Clock.MILLISECONDS: lambda epoch_ns: str(epoch_ns // 1_000_000),
    Clock.ISO: _iso,
}
