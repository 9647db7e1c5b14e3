"""The table of a target's machine over a run: mean and highest second of each figure."""

from collections.abc import Iterator

from campaigns.domain.measured.machine_use import MachineUse, Pair, cpu_s_per_1000
from campaigns.domain.shown.cells import Figure, column_cells, empty
from campaigns.domain.shown.tables import Column, Row, Table
from campaigns.domain.units import counted, duration, figure, said_of

COST = "CPU seconds per 1,000 requests"
_REST = "CPU beside the chosen processes, % of a core"
_NO_MAXIMUM = "A figure of the whole run."
_INCLUDED = "CPU includes what the machine uses without any load."
# (key, label, what a second's value is multiplied by, whether it is left out where it was never
# above 0)
_ROWS = (
    ("cpu", "CPU, % of {cores}", 100, False),
    ("busiest_core", "busiest core, %", 1, False),
    ("stolen", "CPU stolen by other guests, %", 100, True),
    ("running", "run queue", 1, False),
    ("memory_used_bytes", "memory, GB{of_memory}", 1e-9, False),
    ("swap_used_bytes", "swap, GB", 1e-9, True),
    ("received_bytes", "received, MB/s", 1e-6, False),
    ("sent_bytes", "sent, MB/s", 1e-6, False),
    ("loopback_bytes", "loopback, MB/s", 1e-6, True),
    ("received_packets", "packets received/s", 1, True),
    ("sent_packets", "packets sent/s", 1, True),
    ("dropped_packets", "packets dropped/s", 1, True),
    ("retransmitted", "segments sent again/s", 1, False),
    ("listen_overflows", "listen queue overflows/s", 1, False),
    ("established", "connections", 1, False),
    ("time_wait", "connections in time-wait", 1, True),
    ("open_files", "open files", 1, False),
    ("disk_read_bytes", "disk read, MB/s", 1e-6, True),
    ("disk_written_bytes", "disk written, MB/s", 1e-6, True),
)
_OF_PROCESSES = (
    ("cpu_s", "CPU, % of a core", 100),
    ("memory_bytes", "memory, MB", 1e-6),
    ("processes", "processes", 1),
    ("threads", "threads", 1),
    ("open_files", "open files", 1),
)


def machine_table(
    use: MachineUse,
    rate_per_s: float | None,
    seconds: int | None = None,
    nouns: str = "requests",
) -> Table:
    """`rate_per_s`: ok requests/s, or other `nouns`, of a run that has ended; `seconds`: how many
    it measured."""
    costs = _cost_rows(use, rate_per_s, said_of(nouns, COST))
    return Table(
        f"machine-{use.source}",
        f"Target's machine {use.source}",
        (Column("mean", "mean"), Column("max", "highest second")),
        (*costs, *_rest_row(use), *_machine_rows(use), *_process_rows(use)),
        label_title="figure",
        note=_note(use, seconds),
    )


def _note(use: MachineUse, seconds: int | None) -> str:
    if seconds and use.seconds < seconds:
        told = f"{use.seconds:,} of {counted(seconds, 'seconds')}; the others were not reported."
    else:
        told = f"Over {duration(use.seconds)} of the measurement."
    return f"{told} {_INCLUDED}"


def _cost_rows(use: MachineUse, rate_per_s: float | None, cost: str) -> Iterator[Row]:
    costs = {"": use.busy_s, ", chosen processes": use.watched_s}
    for of, cpu_s in costs.items():
        per_1000 = cpu_s_per_1000(cpu_s, use.lasted_s, rate_per_s)
        if per_1000 is not None:
            (cell,) = column_cells([Figure(per_1000)])
            yield Row(f"{cost}{of}", (cell, empty(_NO_MAXIMUM)), "cost")


def _rest_row(use: MachineUse) -> Iterator[Row]:
    """What is in the machine's cost and not in that of its chosen processes."""
    if use.busy_s is not None and use.watched_s is not None and use.lasted_s:
        rest = max(0.0, use.busy_s - use.watched_s) / use.lasted_s
        (cell,) = column_cells([Figure(100 * rest)], decimals=None if rest else 0)
        yield Row(_REST, (cell, empty(_NO_MAXIMUM)), "rest")


def _machine_rows(use: MachineUse) -> Iterator[Row]:
    words = {
        "cores": counted(use.cores, "cores") if use.cores else "all cores",
        "of_memory": _of_memory(use),
    }
    for key, label, scale, only_above_0 in _ROWS:
        pair = use.figures.get(key)
        if pair and (pair[1] or not only_above_0):
            yield _row(label.format(**words), key, pair, scale)


def _of_memory(use: MachineUse) -> str:
    memory = use.figures.get("memory_bytes")
    return f" of {figure(memory[1] / 1e9)}" if memory else ""


def _process_rows(use: MachineUse) -> Iterator[Row]:
    for name, figures in use.processes.items():
        for key, label, scale in _OF_PROCESSES:
            if key in figures:
                yield _row(f"{name}: {label}", f"process_{key}", figures[key], scale)


def _row(label: str, kind: str, pair: Pair, scale: float) -> Row:
    decimals = None if any(pair) else 0
    figures = [Figure(value * scale) for value in pair]
    return Row(label, tuple(column_cells(figures, decimals=decimals)), kind)
