"""Values that differ from request to request: from a table, made for it (`generators`), or taken
out of an earlier reply.

`${name}` in a path, a header's value or a body is replaced by one. In a plan without variables it
is plain text.

Values that are made for each request: ids, numbers, choices and times, each under its name.

As people write them, one a line: `id = uuid`, `n = counter 1000`, `size = integer 1 to 9`,
`kind = choice book, pen`, `at = time ms`."""

import csv
import io
import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from typing import Any
from urllib.parse import quote
from uuid import UUID

from campaigns.domain.plan.fields import choice, listed, read_scalars, text
from campaigns.domain.plan.reply_rules import VARIABLE_NAME
from campaigns.domain.plan.step import Step, draw
from campaigns.domain.typed_text import JsonReader

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
    return [_parse_line(line) for line in text.splitlines() if line.strip()]


def _parse_line(line: str) -> dict[str, Any]:
    match = _LINE.fullmatch(line)
    if match is None:
        return {"name": line.strip()[:64], "kind": ""}
    name, kind, more = match.groups()
    generator = {"name": name, "kind": kind.lower()}
    bounds = _RANGE.fullmatch(more)
    if generator["kind"] == GeneratorKind.INTEGER and bounds:
        return {**generator, "low": int(bounds[1]), "high": int(bounds[2])}
    if generator["kind"] == GeneratorKind.COUNTER and re.fullmatch(r"-?\d{1,16}", more):
        return {**generator, "low": int(more)}
    if generator["kind"] == GeneratorKind.CHOICE:
        return {**generator, "words": [word.strip() for word in more.split(",")]}
    if generator["kind"] == GeneratorKind.TIME and more:
        return {**generator, "clock": more.lower()}
    return {**generator, "more": more} if more else generator


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
    generators = tuple(
        _read(JsonReader(item, f"{path}.{index}", reader.errors)) for index, item in enumerate(raw)
    )
    if len({each.name for each in generators}) < len(generators):
        reader.fail("generators", "Use each name once.")
    return generators


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
        line = f"{name} = {kind}" if kind else name
        reader.fail("kind", f"{line!r} cannot be made. Write such as {EXAMPLES}.")
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
        self._makers: list[tuple[str, Callable[[int], str]]] = []
        self._clocks: list[tuple[str, Callable[[int], str]]] = []
        for each in generators:
            if each.kind == GeneratorKind.TIME:
                self._clocks.append((each.name, _CLOCKS[each.clock]))
            else:
                self._makers.append((each.name, self._maker(each)))

    def values(self, number: int) -> dict[str, str]:
        """Of use `number`, but for times."""
        return {name: make(number) for name, make in self._makers}

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
        return lambda number: str(
            UUID(bytes=blake2b(salt + b"%d" % number, digest_size=16).digest(), version=4)
        )


def _iso(epoch_ns: int) -> str:
    moment = datetime.fromtimestamp(epoch_ns // 1_000_000 / 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"


_CLOCKS: dict[Clock, Callable[[int], str]] = {
    Clock.SECONDS: lambda epoch_ns: str(epoch_ns // 1_000_000_000),
    Clock.MILLISECONDS: lambda epoch_ns: str(epoch_ns // 1_000_000),
    Clock.ISO: _iso,
}


_BYTE_ORDER_MARK = "\ufeff"  # spreadsheets write one
MAX_CSV_BYTES = 256 * 1024
MAX_ROWS = 10_000
MAX_COLUMNS = 50
_USE = re.compile(r"\$\{([^${}]{0,100})\}")
_PATH_SAFE = "/?&=%:@!$'()*+,;~-._"
_NOT_FOR_HEADERS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class RowOrder(StrEnum):
    SEQUENTIAL = "sequential"
    RANDOM = "random"


@dataclass(frozen=True)
class Variables:
    """`csv`: a table whose first row has the names. Each request, or session, gets a row."""

    # fmt: off
    csv: str = text("Table (CSV)", high=MAX_CSV_BYTES,
        help="The first row has the names. ${name} in a path, a header or a body becomes a "
        "value; each request (each session where users have their own, each WebSocket) takes the "
        "next row. Everybody who sees the plan sees the table, so put no secrets in it.",
        detail=f"At most {MAX_ROWS:,} rows and {MAX_COLUMNS} columns, with commas, semicolons or "
        "tabs between values.")
    order: RowOrder = choice("Rows", RowOrder.SEQUENTIAL,
        {RowOrder.SEQUENTIAL: "One after another", RowOrder.RANDOM: "At random"},
        help="Which row comes next: the one below, or one drawn by the recorded seed.",
        option="--csv-order",
        option_help="which row of --csv comes next: the one below, or one drawn by --seed")
    generators: tuple[Generator, ...] = listed("Made for each request",
        f"list of up to {MAX_GENERATORS} objects, []", later=True,
        help=f"One per line: {EXAMPLES}. ${{name}} is then a new value where a row would be the "
        "next one; a time is that of the request. A counter starts anew in each run, and no two "
        "injector processes use the same number.",
        detail='`{"name", "kind"}` with `low` of a counter (1), `low` and `high` of an integer, '
        '`words` of a choice, `clock` of a time: "s" or "ms" since 1970, or "iso".',
        from_text=parse_lines, to_text=write_lines)
    # fmt: on

    @cached_property
    def table(self) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
        """(names, rows); ValueError and csv.Error where it is no table."""
        lines = io.StringIO(self.csv.removeprefix(_BYTE_ORDER_MARK))
        # No name has one of these, so the first row says what is between values.
        between = next((each for each in ",;\t" if each in self.csv.partition("\n")[0]), ",")
        rows = [tuple(row) for row in csv.reader(lines, delimiter=between, strict=True) if row]
        return (rows[0], tuple(rows[1:])) if rows else ((), ())

    def values(self, row: int) -> dict[str, str]:
        names, rows = self.table
        return dict(zip(names, rows[row], strict=True))


NO_VARIABLES = Variables()


def names_used(step: Step) -> set[str]:
    texts = [step.path, step.body, *(value for _, value in (*step.headers, *step.form))]
    texts += [part.value for part in step.multipart]
    return {name for text in texts for name in _USE.findall(text)}


def declared_names(variables: Variables, steps: Iterable[Step]) -> set[str]:
    return {
        *variables.table[0],
        *(each.name for each in variables.generators),
        *(each.name for step in steps for each in step.extract),
    }


def needed_values(variables: Variables, steps: Sequence[Step]) -> dict[str, int]:
    """Of each value that a reply must give, because a step uses it and nothing else has it: the
    first step that gives it."""
    available = {*variables.table[0], *(each.name for each in variables.generators)}
    step_names = {name for step in steps for name in names_used(step)} - available
    givers: dict[str, int] = {}
    for index, step in enumerate(steps):
        for each in step.extract:
            if each.name in step_names and not each.may_miss:
                givers.setdefault(each.name, index)
    return givers


def filled_in(step: Step, values: Mapping[str, str]) -> Step:
    """The step with its values; values not yet known are empty.

    Values are written so that they stay what they are: percent-encoded in a path where they must
    be, without line ends in a header and there in UTF-8 where ISO 8859-1 does not do, as they are
    in a body.
    """
    return replace(
        step,
        path=_fill(step.path, values, lambda text: quote(text, safe=_PATH_SAFE)),
        headers=tuple((name, _fill(value, values, _for_header)) for name, value in step.headers),
        body=filled_text(step.body, values),
        form=tuple((name, filled_text(value, values)) for name, value in step.form),
        multipart=tuple(
            replace(part, value=filled_text(part.value, values)) for part in step.multipart
        ),
    )


def _for_header(text: str) -> str:
    text = _NOT_FOR_HEADERS.sub("", text)
    return text.encode().decode("latin-1") if any(ch > "\xff" for ch in text) else text


def filled_text(text: str, values: Mapping[str, str]) -> str:
    """With values as they are."""
    return _fill(text, values, str)


def _fill(text: str, values: Mapping[str, str], write: Any) -> str:
    if "${" not in text:
        return text
    return _USE.sub(lambda use: write(values.get(use[1], "")), text)


def read_variables(reader: JsonReader, steps: tuple[Step, ...]) -> Variables:
    generators = read_generators(reader)
    variables = Variables(**read_scalars(reader, Variables), generators=generators)
    fault = _table_fault(variables)
    if fault:
        reader.fail("csv", fault)
        return NO_VARIABLES
    if twice := {each.name for each in generators} & set(variables.table[0]):
        reader.fail("generators", f"{min(twice)} is a column of the table already.")
    names = declared_names(variables, steps)
    unknown = sorted({name for step in steps for name in names_used(step)} - names)
    if names and unknown:
        reader.fail(
            "csv", f"${{{unknown[0]}}} is used, but no column, no line and no extraction gives it."
        )
    return variables


def _table_fault(variables: Variables) -> str | None:
    try:
        names, rows = variables.table
    except csv.Error as error:
        return f"This is not CSV: {error}."
    if not names:
        return None
    wrong = [name for name in names if not VARIABLE_NAME.fullmatch(name)]
    if wrong:
        return f"{wrong[0]!r} is not a name. The first row has the names: letters, digits and _."
    if len(set(names)) < len(names) or len(names) > MAX_COLUMNS:
        return f"Write at most {MAX_COLUMNS} names, each once."
    if not 1 <= len(rows) <= MAX_ROWS:
        return f"Write 1 to {MAX_ROWS:,} rows below the names."
    for number, row in enumerate(rows, 1):
        if len(row) != len(names):
            return f"Row {number} has {len(row)} values for {len(names)} names."
        if any("\0" in value for value in row):
            return f"Row {number} has a NUL character."
    return None
