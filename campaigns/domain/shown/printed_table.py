"""The table of what a tool printed on the target's machine: values with units, and why there is no
value where the machine has none."""

from collections.abc import Iterator, Sequence

from campaigns.domain.printed.output import PrintedBy, PrintedOutput, PrintedValue
from campaigns.domain.printed.perf_figures import perf_figures
from campaigns.domain.shown.cells import Figure, column_cells, empty
from campaigns.domain.shown.tables import Cell, Column, Row, Table
from campaigns.domain.units import counted, percent

_WORDS = {
    (PrintedBy.VMSTAT, name): words
    for name, words in {
        "r": "processes that run or wait for a CPU", "b": "processes that are blocked",
        "swpd": "swap used", "free": "memory free", "buff": "buffers", "cache": "cache",
        "inact": "memory inactive", "active": "memory active", "si": "swapped in",
        "so": "swapped out", "bi": "read from disks", "bo": "written to disks",
        "in": "interrupts", "cs": "context switches", "us": "CPU, user", "sy": "CPU, system",
        "id": "CPU, idle", "wa": "CPU, waiting for disks", "st": "CPU, stolen by other guests",
        "gu": "CPU, in guests",
    }.items()
}  # fmt: skip
# More rows than these are cut down to the figures that tell who was the limit.
_MOST_ROWS = 40
_CHIEF = {
    "%user", "%usr", "%nice", "%system", "%sys", "%soft", "%iowait", "%steal", "%idle",
    "runq-sz", "ldavg-1",
    "kbmemused", "%memused", "rxkB/s", "txkB/s", "retrans/s", "tps", "cswch/s", "%ifutil",
    "user", "usr", "nice", "system", "sys", "soft", "iowait", "steal", "idle", "memused",
    "memused-percent", "rxkB", "txkB", "retrans", "cswch",
}  # fmt: skip
_ONE_VALUE = "The tool printed one value."


def figures_of_output(output: PrintedOutput) -> Iterator[PrintedValue]:
    """What the tool printed, then what follows from it."""
    yield from output.values
    if output.tool is PrintedBy.PERF_STAT:
        yield from perf_figures(output.values)


def words_of_value(tool: PrintedBy, value: PrintedValue) -> str:
    """Such as "cycles", "cpu-load user, %" or "eth0: rxkB/s, KiB/s"."""
    words = _WORDS.get((tool, value.name))
    name = f"{words} ({value.name})" if words else value.name
    owner = f"{value.of}: " if value.of else ""
    unit = "" if value.unit in ("", "/s") and name.endswith(value.unit) else f", {value.unit}"
    return f"{owner}{name}{unit}"


def chief_values(values: Sequence[PrintedValue]) -> list[PrintedValue]:
    """All of them, or the chief ones of a tool that prints hundreds."""
    if len(values) <= _MOST_ROWS:
        return list(values)
    whole = [each for each in values if not each.of.isdigit()]
    chief = [each for each in whole if each.name.rpartition(" ")[2] in _CHIEF]
    return (chief or whole or list(values))[:_MOST_ROWS]


def printed_table(output: PrintedOutput, key: str) -> Table:
    every = list(figures_of_output(output))
    shown = chief_values(every)
    has_highest = any(each.highest is not None for each in shown)
    columns = [Column("value", "mean" if _is_mean(output, shown) else "value")]
    if has_highest:
        columns.append(Column("highest", "highest interval"))
    rows = [
        Row(words_of_value(output.tool, each), _cells(each, has_highest), note=note_of_value(each))
        for each in shown
    ]
    about = f": {output.about}" if output.about else ""
    return Table(
        key,
        f"{output.tool}{about}"[:200],
        tuple(columns),
        tuple(rows),
        label_title="figure",
        note=" ".join([*output.notes, *_left_out(len(every) - len(shown))]),
    )


def _is_mean(output: PrintedOutput, shown: Sequence[PrintedValue]) -> bool:
    is_summed = output.tool is PrintedBy.PERF_STAT
    return not is_summed and any(each.highest is not None for each in shown)


def _cells(value: PrintedValue, has_highest: bool) -> tuple[Cell, ...]:
    cells = _cell(value.value, value.why)
    return (*cells, *_cell(value.highest, _ONE_VALUE)) if has_highest else tuple(cells)


def _cell(value: float | None, why: str) -> list[Cell]:
    return (
        [empty(why)] if value is None else column_cells([Figure(value)], decimals=_decimals(value))
    )


def _decimals(value: float) -> int | None:
    """Counts have none."""
    return 0 if value == int(value) else None


def note_of_value(value: PrintedValue) -> str:
    """Why there is no value, or how sure it is."""
    if value.value is None:
        return value.why
    notes = [value.why] if value.why else []
    if value.counted_percent is not None and value.counted_percent < 100:
        share = percent(value.counted_percent / 100)
        notes.append(f"extrapolated: perf counted it for {share} of the time")
    if value.spread_percent is not None:
        notes.append(f"± {percent(value.spread_percent / 100)}")
    return "; ".join(notes)


def _left_out(more: int) -> list[str]:
    return [f"{counted(more, 'more figures')} are in the original."] if more > 0 else []
