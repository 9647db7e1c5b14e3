"""How many requests a load plans and how long they take; None where only the target decides."""

import pytest

from campaigns.domain.plan.load import planned_arrivals, planned_duration_s, stored_load

RAMP = {"duration_s": 60, "from_per_s": 10, "to_per_s": 50}


def even(duration_s, rate_per_s):
    return {"duration_s": duration_s, "from_per_s": rate_per_s, "to_per_s": rate_per_s}


@pytest.mark.parametrize(
    ("load", "arrivals", "duration_s"),
    [
        ({"model": "over", "requests": 100, "over_s": 10}, 100, 10),
        ({"model": "open", "rate_per_s": 37.5, "duration_s": 10}, 375, 10),
        ({"model": "open", "rate_per_s": 10, "duration_s": 10}, 100, 10),
        ({"model": "open", "rate_per_s": 3, "duration_s": 1.1}, 4, 1.1),
        ({"model": "open", "rate_per_s": 10, "requests": 100}, 100, 10),
        (
            {
                "model": "open",
                "distribution": "uniform",
                "uniform_min_s": 1,
                "uniform_max_s": 3,
                "requests": 9,
            },
            9,
            18,
        ),
        ({"model": "open", "stages": [even(30, 10), RAMP]}, 2100, 90),
        ({"model": "open", "stages": [even(1.1, 3)]}, 4, 1.1),
        ({"model": "open", "stages": [even(0.3, 10)]}, 3, 0.3),
        ({"model": "window", "low": 2, "high": 4, "requests": 9}, 9, None),
        ({"model": "window", "low": 2, "high": 4, "duration_s": 9}, None, 9),
        ({"model": "closed", "connections": 50, "requests": 1000}, 1000, None),
        ({"model": "closed", "connections": 5, "duration_s": 30}, None, 30),
        ({"model": "sequential", "duration_s": 30}, None, 30),
    ],
)
def test_a_load_plans_its_requests_and_its_duration(load, arrivals, duration_s):
    stored = stored_load(load)
    assert planned_arrivals(stored) == arrivals
    assert planned_duration_s(stored) == duration_s
