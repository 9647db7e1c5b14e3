"""The runs on a campaign's page: a page of their list, and the tables of every repeat. Of many
tests it has the one table that its address asks for. The repeats of one plan, all targets of a
matrix side by side: the few figures that tables of studies have. The cells are those of each test's
own table, which has all figures."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import F

from campaigns.domain.lifecycle import RunState
from campaigns.domain.shown.results import Answer
from campaigns.domain.shown.tables import Cell, Row, Table
from campaigns.domain.shown.target_matrix import MatrixRow
from campaigns.models import Campaign, Run
from campaigns.queries.campaigns import runs_of
from campaigns.queries.pages import Page, page_of, sorted_by
from campaigns.views.campaign_plots import arm_labels, groups_of
from campaigns.views.drawings import LineStyle, line_style

RUNS = 100  # of a page of the list
_MOST_TABLES = 24
_FIGURES = ("n", "p50", "p95", "p99", "rate", "errors")


def runs_page(campaign: Campaign, asked: Mapping[str, str]) -> Page:
    """The page of ?runs=, in the order in which they are run."""
    rows = sorted_by(runs_of(campaign), F("position"), falls=False)
    return page_of(rows, RUNS, asked.get("runs", ""))


def headline_run(campaign: Campaign, runs: Page, answer: Answer) -> Run | None:
    """The run of a campaign that has no other, once it has begun; or the one whose partial figures
    are all there is."""
    if runs.count == 1:
        return runs.rows[0] if runs.rows[0].state != RunState.QUEUED else None
    return runs_of(campaign).get(pk=answer.partial_run) if answer.partial_run else None


def run_rows(runs: Page, answer: Answer) -> list[dict[str, Any]]:
    """The figures are the same cells as in the tests' tables."""
    arms = arm_labels(answer) | {test.test_id: "Reference" for test in answer.references}
    cells: dict[int, dict[str, Any]] = {}
    shown = {run.pk for run in runs}
    tests = {run.test_id for run in runs}
    for test in (each for each in (*answer.tests, *answer.references) if each.test_id in tests):
        keys = [column.key for column in test.table.columns]
        for row in test.table.rows:
            if row.link.get("run") in shown:
                cells[row.link["run"]] = dict(zip(keys, row.cells, strict=True))
    return [
        {
            "run": run,
            "arm": arms.get(run.test_id, run.test.connection_mode),
            "figures": [cells.get(run.pk, {}).get(key) for key in _FIGURES],
        }
        for run in runs
    ]


def repeats_of(answer: Answer, asked: Mapping[str, str]) -> dict[str, Any]:
    """{"tests": those whose table is shown, "plans": {group: [(test id, label)]} to choose from,
    "asked": the id of the chosen test}; nothing to choose from where all tables are shown."""
    if len(answer.tests) <= _MOST_TABLES:
        return {"tests": answer.tests, "plans": {}, "asked": None}
    shown = [test for test in answer.tests if str(test.test_id) == asked.get("repeats")]
    plans = {group.name: list(group.labels.items()) for group in groups_of(answer, answer.tests)}
    return {"tests": shown, "plans": plans, "asked": shown[0].test_id if shown else None}


_HEADS = (
    ("duration", "total", "s"),
    ("mean", "mean", "ms"),
    ("min", "min", "ms"),
    ("max", "max", "ms"),
)
_MEAN = "Mean"


@dataclass(frozen=True, slots=True)
class RepeatCells:
    """A target's figures in one repeat; [] where it has none. `why`: what is wrong with the run."""

    cells: list[Cell]
    why: str = ""
    is_apart: bool = False


@dataclass(frozen=True, slots=True)
class RepeatRow:
    label: str
    targets: list[RepeatCells]
    is_mean: bool


@dataclass(frozen=True, slots=True)
class RepeatTable:
    """`plans`: [(number, name, is it shown)]; `targets`: [(name, style)]."""

    plan: str
    plans: list[tuple[int, str, bool]]
    targets: list[tuple[str, LineStyle]]
    rows: list[RepeatRow]

    @property
    def heads(self) -> list[tuple[str, str]]:
        """(title, unit) of each target's figures."""
        return [(title, unit) for _, title, unit in _HEADS]


def repeat_table(answer: Answer, asked: Mapping[str, str]) -> RepeatTable | None:
    """Of the plan of ?plan=, counted from 1, or of the first; None without a matrix."""
    if answer.matrix is None:
        return None
    typed = asked.get("plan", "")
    number = int(typed) if re.fullmatch("[1-9][0-9]{0,2}", typed) else 1
    rows, shown = answer.matrix.rows, (number if number <= len(answer.matrix.rows) else 1)
    row, tests = rows[shown - 1], {test.test_id: test for test in answer.tests}
    of_targets = [tests[cell.test_id].table if cell else None for cell in row.cells]
    return RepeatTable(
        _name(row),
        [(n, _name(each), n == shown) for n, each in enumerate(rows, 1)],
        [(name, line_style(n)) for n, name in enumerate(answer.matrix.columns)],
        _rows(of_targets),
    )


def _name(row: MatrixRow) -> str:
    return f"{row.plan}, {row.place}" if row.place else row.plan


def _rows(tables: list[Table | None]) -> list[RepeatRow]:
    """The means first, then every repeat that a target has."""
    # Empty for what is not shown here. Means are of fewer runs where some do not count.
    by_label = [
        {{"mean": _MEAN, "run": row.label}.get(row.kind, ""): row for row in table.rows}
        if table
        else {}
        for table in tables
    ]
    labels = dict.fromkeys(label for rows in by_label for label in rows if label)
    ordered = sorted(labels, key=lambda label: label != _MEAN)
    return [
        RepeatRow(
            label,
            [_cells(table, rows.get(label)) for table, rows in zip(tables, by_label, strict=True)],
            label == _MEAN,
        )
        for label in ordered
    ]


def _cells(table: Table | None, row: Row | None) -> RepeatCells:
    if table is None or row is None:
        return RepeatCells([])
    keys = [column.key for column in table.columns]
    is_apart = row.link.get("trust") == "not_usable"
    cells = [row.cells[keys.index(key)] for key, *_ in _HEADS]
    return RepeatCells(cells, row.note, is_apart)
