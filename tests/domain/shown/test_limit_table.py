"""The table of who was the limit of a run."""

import pytest

from campaigns.domain.judged.criteria import Observed
from campaigns.domain.judged.judgement import judge, limits_with
from campaigns.domain.judged.limit import Limit, Who
from campaigns.domain.measured.machine_use import MachineUse
from campaigns.domain.measured.snapshot import Timing
from campaigns.domain.shown.limit_table import limit_table


def test_it_has_the_limits_by_which_runs_are_judged():
    limits = limits_with({"cpu": [0.9, 0.95], "link": [None, None]})
    seen = {"cpu": Observed(0.75), "link": Observed(0.85)}
    judged = judge(seen, Timing.of([10_000] * 2000), limits)
    table = limit_table(Limit(Who.PLAN, ""), judged, seen, [], (None, None), limits)
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
        ["75", "90", "no"],
        ["85", "–", "no"],
    ]


def test_a_cpu_that_was_full_with_other_guests_has_what_they_took_beside_it():
    machine = MachineUse("shop-1", 60, 60.0, 2, figures={"cpu": (0.5, 0.6), "stolen": (0.3, 0.4)})
    judged = judge({"target_cpu": Observed(20, measure=" on")}, Timing.of([10_000] * 2000))
    table = limit_table(Limit(Who.TARGET, ""), judged, {}, [machine], (None, None))
    assert [(row.label, row.cells[0].text) for row in table.rows] == [
        ("target: CPU, %", "60"),
        ("target: CPU stolen by other guests, %", "40"),
    ]


@pytest.mark.parametrize(
    ("cpu", "said"), [(0.6004, ["60.04", "60", "yes"]), (0.59997, ["59.997", "60", "no"])]
)
def test_a_figure_is_on_its_side_of_the_limit(cpu, said):
    seen = {"cpu": Observed(cpu)}
    judged = judge(seen, Timing.of([10_000] * 2000))
    (row,) = limit_table(Limit(Who.PLAN, ""), judged, seen, [], (None, None)).rows
    assert [cell.text for cell in row.cells] == said
