import numpy as np
import pytest

from campaigns.domain.analysis import precision, target_state, trust
from campaigns.domain.analysis.criteria import Limits, Observed
from campaigns.domain.analysis.judgement import (
    LIMITS,
    QUESTIONS,
    Judgement,
    judge,
    limits_with,
)
from campaigns.domain.lifecycle import Precision, TargetState, Trust
from campaigns.domain.metrics.snapshot import Timing

TRUSTED, DOUBTFUL, BUSY, NOT_USABLE = Trust
FATAL = {"no_seconds", "lost_shards", "injector_exhausted", "little", "missing_seconds", "in_doubt"}
HEALTHY, CHANGING, OVERLOADED, FAILING = TargetState


def judged(us: int = 10_000, n: int = 5000, limits=LIMITS, **values) -> Judgement:
    """The judgement of these values by code, and of n response times of `us`."""
    observed = {
        code: each if isinstance(each, Observed) else Observed(each)
        for code, each in values.items()
    }
    return judge(observed, Timing.of(np.full(n, us)), limits)


def codes(finding) -> list[str]:
    return [reason.code for reason in finding.reasons]


def test_nothing_to_complain_about_is_trusted_healthy_and_fine():
    found = judged(cpu=0.3, errors=0.0, lateness_p99=100)
    assert (found.measurement.state, found.target.state) == (TRUSTED, HEALTHY)
    assert found.precision.state is Precision.FINE
    assert not found.measurement.reasons + found.target.reasons + found.notes


# Every code of the injectors, with a value that is fine, one that is doubtful, one not usable.
MEASUREMENT = {
    "no_seconds": (0, None, 1),
    "lost_shards": (0, None, 1),
    "own_time": (500, 501, 10_001),
    "own_time_p99": (3_000, 3_001, 10_001),
    "lateness_p99": (1_000, 1_001, 10_001),
    "cpu": (0.60, 0.61, 0.86),
    "cpu_5s": (0.80, 0.81, 0.96),
    "run_delay": (0.50, 0.51, None),
    "throttled": (0.01, 0.02, 0.26),
    "hub_lag": (100_000, 100_001, 400_001),
    "hub_lag_p50": (2_000, 2_001, 10_001),
    "hub_lag_p99": (3_000, 3_001, 25_001),
    "steal": (0.05, 0.051, 0.11),
    "other_cpu": (0.20, 0.21, 0.51),
    "gc_pause": (10_000, 10_001, 100_001),
    "gc_share": (0.01, 0.011, 0.051),
    "open_files": (0.70, 0.71, 0.96),
    "ports": (0.70, 0.71, None),
    "swapped": (0, 1, 101),
    "clock_step": (50_000, 50_001, 500_001),
    "starts_apart": (100_000, 100_001, 1_000_001),
    "link": (0.80, 0.81, None),
    "packets_lost": (0.01, 0.011, None),
    "injector_exhausted": (0, None, 1),
    "little": (0.05, 0.06, 0.21),
    "missing_seconds": (0.0, 0.005, 0.011),
    "in_doubt": (0.0, 0.001, 0.011),
}
# Every code of the target, with a value that is fine, one that is not, and its state then.
TARGET = {
    "no_success": (0, 1, FAILING),
    "errors": (0.01, 0.011, FAILING),
    "errors_at_limit": (0.01, 0.011, OVERLOADED),
    "only_redirects": (0.0, 1.0, HEALTHY),
    "sent_share": (0.999, 0.9989, OVERLOADED),
    "dropped": (0.001, 0.002, OVERLOADED),
    "slot_wait": (0.001, 0.002, OVERLOADED),
    "in_flight_growing": (0.02, 0.03, OVERLOADED),
    "resent": (0.01, 0.011, OVERLOADED),
    "target_cpu": (4, 5, OVERLOADED),
    "target_link": (4, 5, OVERLOADED),
    "listen_overflows": (0.001, 0.0011, OVERLOADED),
    "slowing_down": (0.0, 0.8, CHANGING),
    "warming_up": (0.0, 0.9, CHANGING),
    "longer_for_a_while": (0.0, 0.3, CHANGING),
    "shorter_for_a_while": (0.0, 0.3, CHANGING),
    "body_changed": (0.01, 0.011, CHANGING),
}
PRECISION = {"no_requests", "too_few_requests", "enough_requests"}
NOTES = {"co_located", "own_tail", "crowded", "crowded_beside"}


def test_every_code_belongs_to_exactly_one_question():
    classes = [set(MEASUREMENT), {*TARGET, "target_saturated"}, PRECISION, NOTES]
    assert sum(map(len, classes)) == len(set().union(*classes)) == len(QUESTIONS)
    assert set(QUESTIONS) == set().union(*classes)
    assert [trust.CODES, set(target_state.STATES), precision.CODES] == classes[:3]
    relative = {
        "own_time",
        "own_time_p99",
        "own_tail",
        "lateness_p99",
        "hub_lag_p50",
        "hub_lag_p99",
    }
    absolute = {code for code in LIMITS if not code.endswith(("_us", "share")) or code in QUESTIONS}
    unlimited = {"target_saturated", "no_requests", "enough_requests"}
    condition_of_another = {"other_cores"}
    assert absolute - condition_of_another | relative == set(QUESTIONS) - unlimited


@pytest.mark.parametrize("code", MEASUREMENT)
def test_a_fault_of_an_injector_costs_the_figures_that_it_spoils(code):
    """A busy machine spoils mean and tail, and leaves the median without its part."""
    fine, mild, severe = MEASUREMENT[code]
    assert judged(**{code: fine}).measurement.state is TRUSTED
    worst = NOT_USABLE if code in FATAL else BUSY
    for value, state in ((mild, DOUBTFUL), (severe, worst)):
        if value is not None:
            found = judged(**{code: value})
            assert (found.measurement.state, codes(found.measurement)) == (state, [code])
            assert found.is_busy is (code not in FATAL)


@pytest.mark.parametrize("code", TARGET)
def test_each_fault_of_the_target_is_a_result_of_a_trusted_measurement(code):
    fine, bad, state = TARGET[code]
    assert judged(**{code: fine}).target.state is HEALTHY
    found = judged(**{code: bad})
    assert (found.target.state, codes(found.target)) == (state, [code])
    assert found.measurement.state is TRUSTED


def test_a_target_on_the_injectors_machine_is_a_note():
    found = judged(co_located=1.0)
    assert (found.measurement.state, found.target.state) == (TRUSTED, HEALTHY)
    assert [note.code for note in found.notes] == ["co_located"]


def test_of_several_states_failing_goes_before_overloaded_and_overloaded_before_changing():
    found = judged(warming_up=0.3, slot_wait=0.5, errors=0.5)
    assert codes(found.target) == ["errors", "slot_wait", "warming_up"]
    assert judged(warming_up=0.3, slot_wait=0.5).target.state is OVERLOADED


@pytest.mark.parametrize("code", ["sent_share", "dropped", "slot_wait"])
def test_unsent_requests_are_the_injectors_while_it_is_in_doubt(code):
    found = judged(cpu=0.7, **{code: 0.5})
    assert set(codes(found.measurement)) == {"cpu", code}
    assert found.target.state is None


def test_what_was_answered_is_told_even_of_a_starved_injector():
    found = judged(cpu=0.9, only_redirects=1.0, errors=0.5)
    assert (found.target.state, codes(found.target)) == (FAILING, ["errors", "only_redirects"])
    assert judged(cpu=0.9).target.state is HEALTHY


def test_overload_is_not_claimed_where_the_machine_may_be_the_cause():
    found = judged(cpu=0.9, in_flight_growing=0.5)
    assert (found.target.state, codes(found.target)) == (None, ["not_known"])
    assert judged(cpu=0.9, in_flight_growing=0.5, errors=0.5).target.state is FAILING


def test_dropped_requests_beyond_the_second_limit_saturate_the_target():
    assert not judged(dropped=0.01).is_saturated
    found = judged(dropped=0.05, lateness_p99=100)
    assert found.is_saturated
    assert codes(found.target) == ["target_saturated"]


def test_dropped_requests_of_a_late_injector_are_not_held_against_the_target():
    found = judged(dropped=0.05, lateness_p99=2_500)
    assert found.measurement.state is BUSY
    assert not found.is_saturated


@pytest.mark.parametrize(
    ("n", "expected"), [(0, "none"), (1, "coarse"), (999, "coarse"), (1000, "fine")]
)
def test_few_requests_cost_precision_and_no_trust(n, expected):
    found = judged(n=n)
    assert found.precision.state == expected
    assert found.measurement.state is TRUSTED


def test_without_any_request_nothing_is_said_about_the_target():
    found = judged(n=0, no_requests=1)
    assert (found.measurement.state, found.target.state) == (TRUSTED, None)
    assert found.precision.state is Precision.NONE


def test_lateness_counts_against_the_run_s_own_percentile():
    states = [judged(100_000, lateness_p99=us).measurement.state for us in (9_900, 10_200, 25_200)]
    assert states == [TRUSTED, DOUBTFUL, BUSY]


def test_lateness_without_an_effect_on_the_p99_is_no_doubt():
    harmless = Observed(900, measure="p99", whole=2_000)
    assert judged(lateness_p99=2_500, own_time_p99=harmless).measurement.state is TRUSTED
    harmful = Observed(3_500, measure="p99", whole=2_000)
    found = judged(lateness_p99=2_500, own_time_p99=harmful).measurement
    assert codes(found) == ["lateness_p99", "own_time_p99"]
    only_typical = Observed(100, measure="p50", whole=2_000)
    assert codes(judged(lateness_p99=2_500, own_time=only_typical).measurement) == ["lateness_p99"]


@pytest.mark.parametrize(
    ("own_us", "p99_us", "expected"),
    [
        (2_999, 1_000, TRUSTED),  # what any client may have on a machine of virtual cores
        (3_001, 1_000, DOUBTFUL),
        (4_900, 100_000, TRUSTED),
        (5_100, 100_000, DOUBTFUL),
        (24_900, 100_000, DOUBTFUL),
        (25_100, 100_000, BUSY),
    ],
)
def test_what_the_injector_added_counts_against_what_the_times_are_without_it(
    own_us, p99_us, expected
):
    added = Observed(own_us, measure="p99", whole=p99_us)
    assert judged(us=p99_us + own_us, own_time_p99=added).measurement.state is expected


@pytest.mark.parametrize(
    ("own_us", "p99_us", "is_noted"),
    [(999, 1_000, False), (1_001, 1_000, True), (1_001, 30_000, False), (3_001, 1_000, False)],
)
def test_a_smaller_part_of_the_p99_is_a_note_until_it_is_a_doubt(own_us, p99_us, is_noted):
    added = Observed(own_us, measure="p99", whole=p99_us)
    found = judged(us=p99_us + own_us, own_time_p99=added, own_tail=added)
    assert [each.code for each in found.notes] == ["own_tail"] * is_noted
    assert bool(found.why_weak) is found.is_busy


@pytest.mark.parametrize(
    ("waits", "run_delay", "expected"),
    [(1, 0.25, TRUSTED), (1, 0.26, DOUBTFUL), (2, 0.40, TRUSTED), (2, 0.41, DOUBTFUL)],
)
def test_where_another_program_wanted_the_cpu_the_p99_is_doubted_as_soon_as_noted(
    waits, run_delay, expected
):
    added = Observed(1_500 * waits, measure="p99", whole=2_000, waits=waits)
    found = judged(own_time_p99=added, own_tail=added, run_delay=run_delay)
    assert found.measurement.state is expected


@pytest.mark.parametrize(
    ("other_cores", "expected"), [(0.12, TRUSTED), (0.25, TRUSTED), (0.26, DOUBTFUL)]
)
def test_an_injector_that_waits_for_a_processor_to_wake_up_competes_with_nobody(
    other_cores, expected
):
    added = Observed(2_070, measure="p99", whole=2_000)
    found = judged(own_time_p99=added, own_tail=added, run_delay=0.30, other_cores=other_cores)
    assert found.measurement.state is expected


@pytest.mark.parametrize(("run_delay", "expected"), [(0.24, TRUSTED), (0.26, DOUBTFUL)])
def test_where_another_program_competes_the_sample_gets_no_benefit_of_the_doubt(
    run_delay, expected
):
    added, edge = (Observed(us, measure="p99", whole=1_300) for us in (100, 3_200))
    found = judged(own_time_p99=added, own_tail=added, own_edge=edge, run_delay=run_delay)
    assert found.measurement.state is expected


@pytest.mark.parametrize(("waits", "expected"), [(1, DOUBTFUL), (2, TRUSTED)])
def test_a_handshake_is_one_more_wait_that_any_client_has(waits, expected):
    added = Observed(600, measure="p50", whole=3_000, waits=waits)
    assert judged(us=3_600, own_time=added).measurement.state is expected


@pytest.mark.parametrize("code", ["run_delay", "hub_lag_p50", "hub_lag_p99", "other_cpu"])
def test_what_may_delay_an_injector_is_no_doubt_where_no_delay_was_measured(code):
    cause = {code: MEASUREMENT[code][1]}
    assert judged(**cause, own_time=10, own_time_p99=20).measurement.state is TRUSTED
    found = judged(**cause, own_time=10, own_time_p99=20_000)
    assert set(codes(found.measurement)) == {"own_time_p99", code}


def test_a_long_stall_is_a_doubt_whatever_it_did_to_the_times():
    found = judged(hub_lag=290_000, own_time=10, own_time_p99=20)
    assert codes(found.measurement) == ["hub_lag"]


def test_a_reason_has_value_limit_and_worst_second():
    (reason,) = judged(cpu=Observed(0.9, second=12, injector=2)).measurement.reasons
    assert reason.state == BUSY
    assert (reason.value, reason.limit, reason.second) == (0.9, 0.85, 12)


@pytest.mark.parametrize(
    ("code", "value", "said"),
    [
        ("sent_share", 0.9986, "Only 99.86 % of the planned requests were sent (limit 99.9 %)"),
        ("hub_lag", 100_200, "stalled for 100.2 ms (limit 100 ms)"),
        ("missing_seconds", 1 / 36_000, "0.003 % of the seconds are missing."),
        ("errors", 0.99997, "99.997 % of the requests failed"),
    ],
)
def test_a_value_reads_neither_as_its_limit_nor_as_none_or_all_of_it(code, value, said):
    reasons = [each for each in judged(**{code: value}).reasons if each.code == code]
    assert said in reasons[0].text.replace("\u202f", " ")


def test_the_worst_reason_comes_first():
    assert codes(judged(hub_lag_p99=6_000, cpu=0.9).measurement) == ["cpu", "hub_lag_p99"]


def test_a_judgement_comes_back_from_json_as_it_was():
    found = judged(cpu=Observed(0.9, 3), co_located=1.0)
    assert Judgement.from_json(found.to_json()) == found


def test_settings_may_move_a_limit_but_not_invent_one():
    limits = limits_with({"co_located": (None, None), "cpu": (0.9, 0.99)})
    assert limits["cpu"] == Limits(0.9, 0.99)
    found = judged(limits=limits, co_located=1.0, cpu=0.8)
    assert (found.measurement.state, found.notes) == (TRUSTED, ())
    with pytest.raises(KeyError, match="unknown codes: mood"):
        limits_with({"mood": (1, 2)})


class TestWithoutTheMachine:
    """For those who may not know what the target's machine did."""

    FULL = Observed(20, measure=" from 0:42 on")

    @pytest.mark.parametrize("code", target_state.TARGET_MACHINE)
    def test_the_answer_stays_and_its_reason_is_that_nothing_is_shown(self, code):
        found = judged(**{code: self.FULL}).without_machine().target
        assert found.state is OVERLOADED
        assert codes(found) == ["machine_untold"]

    def test_another_reason_for_the_same_answer_is_enough(self):
        found = judged(target_cpu=self.FULL, in_flight_growing=0.5).without_machine()
        assert codes(found.target) == ["in_flight_growing"]

    def test_what_is_left_of_a_worse_answer_is_its_own_reason(self):
        found = judged(target_cpu=self.FULL, errors=0.5).without_machine()
        assert (found.target.state, codes(found.target)) == (FAILING, ["errors"])

    def test_a_judgement_without_the_machine_is_the_same(self):
        for found in (judged(errors=0.5), judged(cpu=0.9), judged()):
            assert found.without_machine() == found
