"""The section of a campaign's page with what the target's machine did over all of its runs."""

from typing import Any

from campaigns.domain.shown.machine_runs_table import (
    machine_means_table,
    machine_runs_table,
    namer_of_runs,
)
from campaigns.domain.shown.results import Answer
from campaigns.models import Campaign
from campaigns.queries.machine_runs import runs_beside_each_other
from campaigns.views.machine_drawing import machine_drawing


def machine_runs_section(campaign: Campaign, answer: Answer) -> dict[str, Any] | None:
    """None where fewer than two runs were told."""
    told = runs_beside_each_other(campaign)
    if told is None:
        return None
    name_of = namer_of_runs(answer.tests)
    drawing, table = machine_drawing(told, name_of), machine_runs_table(told, name_of)
    means = machine_means_table(told, answer.tests)
    return {"told": told, "drawing": drawing, "means": means, "table": table}
