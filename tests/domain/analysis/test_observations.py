"""What is looked at before a run is judged, and whom it blames."""

import pytest

from campaigns.domain.analysis.judgement import judge
from campaigns.domain.analysis.limit import observed_vitals
from campaigns.domain.analysis.observations import observe
from campaigns.domain.metrics.measurement import Measurement, Vitals
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.plan.plan import Plan
from tests.values import make_second, plan_spec

OPEN = plan_spec(model="open", rate_per_s=1000, duration_s=1)


VITALS = {
    "cpu_share": 0.3, "other_cpu_share": 0.4, "other_cores": 3.2, "steal_share": 0.05,
    "run_delay_share": 0.1,
    "hub_lag_max_us": 900, "own_delay_p99_us": 70, "gc_pause_max_us": 12_000, "gc_share": 0.02,
    "open_files_share": 0.8, "ports_share": 0.9, "swapped_pages": 7, "clock_step_us": 60_000,
    "link_share": 0.85, "packets_lost_share": 0.02,
}  # fmt: skip


def one_second(*, timings=None, vitals=VITALS, counters=None, spec=OPEN):
    second = make_second(0, [5000] * 1000, vitals=vitals)
    second.timings |= timings or {}
    second.counters |= counters or {}
    return measurement_of([second], spec)


def measurement_of(seconds, spec) -> Measurement:
    measurement = Measurement(Plan.from_json(spec), last_seconds={0: seconds[-1].second})
    for each in seconds:
        measurement.add(each)
    return measurement.settle()


def observed_in(measurement, *, is_co_located=False):
    return observe(measurement, is_co_located=is_co_located)


def test_segments_sent_again_are_a_share_of_all_and_of_no_fewer_than_a_thousand():
    for sent, resent, share in [(10_000, 500, 0.05), (10, 5, 0.005)]:
        counters = {"segments_sent": sent, "segments_resent": resent}
        assert observed_in(one_second(counters=counters))["resent"].value == share


def test_beside_the_target_its_cpu_its_ports_and_late_acknowledgements_say_nothing():
    resent = {"segments_sent": 10_000, "segments_resent": 500}
    observations = observed_in(one_second(counters=resent), is_co_located=True)
    assert not observations.keys() & {"other_cpu", "ports", "resent"}
    assert "steal" in observations


def test_lateness_is_the_injectors_own_delay_without_the_wait_for_a_connection():
    late = {
        "lateness": Timing.of([90_000] * 1000),
        "own_delay": Timing.of([100] * 1000),
        "slot_wait": Timing.of([89_900] * 500),
    }
    observations = observed_in(one_second(timings=late))
    assert observations["late"].value == 100
    assert observations["slot_wait"].value == 0.5


def test_the_event_loop_is_judged_by_its_p99():
    lag = {"hub_lag": Timing.of([100] * 980 + [60_000] * 20)}
    lateness = observed_in(one_second(timings=lag))["late"]
    assert (round(lateness.value, -3), lateness.measure) == (60_000, "p99")


def test_what_the_injector_added_is_the_difference_of_the_same_requests():
    own_us = [20_000] * 980 + [30_000] * 20
    sample = {
        "sampled": Timing.of([us + 400 for us in own_us[:980]] + [52_000] * 20),
        "undelayed": Timing.of(own_us),
    }
    observations = observed_in(one_second(timings=sample))
    typical, high = observations["own_time"], observations["own_time_p99"]
    assert (typical.value, typical.measure) == (pytest.approx(832), "mean")
    assert typical.whole == pytest.approx(20_200)
    assert (high.value, high.measure) == (pytest.approx(22_000, abs=50), "p99")
    assert high.whole == pytest.approx(30_000, rel=1e-3)


def test_a_request_with_a_handshake_waits_twice():
    sample = {"sampled": Timing.of([5_000] * 1000), "undelayed": Timing.of([5_000] * 1000)}
    same = observed_in(one_second(timings=sample))["own_time"]
    fresh = observed_in(one_second(timings=sample | {"tls": Timing.of([2_000] * 1000)}))["own_time"]
    assert (same.waits, fresh.waits) == (1, 2)


def test_an_injector_that_measures_no_reading_is_judged_by_its_event_loop():
    lag = {"hub_lag": Timing.of([3_000] * 1000)}
    observations = observed_in(one_second(timings=lag))
    assert "own_time" not in observations
    assert observations["late"].value == pytest.approx(3_000, abs=2)
    assert observations["late"].whole == pytest.approx(5_000, abs=2)


def filling(in_flight, p50_us, spec=None):
    """Seconds of 600 arrivals with these numbers in flight at their ends, and these medians."""
    spec = spec or plan_spec(model="open", rate_per_s=600, duration_s=len(in_flight))
    seconds = [
        make_second(number, [us] * 100, in_flight=waiting, counters={"started": 600, "ok": 100})
        for number, (waiting, us) in enumerate(zip(in_flight, p50_us, strict=True))
    ]
    return observed_in(measurement_of(seconds, spec)).get("in_flight_growing")


def test_a_target_that_falls_behind_leaves_ever_more_in_flight():
    growth = filling([200, 400, 600, 800], [200_000, 600_000, 1_000_000, 1_400_000])
    assert growth.value == pytest.approx(400 / 1200)


def test_a_target_that_keeps_up_does_not():
    for in_flight, p50_us in [
        ([60, 60, 62, 61], [100_000] * 4),
        ([600, 1200, 1200, 1210], [1_900_000] * 4),  # slow, but it keeps up
        ([600, 1200, 1800, 2400], [1_900_000] * 4),  # slow, and the run is short
        ([6, 9, 12, 20], [10_000, 12_000, 14_000, 30_000]),  # within the noise
    ]:
        assert filling(in_flight, p50_us).value == 0.0


def test_only_even_open_loads_are_expected_to_keep_their_requests_in_flight():
    rising = [200, 400, 600, 800], [200_000, 600_000, 1_000_000, 1_400_000]
    assert filling(*rising, spec=plan_spec(model="closed", connections=800, duration_s=4)) is None
    stages = [{"duration_s": 4, "from_per_s": 10, "to_per_s": 500}]
    assert filling(*rising, spec=plan_spec(model="open", stages=stages)) is None


def test_sessions_are_judged_by_what_arrived_not_by_their_requests():
    spec = plan_spec(model="open", rate_per_s=300, duration_s=1, arrival_unit="session")
    spec["session"] = {"calls_per_session": 5}
    counters = {"started": 1100, "dropped": 100, "calls_skipped": 400}
    waits = {"slot_wait": Timing.of([1000] * 60)}
    observations = observed_in(one_second(spec=spec, counters=counters, timings=waits))
    # 300 sessions were due: 100 were dropped with the 4 more requests of each, 60 had to wait.
    assert observations["sent_share"].value == 1.0
    assert observations["dropped"].value == pytest.approx(100 / 300)
    assert observations["slot_wait"].value == pytest.approx(60 / 300)


def stretches(*levels_us: int, spec):
    """40 seconds at each level, then the beginning of one more."""
    seconds = [
        make_second(40 * nth + each, [level_us] * 20)
        for nth, level_us in enumerate(levels_us)
        for each in range(40)
    ]
    seconds.append(make_second(len(seconds), [900_000]))
    load = spec["load"]
    if load.get("duration_s"):
        spec = spec | {"load": load | {"duration_s": len(seconds)}}
    return measurement_of(seconds, spec)


def unsteady(measurement) -> dict:
    observations = observed_in(measurement)
    codes = ("warming_up", "slowing_down", "longer_for_a_while", "shorter_for_a_while")
    return {code: observations[code] for code in codes if code in observations}


def test_a_run_that_comes_to_rest_late_says_from_which_second_on():
    ((code, observation),) = unsteady(stretches(9000, 5000, 5100, spec=OPEN)).items()
    assert code == "warming_up"
    assert (observation.second, observation.value) == (40, pytest.approx(1 / 3))


def test_a_target_that_slows_down_is_another_reason():
    ((code, observation),) = unsteady(stretches(5000, 5000, 9000, spec=OPEN)).items()
    assert (code, observation.second) == ("slowing_down", 80)


def test_a_target_that_was_slower_or_faster_for_a_while_says_from_when_to_when():
    for level_us, word in [(9000, "longer"), (2000, "shorter")]:
        ((code, observation),) = unsteady(stretches(5000, level_us, 5000, spec=OPEN)).items()
        assert code == f"{word}_for_a_while"
        assert (observation.second, observation.measure) == (80, "from second 40 on")
        assert observation.value == pytest.approx(1 / 3)


def test_a_load_that_changes_is_not_expected_to_be_at_rest():
    stages = [{"duration_s": 120, "from_per_s": 10, "to_per_s": 50}]
    in_stages = plan_spec(model="open", stages=stages)
    assert unsteady(stretches(9000, 5000, 5000, spec=in_stages)) == {}
    ramp_up = plan_spec(model="closed", connections=10, duration_s=120, ramp_up_s=60)
    assert unsteady(stretches(9000, 5000, 5000, spec=ramp_up)) == {}


RISING = plan_spec(model="open", stages=[{"duration_s": 10, "from_per_s": 10, "to_per_s": 1000}])
FLAT_OUT = plan_spec(model="closed", connections=64, duration_s=10)


def failed(spec, errors: dict, statuses: dict):
    """1,000 requests came back, and these failed."""
    second = make_second(0, [5000] * 1000, errors=errors)
    second.counters["failed"] = sum(errors.values())
    second.statuses = {"200": 1000, **statuses}
    return judge(observed_in(measurement_of([second], spec)), second.timings["response"])


def test_an_injector_that_fails_is_not_said_to_have_run_out_of_files():
    for kind, code in [
        ("client_fd_exhausted", "injector_exhausted"),
        ("client_ports", "injector_exhausted"),
        ("client_other", "injector_failed"),
    ]:
        codes = {each.code for each in failed(OPEN, {kind: 3}, {}).measurement.reasons}
        assert codes & {"injector_exhausted", "injector_failed"} == {code}


REFUSED_503 = ({"status_unexpected": 200}, {"503": 200})


def test_errors_of_overload_are_the_limit_where_it_is_looked_for():
    for spec, failures, state in [
        (RISING, REFUSED_503, "overloaded"),
        (FLAT_OUT, REFUSED_503, "overloaded"),
        (FLAT_OUT, ({"status_unexpected": 200}, {"429": 200}), "overloaded"),
        (RISING, ({"connect_refused": 200}, {}), "overloaded"),
        (RISING, ({"first_byte_timeout": 150, "reset": 50}, {}), "overloaded"),
        (OPEN, REFUSED_503, "failing"),  # it was not asked how much it takes
        (OPEN, ({"first_byte_timeout": 200}, {}), "failing"),
        (RISING, ({"status_unexpected": 200}, {"404": 200}), "failing"),
        (FLAT_OUT, ({"status_unexpected": 200}, {"500": 200}), "failing"),
        (FLAT_OUT, ({"status_unexpected": 200}, {"503": 150, "404": 50}), "failing"),
        (FLAT_OUT, ({"status_unexpected": 200}, {"503": 195, "404": 5}), "overloaded"),
        (FLAT_OUT, ({"status_unexpected": 8}, {"503": 8}), "healthy"),
    ]:
        judgement = failed(spec, *failures)
        assert judgement.measurement.state == "trusted"
        assert judgement.target.state == state


def rows(*injectors):
    """Each of these injectors with its vitals of one second."""
    shards = []
    for shard, vitals in enumerate(injectors):
        sums = Vitals()
        sums.add(0, vitals)
        shards.append({"shard": shard, **sums.to_json()})
    return shards


def test_every_vital_is_a_criterion():
    values = {code: each.value for code, each in observed_vitals(rows(VITALS)).items()}
    assert values["cpu"] == 0.3
    assert values["steal"] == 0.05
    assert values["stall"] == 900
    assert (values["open_files"], values["ports"]) == (0.8, 0.9)
    assert (values["swapped"], values["clock_step"]) == (7, 60_000)
    assert (values["link"], values["packets_lost"]) == (0.85, 0.02)


def test_of_several_injectors_the_worst_is_named_by_its_number():
    observations = observed_vitals(rows(VITALS, VITALS | {"cpu_share": 0.6}))
    assert (observations["cpu"].value, observations["cpu"].injector) == (0.6, 2)
