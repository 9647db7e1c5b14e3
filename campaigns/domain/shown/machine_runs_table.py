"""The tables of a target's machine over the runs of a campaign: a row for each of them, and the
means of each test."""

from collections.abc import Callable, Iterable, Sequence

from campaigns.domain.judged.repeats import MeanInterval, mean_interval
from campaigns.domain.measured.machine_runs import MachineRun, MachineRuns
from campaigns.domain.shown.cells import Figure, column_cells, mean_cells
from campaigns.domain.shown.results import TestAnswer
from campaigns.domain.shown.tables import Column, Row, Table

_NAMES = ("plan_label", "label")
_UNTOLD = "The agent did not report it."
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


def machine_means_table(told: MachineRuns, tests: Sequence[TestAnswer]) -> Table:
    """A row for each test and figure: the mean of its counted runs with its 95 % interval, each run
    by the mean of its seconds."""
    by_run = {run.run: run for run in told.runs}
    names_plan = len({test.plan_label for test in tests}) > 1
    rows = [
        (f"{test.plan_label}, " * names_plan + f"{test.label}: {_figure_words(column)}", found)
        for test in tests
        for column in _COLUMNS
        if told.tells(column.key)
        and (found := _mean_of(column, [by_run[pk] for pk in test.counted if pk in by_run]))
    ]
    return Table(
        "machine-means",
        "Means over runs",
        (
            Column("mean", "mean", "", "Over the runs that count."),
            Column("low", "from", "", "Lower end of the mean's 95 % interval over repeats."),
            Column("high", "to", "", "Upper end of the mean's 95 % interval over repeats."),
            Column("runs", "runs", "", "Runs for which an agent or an exporter reported it."),
        ),
        tuple(Row(label, mean_cells(found)) for label, found in rows),
        label_title="test",
    )


def _mean_of(column: Column, runs: Sequence[MachineRun]) -> MeanInterval | None:
    told = [value for run in runs if (value := run.mean(column.key)) is not None]
    return mean_interval(told) if told else None


def _figure_words(column: Column) -> str:
    """CPU, % of all cores"""
    return f"{column.title}, {column.unit}"


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
