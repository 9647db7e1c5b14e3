"""The section of a campaign's page with what the target's machine did over all of its runs."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from campaigns.domain.measured.machine_runs import MachineRun
from campaigns.domain.shown.machine_runs_table import machine_runs_table
from campaigns.domain.shown.results import Answer, TestAnswer
from campaigns.models import Campaign
from campaigns.queries.machine_runs import machine_runs
from campaigns.views.machine_drawing import machine_drawing

_NAMES = ("plan_label", "label")


def machine_runs_section(campaign: Campaign, answer: Answer) -> dict[str, Any] | None:
    """None with fewer than two runs that were told: one run's curves are its own."""
    told = machine_runs(campaign)
    if told is None or len(told.runs) < 2:
        return None
    name_of = partial(_name_of, {test.test_id: test for test in answer.tests})
    drawing, table = machine_drawing(told, name_of), machine_runs_table(told, name_of)
    return {"told": told, "drawing": drawing, "table": table}


def _name_of(tests: Mapping[int, TestAnswer], run: MachineRun) -> str:
    """Such as "L1, run 2": without what all tests have in common."""
    test = tests.get(run.test)
    if test is None:
        return f"reference, run {run.repeat}"
    plans, labels = ({getattr(each, name) for each in tests.values()} for name in _NAMES)
    told = [test.plan_label] * (len(plans) > 1) + [test.label] * (len(labels) > 1)
    return ", ".join([*told, f"run {run.repeat}"])
