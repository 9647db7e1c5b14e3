"""What the servers of a campaign used, beside one another: a row for each test, a column for each
resource, as the Uniserve study compares them; and the same per 1,000 requests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from campaigns.domain.presentation.results import TestAnswer
from campaigns.domain.presentation.tables import (
    Column,
    Figure,
    Row,
    Table,
    column_cells,
    count_cell,
)


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
        used = self.per_s.get(name)
        return None if used is None or not self.cores else 100 * used / self.cores

    def per_1000(self, name: str) -> float | None:
        amount = self.per_s.get(name)
        return None if amount is None else 1000 * amount / self.rate_per_s


_Read = Callable[[RunResources], float | None]
_MBIT = 8e-6


def _share(name: str) -> _Read:
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
    (Column("user", "CPU user", "% of all cores"), _share("user")),
    (Column("system", "CPU system", "% of all cores"), _share("system")),
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
_UNTOLD = "Its agent or exporter did not report it."


def resource_tables(told: Sequence[RunResources], tests: Sequence[TestAnswer]) -> list[Table]:
    """[] where fewer than two tests or machines were told: one has its own table."""
    rows: dict[tuple[int, str], list[RunResources]] = {}
    for each in told:
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
    shown = [(column, read) for column, read in columns if _tells(rows, read)]
    cells = [
        column_cells([Figure(_mean(runs, read), _UNTOLD) for runs in rows.values()])
        for _, read in shown
    ]
    counts = [count_cell(len(runs)) for runs in rows.values()]
    labels = _labels(rows, tests)
    return Table(
        key,
        title,
        (*(column for column, _ in shown), _RUNS),
        tuple(
            Row(labels[place], of_row, link={"test": place[0]})
            for place, of_row in zip(rows, zip(*cells, counts, strict=True), strict=True)
        ),
        label_title="server",
        note=_NOTE,
    )


def _tells(rows: Mapping[tuple[int, str], Sequence[RunResources]], read: _Read) -> bool:
    """Whether any run has something of it: loads past the loopback leave it at 0."""
    return any(read(run) for runs in rows.values() for run in runs)


def _mean(runs: Sequence[RunResources], read: _Read) -> float | None:
    told = [value for run in runs if (value := read(run)) is not None]
    return fmean(told) if told else None


def _labels(
    places: Mapping[tuple[int, str], Sequence[RunResources]], tests: Sequence[TestAnswer]
) -> dict[tuple[int, str], str]:
    """The test, and the machine where there are several."""
    names_plan = len({test.plan_label for test in tests}) > 1
    names = {
        test.test_id: f"{test.plan_label}, {test.label}" if names_plan else test.label
        for test in tests
    }
    names_machine = len({source for _, source in places}) > 1
    return {
        (test, source): f"{names[test]}, {source}" if names_machine else names[test]
        for test, source in places
    }
