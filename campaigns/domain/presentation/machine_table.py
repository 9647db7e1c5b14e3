"""The tables of a target's machine: over a run the mean and the highest second of each figure; its
seconds for the charts of a run, as in run_points; over the runs of a campaign a row for each of
them, and the means of each test; the servers of a campaign beside one another, in a second and per
1,000 requests."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from campaigns.domain.analysis.ratio import mean_interval
from campaigns.domain.metrics.machine import (
    BUSY,
    MachinePoint,
    MachineRun,
    MachineRuns,
    MachineUse,
    Pair,
    cpu_s_per_1000,
)
from campaigns.domain.presentation.results import TestAnswer, labels_of
from campaigns.domain.presentation.run_points import thinned
from campaigns.domain.presentation.tables import (
    INTERVAL,
    Column,
    Figure,
    Row,
    Table,
    column_cells,
    count_cell,
    empty,
    mean_cells,
)
from campaigns.domain.units import (
    count,
    counted,
    duration,
    figure,
    percent,
    said_of,
    second_text,
    size,
)

COST = "CPU seconds per 1,000 requests"
_REST = "CPU beside the chosen processes, % of a core"
_NO_MAXIMUM = "A figure of the whole run."
_INCLUDED = "CPU includes what the machine uses without any load."
# (key, label, what a second's value is multiplied by, whether it is left out where it was never
# above 0)
_ROWS = (
    ("cpu", "CPU, % of {cores}", 100, False),
    ("user", "CPU user, %", 100, True),
    ("system", "CPU system, %", 100, True),
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
    ("loopback_packets", "loopback packets/s", 1, True),
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
    use: MachineUse, rate_per_s: float | None, seconds: int | None = None, nouns: str = "requests"
) -> Table:
    """`rate_per_s`: ok requests/s, or other `nouns`, of a run that has ended; `seconds`: how many
    it measured."""
    costs = _cost_rows(use, rate_per_s, said_of(nouns, COST))
    processes = (
        _row(f"{name}: {label}", f"process_{key}", figures[key], scale)
        for name, figures in use.processes.items()
        for key, label, scale in _OF_PROCESSES
        if key in figures
    )
    if seconds and use.seconds < seconds:
        note = f"{use.seconds:,} of {counted(seconds, 'seconds')}; the others were not reported."
    else:
        note = f"Over {duration(use.seconds)} of the measurement."
    return Table(
        f"machine-{use.source}",
        f"Target's machine {use.source}",
        (Column("mean", "mean"), Column("max", "highest second")),
        (*costs, *_machine_rows(use), *processes),
        label_title="figure",
        note=f"{note} {_INCLUDED}",
    )


def _cost_rows(use: MachineUse, rate_per_s: float | None, cost: str) -> Iterator[Row]:
    costs = {"": use.busy_s, ", chosen processes": use.watched_s}
    for of, cpu_s in costs.items():
        per_1000 = cpu_s_per_1000(cpu_s, use.lasted_s, rate_per_s)
        if per_1000 is not None:
            (cell,) = column_cells([Figure(per_1000)])
            yield Row(f"{cost}{of}", (cell, empty(_NO_MAXIMUM)), "cost")
    # What is in the machine's cost and not in that of its chosen processes.
    if use.busy_s is not None and use.watched_s is not None and use.lasted_s:
        rest = max(0.0, use.busy_s - use.watched_s) / use.lasted_s
        (cell,) = column_cells([Figure(100 * rest)], decimals=None if rest else 0)
        yield Row(_REST, (cell, empty(_NO_MAXIMUM)), "rest")


def _machine_rows(use: MachineUse) -> Iterator[Row]:
    memory = use.figures.get("memory_bytes")
    of_memory = f" of {figure(memory[1] / 1e9)}" if memory else ""
    words = {
        "cores": counted(use.cores, "cores") if use.cores else "all cores",
        "of_memory": of_memory,
    }
    for key, label, scale, only_above_0 in _ROWS:
        pair = use.figures.get(key)
        if pair and (pair[1] or not only_above_0):
            yield _row(label.format(**words), key, pair, scale)


def _row(label: str, kind: str, pair: Pair, scale: float) -> Row:
    decimals = None if any(pair) else 0
    figures = [Figure(value * scale) for value in pair]
    return Row(label, tuple(column_cells(figures, decimals=decimals)), kind)


_STATES = {"user": "user_s", "system": "system_s", "interrupts": "interrupts_s"}
_STATES["stolen"] = "stolen_s"
_EXTREMES = (
    ("busy", True), ("memory", True), ("received", True), ("sent", True), ("loopback", True),
    ("retransmitted", True), ("overflows", True),
)  # fmt: skip


def machine_columns(points: Sequence[MachinePoint]) -> dict[str, list[Any]]:
    """Shares in %, networks in MB/s, `processes` as {name: % of all cores}, or of one where the
    number of `cores` is not told; thinned as points."""
    columns = {key: [make(point) for point in points] for key, make in _POINT_COLUMNS.items()}
    return thinned(columns, extremes=_EXTREMES)


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 2)


def _mb_per_s(name: str):
    def value(point: MachinePoint) -> float | None:
        per_s = point.per_s(name)
        return None if per_s is None else round(per_s / 1e6, 4)

    return value


def _n_cores(point: MachinePoint) -> int:
    return len(point.did.get("cores", ()))


def _processes(point: MachinePoint) -> dict[str, float]:
    whole_s = point.lasted_s * (_n_cores(point) or 1)
    processes = point.did.get("processes", {}).items()
    return {name: _percent(did["cpu_s"] / whole_s) for name, did in processes if "cpu_s" in did}


def _cpu_text(point: MachinePoint) -> str:
    if point.share() is None:
        return ""
    parts = [(name, point.share(state)) for name, state in _STATES.items()]
    words = [f"{name} {percent(share, decimals=1)}" for name, share in parts if share]
    return ": ".join(filter(None, [percent(point.share(*BUSY), decimals=1), ", ".join(words)]))


def _memory_text(point: MachinePoint) -> str:
    in_use, whole = point.did.get("memory_used_bytes"), point.did.get("memory_bytes")
    return f"{size(in_use)} of {size(whole)}" if whole and in_use is not None else ""


def _network_text(point: MachinePoint) -> str:
    names = {"received_bytes": "received", "sent_bytes": "sent", "loopback_bytes": "loopback"}
    rates = [(word, point.per_s(name)) for name, word in names.items()]
    return ", ".join(f"{word} {size(round(value))}" for word, value in rates if value is not None)


def _trouble_text(point: MachinePoint) -> str:
    words = {"retransmitted": "sent again", "listen_overflows": "overflows"}
    counts = [(word, point.did.get(name)) for name, word in words.items()]
    return ", ".join(f"{word} {count(round(n))}" for word, n in counts if n is not None)


_POINT_COLUMNS = {
    "second": lambda point: point.second,
    "cores": _n_cores,
    "busy": lambda point: _percent(point.share(*BUSY)),
    **{
        name: lambda point, state=state: _percent(point.share(state))
        for name, state in _STATES.items()
    },
    "memory": lambda point: _percent(point.memory_share),
    "received": _mb_per_s("received_bytes"),
    "sent": _mb_per_s("sent_bytes"),
    "loopback": _mb_per_s("loopback_bytes"),
    "retransmitted": lambda point: point.did.get("retransmitted"),
    "overflows": lambda point: point.did.get("listen_overflows"),
    "processes": _processes,
    "at": lambda point: second_text(point.second),
    "cpu_text": _cpu_text,
    "memory_text": _memory_text,
    "network_text": _network_text,
    "trouble_text": _trouble_text,
    "processes_text": lambda point: ", ".join(
        f"{name} {figure(value)} %" for name, value in _processes(point).items()
    ),
}


_NAMES = ("plan_label", "label")
_UNTOLD = "The agent did not report it."
_RUN_COLUMNS = (
    Column("cpu", "CPU", "% of all cores"),
    Column("watched", "chosen processes", "CPU, % of all cores"),
    Column("memory", "memory", "% used"),
    Column("received", "received", "MB/s"),
    Column("sent", "sent", "MB/s"),
    Column("loopback", "loopback", "MB/s"),
)


def machine_runs_table(runs: MachineRuns, name_of: Callable[[MachineRun], str]) -> Table:
    """The means of each run over its seconds; without the columns that no run has."""
    columns = [column for column in _RUN_COLUMNS if runs.tells(column.key)]
    cells = [
        column_cells([Figure(run.mean(column.key), _UNTOLD) for run in runs.runs])
        for column in columns
    ]
    rows = tuple(
        Row(name_of(run), tuple(of_run), link={"run": run.run})
        for run, *of_run in zip(runs.runs, *cells, strict=True)
    )
    return Table("machine-runs", "Means of every run", tuple(columns), rows, "run")


def machine_means_table(runs: MachineRuns, tests: Sequence[TestAnswer]) -> Table:
    """A row for each test and figure: the mean of its counted runs with its 95 % interval, each run
    by the mean of its seconds."""
    by_run = {run.run: run for run in runs.runs}
    rows = []
    for label, test in zip(labels_of(tests), tests, strict=True):
        runs_of_test = [by_run[pk] for pk in test.counted if pk in by_run]
        for column in _RUN_COLUMNS:
            values = [run.mean(column.key) for run in runs_of_test]
            values = [value for value in values if value is not None]
            if values and runs.tells(column.key):
                rows.append((f"{label}: {column.title}, {column.unit}", mean_interval(values)))
    return Table(
        "machine-means",
        "Means over runs",
        (
            Column("mean", "mean", "", "Over the runs that count."),
            *INTERVAL,
            Column("runs", "runs", "", "Runs for which an agent or an exporter reported it."),
        ),
        tuple(Row(label, mean_cells(mean)) for label, mean in rows),
        label_title="test",
    )


def namer_of_runs(tests: Iterable[TestAnswer]) -> Callable[[MachineRun], str]:
    """Names such as "L1, run 2": without what all tests have in common."""
    by_id = {test.test_id: test for test in tests}
    differing = [
        name for name in _NAMES if len({getattr(each, name) for each in by_id.values()}) > 1
    ]

    def name_of(run: MachineRun) -> str:
        test = by_id.get(run.test)
        words = [getattr(test, name) for name in differing] if test else ["reference"]
        return ", ".join([*words, f"run {run.repeat}"])

    return name_of


@dataclass(frozen=True, slots=True)
class RunResources:
    """Means of a machine over a run: `per_s` has CPU seconds (`user`, `system`), packets and bytes
    per second. `cores`: CPU seconds of all states in a second; `memory`: the used share."""

    test: int
    source: str
    per_s: Mapping[str, float]
    cores: float
    memory: float | None
    rate_per_s: float  # ok requests

    def share_percent(self, name: str) -> float | None:
        seconds = self.per_s.get(name)
        return None if seconds is None or not self.cores else 100 * seconds / self.cores

    def per_1000(self, name: str) -> float | None:
        amount = self.per_s.get(name)
        return None if amount is None else 1000 * amount / self.rate_per_s


_Read = Callable[[RunResources], float | None]
_MBIT = 8e-6


def _share_of_cores(name: str) -> _Read:
    return lambda run: run.share_percent(name)


def _in_a_second(name: str, scale: float = 1.0) -> _Read:
    return lambda run: None if name not in run.per_s else run.per_s[name] * scale


def _of_1000(name: str, scale: float = 1.0) -> _Read:
    return lambda run: None if name not in run.per_s else run.per_1000(name) * scale


_PACKETS = {
    "received_packets": "packets received",
    "sent_packets": "packets sent",
    "loopback_packets": "loopback packets",
}
_BYTES = {"received": "received", "sent": "sent", "loopback": "loopback"}
_PER_SECOND: tuple[tuple[Column, _Read], ...] = (
    (Column("user", "CPU user", "% of all cores"), _share_of_cores("user")),
    (Column("system", "CPU system", "% of all cores"), _share_of_cores("system")),
    (
        Column("memory", "memory", "% used"),
        lambda run: None if run.memory is None else 100 * run.memory,
    ),
    *((Column(name, title, "a second"), _in_a_second(name)) for name, title in _PACKETS.items()),
    *((Column(name, title, "Mbit/s"), _in_a_second(name, _MBIT)) for name, title in _BYTES.items()),
)
_PER_1000: tuple[tuple[Column, _Read], ...] = (
    (Column("user", "CPU user", "s"), _of_1000("user")),
    (Column("system", "CPU system", "s"), _of_1000("system")),
    *((Column(name, title, ""), _of_1000(name)) for name, title in _PACKETS.items()),
    *((Column(name, title, "Mbit"), _of_1000(name, _MBIT)) for name, title in _BYTES.items()),
)
_RUNS = Column("runs", "runs", "", "Runs that count and of which the machine was told.")
_NOTE = "Means over the runs that count, of the whole machine, with what it does without any load."
_NOBODY_TOLD = "Its agent or exporter did not report it."


def resource_tables(resources: Sequence[RunResources], tests: Sequence[TestAnswer]) -> list[Table]:
    """[] where fewer than two tests or machines were told: one has its own table."""
    rows: dict[tuple[int, str], list[RunResources]] = {}
    for each in resources:
        rows.setdefault((each.test, each.source), []).append(each)
    if len(rows) < 2:
        return []
    return [
        _table("resources", "Servers and their resources", _PER_SECOND, rows, tests),
        _table("resources-1000", "Servers and their resources per 1,000 requests", _PER_1000, rows,
               tests),
    ]  # fmt: skip


def _table(
    key: str,
    title: str,
    columns: Sequence[tuple[Column, _Read]],
    rows: Mapping[tuple[int, str], Sequence[RunResources]],
    tests: Sequence[TestAnswer],
) -> Table:
    # A figure that is 0 in every run is left out: loads past the loopback leave it so.
    read_columns = [
        (column, value_of)
        for column, value_of in columns
        if any(value_of(run) for runs in rows.values() for run in runs)
    ]
    cells = []
    for _, value_of in read_columns:
        values = (
            [value for run in runs if (value := value_of(run)) is not None]
            for runs in rows.values()
        )
        means = [Figure(fmean(each) if each else None, _NOBODY_TOLD) for each in values]
        cells.append(column_cells(means))
    counts = [count_cell(len(runs)) for runs in rows.values()]
    names = dict(zip((test.test_id for test in tests), labels_of(tests), strict=True))
    names_machine = len({source for _, source in rows}) > 1
    return Table(
        key,
        title,
        (*(column for column, _ in read_columns), _RUNS),
        tuple(
            Row(
                f"{names[test]}, {source}" if names_machine else names[test],
                of_row,
                link={"test": test},
            )
            for (test, source), of_row in zip(rows, zip(*cells, counts, strict=True), strict=True)
        ),
        label_title="server",
        note=_NOTE,
    )
