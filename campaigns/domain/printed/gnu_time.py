"""Reads `/usr/bin/time -v`."""

import re
from collections.abc import Sequence

from campaigns.domain.printed.lines import PrintedLine, not_understood, with_figures
from campaigns.domain.printed.output import PrintedBy, PrintedOutput, PrintedValue

_COMMAND = re.compile(r"\s*Command being timed: (.*)")
_FIRST = re.compile(r"\s*User time \(seconds\): ")
_FIELD = re.compile(r"\s+(?P<name>[A-Z][^:]*?)(?: \((?P<unit>[^()]*)\))?: (?P<text>\S.*)$")
_CLOCK = "h:mm:ss or m:ss"
_UNITS = {"seconds": "s", "kbytes": "KiB", "bytes": "B", _CLOCK: "s"}


def begins_time(text: str) -> bool:
    return bool(_COMMAND.match(text))


def read_time(before: Sequence[PrintedLine], lines: Sequence[PrintedLine]) -> PrintedOutput:
    """The command may have several lines. Raises InvalidFields."""
    command = _COMMAND.match(lines[0].text)[1]
    first = next((n for n, line in enumerate(lines) if _FIRST.match(line.text)), None)
    if first is None:
        raise not_understood(lines[1] if len(lines) > 1 else lines[0], PrintedBy.TIME)
    values, unknown = [], []
    for line in with_figures(lines[first:]):
        field = _field(line)
        if field is None:
            unknown.append(line.text.strip())
        else:
            values.append(field)
    return PrintedOutput(PrintedBy.TIME, tuple(values), command, unknown=tuple(unknown))


def _field(line: PrintedLine) -> PrintedValue | None:
    """None for a field whose value is a text."""
    # The only name with colons of its own.
    plain = line.text.replace(f"({_CLOCK})", "(clock)")
    found = _FIELD.match(plain)
    if not found:
        raise not_understood(line, PrintedBy.TIME)
    name, text = found["name"], found["text"].strip()
    if found["unit"] == "clock":
        if not re.fullmatch(r"(\d+:)?\d+:\d+(\.\d+)?", text):
            raise not_understood(line, PrintedBy.TIME)
        return PrintedValue(name, _seconds(text), "s")
    unit = "%" if text.endswith("%") else _UNITS.get(found["unit"], found["unit"] or "")
    if text == "?%":
        return PrintedValue(name, None, unit, why="not known: the command ended at once")
    is_number = re.fullmatch(r"\d+([.,]\d+)?%?", text)
    return (
        PrintedValue(name, float(text.rstrip("%").replace(",", ".")), unit) if is_number else None
    )


def _seconds(clock: str) -> float:
    total = 0.0
    for part in clock.split(":"):
        total = 60 * total + float(part)
    return total
