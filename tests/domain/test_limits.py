import pytest

from campaigns.domain.limits import longest_run_s
from campaigns.domain.plan import MAX_DURATION_S, Load, Model, Timeouts

TIMEOUTS = Timeouts(total_s=10)


@pytest.mark.parametrize(
    ("load", "seconds"),
    [
        (Load(Model.OVER, requests=100, over_s=20), 20),
        (Load(Model.OPEN, rate_per_s=50, duration_s=60), 60),
        (Load(Model.OPEN, rate_per_s=50, requests=1000), 20),
        (Load(Model.CLOSED, connections=4, duration_s=30), 30),
        (Load(Model.CLOSED, connections=4, requests=10), 3 * 10),
        (Load(Model.SEQUENTIAL, requests=7), 7 * 10),
        (Load(Model.CLOSED, connections=1, requests=10_000_000), MAX_DURATION_S),
    ],
)
def test_a_run_may_take_its_plan_and_what_a_slow_target_adds(load, seconds):
    assert longest_run_s(load, TIMEOUTS, warm_up_s=5) == 5 + seconds + 10 + 30
