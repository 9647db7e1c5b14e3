"""The table of a target's machine over the runs of a campaign: a row for each of them."""

from collections.abc import Callable, Iterable

from campaigns.domain.measured.machine_runs import MachineRun, MachineRuns
from campaigns.domain.shown.cells import Figure, column_cells
from campaigns.domain.shown.results import TestAnswer
from campaigns.domain.shown.tables import Column, Row, Table

_NAMES = ("plan_label", "label")
_UNTOLD = "The agent did not tell it."
_COLUMNS = (
    Column("cpu", "CPU", "% of all cores"),
    Column("watched", "chosen processes", "CPU, % of all cores"),
    Column("memory", "memory", "% used"),
    Column("received", "received", "MB/s"),
    Column("sent", "sent", "MB/s"),
    Column("loopback", "loopback", "MB/s"),
)


def machine_runs_table(told: MachineRuns, name_of: Callable[[MachineRun], str]) -> Table:
    """The means of each run over its seconds; without the columns that no run has."""
    columns = [column for column in _COLUMNS if told.tells(column.key)]
    cells = [
        column_cells([Figure(run.mean(column.key), _UNTOLD) for run in told.runs])
        for column in columns
    ]
    return Table(
        "machine-runs",
        "Means of every run",
        tuple(columns),
        tuple(
            Row(name_of(run), tuple(of_run), link={"run": run.run})
            for run, *of_run in zip(told.runs, *cells, strict=True)
        ),
        label_title="run",
    )


def namer_of_runs(tests: Iterable[TestAnswer]) -> Callable[[MachineRun], str]:
    """Names such as "L1, run 2": without what all tests have in common."""
    known = {test.test_id: test for test in tests}
    differing = [
        name for name in _NAMES if len({getattr(each, name) for each in known.values()}) > 1
    ]

    def name_of(run: MachineRun) -> str:
        test = known.get(run.test)
        words = [getattr(test, name) for name in differing] if test else ["reference"]
        return ", ".join([*words, f"run {run.repeat}"])

    return name_of
