"""The runs on a campaign's page: a page of their list, and the tables of every repeat. Of many
tests it has the one table that its address asks for.
"""

from collections.abc import Mapping
from typing import Any

from django.db.models import F

from campaigns.domain.lifecycle import RunState
from campaigns.domain.shown.results import Answer
from campaigns.models import Campaign, Run
from campaigns.queries.campaigns import runs_of
from campaigns.queries.pages import Page, page_of, sorted_by
from campaigns.views.campaign_plots import arm_labels, groups_of

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
