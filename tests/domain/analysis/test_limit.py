"""Who was the limit of a run, and how busy everyone was in it."""

import pytest

from campaigns.domain.analysis.judgement import Observation, judge
from campaigns.domain.analysis.limit import (
    Busy,
    MachineLoad,
    Who,
    busy_of,
    limit_of,
    mean_busy,
    with_noise_noted,
)
from campaigns.domain.lifecycle import Trust
from campaigns.domain.metrics.machine import MachinePoint, MachineUse, machine_use
from campaigns.domain.metrics.outcomes import (
    FailureRow,
    everything_failed,
    failure_words,
    of_target,
)
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.plan.plan import Plan
from tests.values import plan_spec

OPEN = plan_spec(model="open", rate_per_s=200, duration_s=60)
CPU_FULL = Observation(20, measure=" from 0:42 on")
IDLE, BUSY = 0.43, 1.0


def limit(highest_cpu: float | None = None, spec=OPEN, chosen_cpu: float | None = None, **codes):
    values = {
        code: each if isinstance(each, Observation) else Observation(each)
        for code, each in codes.items()
    }
    machines = []
    if highest_cpu is not None:
        figures = {"cpu": (0.3, highest_cpu)}
        figures |= {} if chosen_cpu is None else {"watched": (0.1, chosen_cpu)}
        machines = [MachineUse("shop-1", 60, 60.0, 4, figures=figures)]
    judgement = judge(values, Timing.of([10_000] * 2000))
    answer = limit_of(judgement, machines, Plan.from_json(spec))
    return answer.who, answer.why.replace("\u202f", " ")


def test_the_limit_is_the_first_that_has_evidence():
    for cpu, codes, who in [
        (None, {}, Who.PLAN),
        (IDLE, {}, Who.PLAN),
        (None, {"cpu": 0.9}, Who.INJECTOR),
        (BUSY, {"cpu": 0.9, "target_cpu": CPU_FULL}, Who.INJECTOR),
        (None, {"late": 50_000}, Who.MACHINE),
        (None, {"late": 50_000, "cpu": 0.9}, Who.INJECTOR),
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
    ]:
        assert limit(cpu, **codes)[0] is who


def test_a_target_with_cpu_to_spare_that_did_not_keep_up_may_have_one_full_thread():
    for cpu, may_be_one_thread in [(0.2, False), (0.25, True)]:
        _, why = limit(cpu, in_flight_growing=0.5)
        assert ("one thread" in why) is may_be_one_thread


def test_programs_beside_the_chosen_ones_are_named_where_they_filled_the_machine():
    _, why = limit(BUSY, chosen_cpu=0.2, in_flight_growing=0.5)
    assert "never above 20 %, so other programs of its machine took the rest, or it waited" in why
    assert "other programs" not in limit(BUSY, chosen_cpu=0.95, in_flight_growing=0.5)[1]


def injector(cpu: float, **means: float) -> dict:
    mean = {"cpu_share": cpu, **means}
    return {"shard": 0, "mean": mean, "worst": {}, "at": dict.fromkeys(mean, 0), "cpu_5s": None}


def test_the_busiest_injector_and_the_busiest_machine_count():
    busy = busy_of(
        [injector(0.2), injector(0.46)], [MachineLoad(0.30, 4, None), MachineLoad(0.94, 8, None)]
    )
    assert (busy.injector_cpu, busy.target_cpu, busy.target_cores) == (0.46, 0.94, 8)


def test_the_network_is_the_fullest_link_at_either_end():
    near = [injector(0.2, link_share=0.15)]
    assert busy_of(near, [MachineLoad(0.5, 2, 0.4)]).network == 0.4
    assert busy_of(near, []).network == 0.15


def test_what_nobody_told_is_absent_and_not_0():
    assert busy_of([], []) == Busy()
    assert Busy().network is None


def test_a_mean_is_over_the_runs_that_have_a_share():
    every = [Busy(target_cpu=0.9, target_cores=8), Busy(), Busy(target_cpu=0.8, injector_cpu=0.4)]
    assert mean_busy(every) == Busy(
        target_cpu=pytest.approx(0.85), target_cores=8, injector_cpu=0.4
    )
    assert mean_busy([]) == Busy()


def test_a_machine_s_link_is_as_full_as_its_busier_direction():
    did = {"received_bytes": 20, "sent_bytes": 160, "link_bytes_per_s": 100, "cores": [50, 50]}
    use = machine_use("shop-1", [MachinePoint(0, 2.0, did)])
    assert MachineLoad.of_use(use) == MachineLoad(None, 2, 0.8)


def test_noise_is_a_note_of_a_run_that_took_turns_and_what_was_not_sent_a_doubt():
    values = {
        "own_time": Observation(5_000),
        "steal": Observation(0.2),
        "dropped": Observation(0.5),
    }
    judgement = judge(values, Timing.of([10_000] * 2000))
    assert judgement.is_busy
    quieter = with_noise_noted(judgement)
    assert [each.code for each in quieter.measurement.reasons] == ["dropped"]
    assert quieter.measurement.state == quieter.measurement.reasons[0].state
    assert "steal" in {each.code for each in quieter.notes}
    quiet = with_noise_noted(judge({"steal": Observation(0.2)}, Timing.of([10_000] * 2000)))
    assert (quiet.measurement.state, quiet.is_busy) == (Trust.TRUSTED, False)


def row(kind, count, status=0, step=0):
    return FailureRow(step, kind, status, count, 0, 0)


def test_failures_are_named_by_their_status_or_their_error():
    for rows, attempts, words in [
        ([row("status_unexpected", 1200, 404)], 1200, "404 Not Found to all 1,200 requests"),
        ([row("status_unexpected", 20, 503)], 100, "20\u202f% failed with 503 Service Unavailable"),
        (
            [row("status_unexpected", 15, 503), row("first_byte_timeout", 5)],
            100,
            "20\u202f% failed, mostly with 503 Service Unavailable",
        ),
        (
            [row("status_unexpected", 900, 404), row("connect_refused", 300)],
            1200,
            "All 1,200 requests failed: 404 Not Found (900), connection refused (300)",
        ),
        ([row("reset", 99_999)], 100_000, "99.999\u202f% failed: connection reset"),
        ([], 100, ""),
    ]:
        assert failure_words(rows, attempts) == words


def test_details_stand_behind_their_kind():
    bad = FailureRow(0, "http_parse", 0, 5, details={"status 999": 1, "two lengths": 4})
    details = "two lengths; status 999"
    assert failure_words([bad], 5) == f"Not an HTTP reply for all 5 requests: {details}"
    assert failure_words([bad], 10) == f"50\u202f% failed: not an HTTP reply: {details}"


def test_what_the_injector_or_a_stop_did_is_not_the_targets_failure():
    rows = [row("client_ports", 5), row("aborted_by_stop", 1), row("reset", 2)]
    assert [each.kind for each in of_target(rows)] == ["reset"]
    assert not everything_failed(rows, 8)
