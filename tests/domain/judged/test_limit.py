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
CLOSED = plan_spec(model="closed", connections=20, duration_s=60)
SEQUENTIAL = plan_spec(model="sequential", requests=20)
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
    found, why = limit(cpu, **observed)
    assert found is who
    assert why.endswith(".")


def test_its_evidence_is_what_was_measured():
    assert limit(BUSY, target_cpu=CPU_FULL)[1] == "The target's CPU was at 100 % from 0:42 on."
    assert limit(IDLE)[1] == (
        "All requests were sent as planned, and the target kept up. "
        "The target's CPU was never above 43 %."
    )


@pytest.mark.parametrize("observed", [{"in_flight_growing": 0.5}, {"resent": 0.05}])
def test_without_an_agent_it_says_what_would_tell_the_target_from_the_network(observed):
    assert limit(**observed)[1].endswith(" An agent on the target's machine would tell which.")


@pytest.mark.parametrize(
    ("cpu", "words"),
    [
        (0.2, "20 %, so it waited"),
        (0.203, "21 %, so it waited"),
        (0.25, "25 %, so one thread was full, or it waited"),
    ],
)
def test_a_target_with_cpu_to_spare_that_did_not_keep_up_waited_unless_it_has_one_thread(
    cpu, words
):
    _, why = limit(cpu, in_flight_growing=0.5)
    assert why.endswith(
        f"Its CPU was never above {words} for something else, such as locks, a pool or a database."
    )


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (CLOSED, "Each of the 20 connections waited for its reply before it sent again"),
        (SEQUENTIAL, "Each request waited for the reply before it."),
    ],
)
def test_a_load_that_waits_for_replies_is_limited_by_that(spec, words):
    who, why = limit(spec=spec)
    assert who is Who.PLAN
    assert why.startswith(words)


def test_what_other_guests_took_is_no_waiting_of_the_target():
    figures = {"cpu": (0.5, 0.6), "stolen": (0.3, 0.38)}
    machines = [MachineUse("shop-1", 60, 60.0, 1, figures=figures)]
    judged = judge({"in_flight_growing": Observed(0.5)}, Timing.of([10_000] * 2000))
    found = limit_of(judged, machines, Plan.from_json(OPEN))
    assert found.why.replace("\u202f", " ").endswith(
        "Its CPU was never above 60 %, so other guests of its hypervisor took up to 38 % of it, or "
        "it waited for something else, such as locks, a pool or a database."
    )


def test_a_machine_with_nobody_knows_how_many_cores_may_have_one_that_is_full():
    machines = [MachineUse("shop-1", 60, 60.0, 0, figures={"cpu": (0.1, 0.2)})]
    judged = judge({"in_flight_growing": Observed(0.5)}, Timing.of([10_000] * 2000))
    assert (
        "one thread was full, or it waited" in limit_of(judged, machines, Plan.from_json(OPEN)).why
    )
