"""Reads `vmstat N`, with its headers repeated, and with -t, -w, -a and -S."""

import re
from collections.abc import Sequence

from campaigns.domain.printed.lines import (
    PrintedLine,
    decimal,
    not_understood,
    refused,
    with_figures,
)
from campaigns.domain.printed.output import PrintedBy, PrintedOutput, PrintedValue

_HEAD = re.compile(r"\s*-*procs-*\s")
_COMMAND = re.compile(r"\bvmstat\b(?P<options>.*)")
_UNITS = {"k": "kB", "K": "KiB", "m": "MB", "M": "MiB"}
_MEMORY = ("swpd", "free", "buff", "cache", "inact", "active")
_PER_S = {"bi": "KiB/s", "bo": "KiB/s", "in": "/s", "cs": "/s"}
_CPU = ("us", "sy", "id", "wa", "st", "gu")
_SINCE_BOOT = "The first line is left out, because it is the mean since the machine started."
_ONLY_BOOT = "These are means since the machine started. Use vmstat 1 for those of the run."


def begins_vmstat(text: str) -> bool:
    return bool(_HEAD.match(text))


def read_vmstat(before: Sequence[PrintedLine], lines: Sequence[PrintedLine]) -> PrintedOutput:
    """`before`: where the command's line may be, with its options. Raises InvalidFields."""
    found = [_COMMAND.search(line.text) for line in before if line.is_prompt]
    options = next((each["options"] for each in found if each), "")
    names, rows = _rows(lines)
    notes = []
    if "-y" not in options.split():
        notes.append(_SINCE_BOOT if len(rows) > 1 else _ONLY_BOOT)
        rows = rows[1:] or rows
    chosen = re.search(r"-\w*S\s*([kKmM])\b", options)
    unit = _UNITS[chosen[1]] if chosen else "KiB"
    if not chosen:
        notes.append("Memory is in KiB, unless vmstat was started with -S.")
    columns = zip(names, zip(*rows, strict=True), strict=True)
    values = (PrintedValue.mean_of(name, [*each], _unit(name, unit)) for name, each in columns)
    return PrintedOutput(PrintedBy.VMSTAT, tuple(values), notes=tuple(notes))


def _rows(lines: Sequence[PrintedLine]) -> tuple[list[str], list[list[float]]]:
    """The names of the columns, and a row for each interval."""
    names: list[str] = []
    rows: list[list[float]] = []
    is_stamped = expects_names = False
    for line in with_figures(lines):
        cells = line.text.split()
        if begins_vmstat(line.text):
            is_stamped, expects_names = "timestamp" in line.text, True
        elif expects_names:
            expects_names = False
            told = cells[:-1] if is_stamped else cells
            if told[:2] != ["r", "b"] or (names and told != names):
                raise not_understood(line, PrintedBy.VMSTAT)
            names = told
        else:
            rows.append(_row(line, cells, len(names), is_stamped))
    if not rows:
        raise refused("This output of vmstat has no line of figures. Paste some of those as well.")
    return names, rows


def _row(line: PrintedLine, cells: list[str], columns: int, is_stamped: bool) -> list[float]:
    if len(cells) != columns + 2 * is_stamped:
        raise not_understood(line, PrintedBy.VMSTAT)
    try:
        return [decimal(cell) for cell in cells[:columns]]
    except ValueError:
        raise not_understood(line, PrintedBy.VMSTAT) from None


def _unit(name: str, memory_unit: str) -> str:
    if name in _MEMORY:
        return memory_unit
    if name in ("si", "so"):
        return f"{memory_unit}/s"
    return "%" if name in _CPU else _PER_S.get(name, "")
