"""The tiles of a run."""

import pytest

from campaigns.domain.measured.figures import figures_of
from campaigns.domain.measured.snapshot import Total
from campaigns.domain.plan.plan import Plan
from campaigns.domain.shown.report_words import RunStatus, run_tiles
from tests.values import make_second, plan_spec

SIX = Plan.from_json(plan_spec(model="over", requests=6, over_s=12))


@pytest.mark.parametrize(
    ("lasted_s", "value", "line"),
    [
        (11, "0.545", "0.500 planned over 12 s"),
        (11.9999, "0.500", "of 0.500 planned"),
        (15, "0.400", "of 0.500 planned"),
    ],
)
def test_a_rate_above_the_planned_one_is_not_said_to_be_a_part_of_it(lasted_s, value, line):
    """Six requests, one every two seconds, take little more than ten."""
    total = Total()
    total.add(make_second(0, [20_000] * 6))
    run = RunStatus("done", "complete", None, "", figures_of(total, lasted_s), SIX)
    assert (run_tiles(run)[0]["value"], run_tiles(run)[0]["lines"][0]) == (value, line)
