"""Reads the text of `sar`, with any of its sections."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from campaigns.domain.printed.lines import (
    PrintedLine,
    decimal,
    not_understood,
    refused,
    with_figures,
)
from campaigns.domain.printed.output import PrintedBy, PrintedOutput, PrintedValue

_MACHINE = re.compile(r"Linux \S+ \(.+\)\s+\S+\s+_\S+_\s+\(\d+ CPU\)")
_TIME = re.compile(r"\d\d:\d\d:\d\d(?: [AP]M)?(?=\s|$)")
# Average: in the words of the machine's language.
_AVERAGE = re.compile(r"[^\W\d]+\.?\s?:(?=\s)")
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?|nan")
# What a row belongs to: in its first cell, or in its last one.
_FIRST = ("CPU", "IFACE", "DEV", "INTR", "TTY", "FAN", "TEMP", "IN", "BUS", "FCHOST")
_LAST = ("FILESYSTEM", "IFACE", "DEV")
_MIB = re.compile(r"MB|Mb")
Series = dict[tuple[str, str], list[float]]


@dataclass(slots=True)
class _Sections:
    """What was read so far: values by column and what they belong to."""

    names: list[str] = field(default_factory=list)
    told: Series = field(default_factory=dict)
    averages: Series = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


def begins_sar(text: str) -> bool:
    if _MACHINE.match(text):
        return True
    time = _TIME.match(text)
    return bool(time) and _is_head(text[time.end() :].split())


def read_sar(before: Sequence[PrintedLine], lines: Sequence[PrintedLine]) -> PrintedOutput:
    """Averages count only for figures without an interval. Raises InvalidFields."""
    sections, about = _Sections(), ""
    for line in with_figures(lines):
        if _MACHINE.match(line.text):
            about = " ".join(line.text.split())
        elif found := _TIME.match(line.text) or _AVERAGE.match(line.text):
            is_average = not _TIME.match(line.text)
            _read(sections, line, line.text[found.end() :].split(), is_average)
        else:
            raise not_understood(line, PrintedBy.SAR)
    told = sections.averages | sections.told
    if not told:
        raise refused("This output of sar has no figures. Paste lines with figures as well.")
    values = (
        PrintedValue.mean_of(name, series, _unit(name), of) for (name, of), series in told.items()
    )
    return PrintedOutput(PrintedBy.SAR, tuple(values), about, unknown=tuple(sections.unknown))


def _is_head(cells: list[str]) -> bool:
    return bool(cells) and not any(_NUMBER.fullmatch(cell) for cell in cells) and cells != ["all"]


def _read(sections: _Sections, line: PrintedLine, cells: list[str], is_average: bool) -> None:
    if "RESTART" in cells or cells[:1] == ["COM"]:
        sections.unknown.append(line.text)
    elif _is_head(cells):
        sections.names = cells
    elif sections.names[:1] == ["BUS"]:
        sections.unknown.append(line.text)
    elif not sections.names or len(cells) != len(sections.names):
        raise not_understood(line, PrintedBy.SAR)
    else:
        _take(sections, line, cells, sections.averages if is_average else sections.told)


def _take(sections: _Sections, line: PrintedLine, cells: list[str], into: Series) -> None:
    names = sections.names
    key = 0 if names[0] in _FIRST else len(names) - 1 if names[-1] in _LAST else None
    of = "" if key is None else cells[key]
    figures = [
        (name, cell) for at, (name, cell) in enumerate(zip(names, cells, strict=True)) if at != key
    ]
    if not any(_NUMBER.fullmatch(cell) for _, cell in figures):
        raise not_understood(line, PrintedBy.SAR)
    for name, cell in figures:
        if cell == "nan":
            continue
        if _NUMBER.fullmatch(cell):
            into.setdefault((name, "" if of == "all" else of), []).append(decimal(cell))
        else:
            sections.unknown.append(line.text)


def _unit(name: str) -> str:
    per_s = "/s" if name.endswith("/s") else ""
    if name.startswith("%"):
        return "%"
    if "kB" in name or name.startswith("kb"):
        return f"KiB{per_s}"
    if _MIB.match(name):
        return f"MiB{per_s}"
    return "°C" if name == "degC" else "/s" if per_s or name == "tps" else ""
