"""Values that differ from request to request: from a table, made for it (`generators`), or taken
out of an earlier reply.

`${name}` in a path, a header's value or a body is replaced by one. In a plan without variables it
is plain text.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any
from urllib.parse import quote

from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.fields import choice, listed, read_scalars, text
from campaigns.domain.plan.generators import (
    EXAMPLES,
    MAX_GENERATORS,
    Generator,
    parse_lines,
    read_generators,
    write_lines,
)
from campaigns.domain.plan.reply_rules import VARIABLE_NAME
from campaigns.domain.plan.step import Step

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
    made = (each.name for each in variables.generators)
    return {*variables.table[0], *made, *(each.name for step in steps for each in step.extract)}


def needed_values(variables: Variables, steps: Sequence[Step]) -> dict[str, int]:
    """Of each value that a reply must give, because a step uses it and nothing else has it: the
    first step that gives it."""
    made = {*variables.table[0], *(each.name for each in variables.generators)}
    used = {name for step in steps for name in names_used(step)} - made
    givers: dict[str, int] = {}
    for index, step in enumerate(steps):
        for each in step.extract:
            if each.name in used and not each.may_miss:
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
        path=_filled(step.path, values, lambda text: quote(text, safe=_PATH_SAFE)),
        headers=tuple((name, _filled(value, values, _for_header)) for name, value in step.headers),
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
    return _filled(text, values, str)


def _filled(text: str, values: Mapping[str, str], written: Any) -> str:
    if "${" not in text:
        return text
    return _USE.sub(lambda use: written(values.get(use[1], "")), text)


def read_variables(reader: JsonReader, steps: tuple[Step, ...]) -> Variables:
    generators = read_generators(reader)
    variables = Variables(**read_scalars(reader, Variables), generators=generators)
    fault = _table_fault(variables)
    if fault:
        reader.fail("csv", fault)
        return NO_VARIABLES
    if twice := {each.name for each in generators} & set(variables.table[0]):
        reader.fail("generators", f"{min(twice)} is a column of the table already.")
    declared = declared_names(variables, steps)
    unknown = sorted({name for step in steps for name in names_used(step)} - declared)
    if declared and unknown:
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
