"""The table of a target's machine over the runs of a campaign: a row for each of them."""

from collections.abc import Callable

from campaigns.domain.measured.machine_runs import MachineRun, MachineRuns
from campaigns.domain.shown.cells import Figure, column_cells
from campaigns.domain.shown.tables import Column, Row, Table

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
