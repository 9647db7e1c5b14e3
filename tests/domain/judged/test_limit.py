"""Who was the limit of a run, by its judgement and by what agents told."""

import pytest

from campaigns.domain.judged.criteria import Observed
from campaigns.domain.judged.judgement import judge
from campaigns.domain.judged.limit import Who, limit_of
from campaigns.domain.measured.machine_use import MachineUse
from campaigns.domain.measured.snapshot import Timing
from campaigns.domain.plan.plan import Plan
from tests.values import plan_spec

OPEN = plan_spec(model="open", rate_per_s=200, duration_s=60)
CPU_FULL = Observed(20, measure=" from 0:42 on")
IDLE, BUSY = 0.43, 1.0


def limit(highest_cpu: float | None = None, spec=OPEN, **observed):
    values = {
        code: each if isinstance(each, Observed) else Observed(each)
        for code, each in observed.items()
    }
    machines = []
    if highest_cpu is not None:
        machines = [MachineUse("shop-1", 60, 60.0, 4, figures={"cpu": (0.3, highest_cpu)})]
    judged = judge(values, Timing.of([10_000] * 2000))
    found = limit_of(judged, machines, Plan.from_json(spec))
    return found.who, found.why.replace("\u202f", " ")


@pytest.mark.parametrize(
    ("cpu", "observed", "who"),
    [
        (None, {}, Who.PLAN),
        (IDLE, {}, Who.PLAN),
        (None, {"cpu": 0.9}, Who.INJECTOR),
        (BUSY, {"cpu": 0.9, "target_cpu": CPU_FULL}, Who.INJECTOR),
        (None, {"lateness_p99": 50_000}, Who.INJECTOR),
        (None, {"link": 0.95}, Who.NETWORK),
        (None, {"lost_shards": 1}, Who.UNKNOWN),
        (None, {"lost_shards": 1, "cpu": 0.9}, Who.INJECTOR),
        (BUSY, {"target_cpu": CPU_FULL, "in_flight_growing": 0.5}, Who.TARGET),
        (IDLE, {"target_link": CPU_FULL, "in_flight_growing": 0.5}, Who.NETWORK),
        (IDLE, {"listen_overflows": 0.2}, Who.TARGET),
        (IDLE, {"in_flight_growing": 0.5}, Who.TARGET),
        (None, {"in_flight_growing": 0.5}, Who.UNKNOWN),
        (IDLE, {"resent": 0.05}, Who.NETWORK),
        (None, {"resent": 0.05}, Who.UNKNOWN),
        (IDLE, {"errors": 0.5}, Who.UNKNOWN),
        (None, {"no_requests": 1}, Who.UNKNOWN),
        (None, {"warming_up": 0.5}, Who.PLAN),
    ],
)
def test_the_limit_is_the_first_that_has_evidence(cpu, observed, who):
    assert limit(cpu, **observed)[0] is who


@pytest.mark.parametrize(("cpu", "may_be_one_thread"), [(0.2, False), (0.25, True)])
def test_a_target_with_cpu_to_spare_that_did_not_keep_up_may_have_one_full_thread(
    cpu, may_be_one_thread
):
    _, why = limit(cpu, in_flight_growing=0.5)
    assert ("one thread" in why) is may_be_one_thread
