"""Reads `perf stat`: its text, its intervals (-I) and its CSV (-x)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from campaigns.domain.printed.lines import (
    NUMBER,
    PrintedLine,
    decimal,
    localised,
    not_understood,
    with_figures,
)
from campaigns.domain.printed.output import PrintedBy, PrintedOutput, PrintedValue

_TITLE = re.compile(r"\s*Performance counter stats for (.+?)(?: \((\d+) runs\))?:\s*$")
_INTERVALS = re.compile(r"#\s+time\s+counts\b")
_ROW = re.compile(
    rf"\s*(?:(?P<count>{NUMBER})|<(?P<why>not supported|not counted)>)\s+"
    r"(?:(?P<unit>[A-Za-z]+)\s+)?(?P<event>[A-Za-z][^\s#]*)(?:\s+\((?P<old_unit>msec)\))?"
    r"(?:\s+(?P<rest>[#(\[].*))?\s*$"
)
_AT = re.compile(r"\s*\d+[.,]\d+(?=\s)")
_TIME = re.compile(
    rf"\s*(?P<s>{NUMBER})\s+(?:\+-\s+[\d.,]+\s+)?seconds (?P<name>time elapsed|user|sys)"
    r"(?:\s+(?P<rest>\(.*\)))?\s*$"
)
_SPREAD = re.compile(r"\(?\s*\+-\s*([\d.,]+)%")
_COUNTED = re.compile(r"[\[(]\s*([\d.,]+)\s*%\s*[\])]\s*$")
# What perf works out of its counters, or says beside them.
_ASIDE = re.compile(
    r"#|\s+#|\s+TopdownL\d|Some events weren't counted|\s+echo [01] > /proc/|\s+perf stat \.\.\."
    r"|The events in group usually"
)
_EVENT = re.compile(r"[A-Za-z][\w./:=-]*")
_SEPARATORS = (";", "\t", "|", ",")
_UNITS = {"msec": "ms"}
# Events that old releases print without their unit.
_UNIT_OF = {"task-clock": "ms", "cpu-clock": "ms", "duration_time": "ns"}
_OTHER_NAMES = {
    "cpu-cycles": "cycles",
    "branch-instructions": "branches",
    "cs": "context-switches",
    "migrations": "cpu-migrations",
    "CPU-migrations": "cpu-migrations",
    "faults": "page-faults",
}
WHY_NO_COUNT = {
    "not supported": "not supported on this machine",
    "not counted": "not counted: perf had no free counter, or what it measured did not run",
}
ELAPSED = "time elapsed"


@dataclass(frozen=True, slots=True)
class _Row:
    """An event with its count; `spread` and `counted` in percent."""

    event: str
    count: float | None
    unit: str = ""
    why: str = ""
    spread: float | None = None
    counted: float | None = None


def begins_perf_stat(text: str) -> bool:
    return bool(_TITLE.match(text) or _INTERVALS.match(text) or _of_csv(text))


def read_perf_stat(before: Sequence[PrintedLine], lines: Sequence[PrintedLine]) -> PrintedOutput:
    """Raises InvalidFields. `before` is not needed: perf prints its title itself."""
    if title := _TITLE.match(lines[0].text):
        runs = title[2]
        notes = (f"Means over {int(runs):,} runs of the command.",) if runs else ()
        values = tuple(_values(lines[1:]))
        return PrintedOutput(PrintedBy.PERF_STAT, values, title[1], notes)
    read = _of_interval if _INTERVALS.match(lines[0].text) else _of_csv
    rows: dict[str, list[_Row]] = {}
    for line in with_figures(lines):
        if row := read(line.text):
            rows.setdefault(row.event, []).append(row)
        elif not _is_aside(line.text):
            raise not_understood(line, PrintedBy.PERF_STAT)
    longest = max((len(each) for each in rows.values()), default=0)
    notes = (f"Sums over {longest:,} intervals.",) if longest > 1 else ()
    return PrintedOutput(PrintedBy.PERF_STAT, tuple(map(_sum, rows.values())), notes=notes)


def _is_aside(text: str) -> bool:
    return bool(_ASIDE.match(text)) or bool(re.fullmatch(r"[;\t|,]{3,}[^;\t|,]*[;\t|,].*", text))


def _values(lines: Sequence[PrintedLine]) -> Iterator[PrintedValue]:
    for line in with_figures(lines):
        if time := _TIME.match(line.text):
            elapsed_s = _number(line, time["s"], has_decimals=True)
            spread = _percent(_SPREAD, time["rest"] or "")
            yield PrintedValue(time["name"], elapsed_s, "s", spread_percent=spread)
        elif row := _of_text(line.text):
            yield _sum([row])
        elif not _ASIDE.match(line.text):
            raise not_understood(line, PrintedBy.PERF_STAT)


def _number(line: PrintedLine, text: str, *, has_decimals: bool) -> float:
    try:
        return localised(text, has_decimals=has_decimals)
    except ValueError:
        raise not_understood(line, PrintedBy.PERF_STAT) from None


def _of_interval(text: str) -> _Row | None:
    at = _AT.match(text)
    return _of_text(text[at.end() :]) if at else None


def _of_text(text: str) -> _Row | None:
    found = _ROW.match(text)
    if not found:
        return None
    event = _name(found["event"])
    unit = found["unit"] or found["old_unit"] or ""
    unit = _UNITS.get(unit, unit) or _UNIT_OF.get(event.partition(":")[0], "")
    rest = found["rest"] or ""
    spread, counted = _percent(_SPREAD, rest), _percent(_COUNTED, rest)
    if found["why"]:
        return _Row(event, None, unit, WHY_NO_COUNT[found["why"]])
    try:
        count = localised(found["count"], has_decimals=bool(unit))
    except ValueError:
        return None
    return _Row(event, count, unit, spread=spread, counted=counted)


def _of_csv(text: str) -> _Row | None:
    """count, unit, event, the spread of -r, time counted in ns, % counted; with -I the time comes
    before all that."""
    for separator in _SEPARATORS:
        fields = text.split(separator)
        for begin in (0, 1):
            row = _of_fields(fields[begin:])
            if row and (begin == 0 or re.fullmatch(r"\s*\d+[.,]\d+", fields[0])):
                return row
    return None


def _of_fields(fields: list[str]) -> _Row | None:
    if len(fields) < 5 or not _EVENT.fullmatch(fields[2]):
        return None
    count, unit, event = fields[0].strip(), fields[1], _name(fields[2])
    spread = _percent(re.compile(r"([\d.,]+)%$"), fields[3])
    after = fields[4 + (spread is not None) :]
    counted = _percent(re.compile(r"([\d.,]+)$"), after[0]) if after else None
    unit = _UNITS.get(unit, unit)
    if count.strip("<>") in WHY_NO_COUNT:
        return _Row(event, None, unit, WHY_NO_COUNT[count.strip("<>")])
    if not re.fullmatch(r"\d+(?:[.,]\d+)?", count):
        return None
    return _Row(event, decimal(count), unit, spread=spread, counted=counted)


def _percent(pattern: re.Pattern[str], text: str) -> float | None:
    found = pattern.search(text)
    try:
        return decimal(found[1]) if found else None
    except ValueError:
        return None


def _name(event: str) -> str:
    """The same name in all releases; a modifier such as :u stays."""
    name, colon, modifier = event.partition(":")
    return f"{_OTHER_NAMES.get(name, name)}{colon}{modifier}"


def _sum(rows: Sequence[_Row]) -> PrintedValue:
    counts = [row.count for row in rows if row.count is not None]
    least = min((row.counted for row in rows if row.counted is not None), default=None)
    is_series = len(rows) > 1 and bool(counts)
    missing = len(rows) - len(counts)
    partly = f"not counted in {missing:,} of {len(rows):,} intervals" if missing else ""
    return PrintedValue(
        rows[0].event,
        sum(counts) if counts else None,
        rows[0].unit,
        why=partly if counts else rows[0].why,
        highest=max(counts) if is_series else None,
        spread_percent=rows[0].spread,
        counted_percent=least,
        series=tuple(counts) if is_series else (),
    )
