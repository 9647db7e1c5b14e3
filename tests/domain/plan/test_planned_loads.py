"""The form draws what the server will do: both sides read the same cases."""

import json
from pathlib import Path

import pytest

from campaigns.domain.plan.load import planned_arrivals, planned_duration_s, stored_load

CASES = json.loads((Path(__file__).parents[2] / "golden/planned_loads.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case["load"].values())))
def test_the_server_plans_what_the_page_plans(case):
    load = stored_load(case["load"])
    assert planned_arrivals(load) == case["requests"]
    assert planned_duration_s(load) == case["duration_s"]
