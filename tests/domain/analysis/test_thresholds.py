"""Rules as people write them, and how a measurement stands against them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.analysis.thresholds import GROUPS, ThresholdJudge, Verdict, threshold_state
from campaigns.domain.errors import InvalidPlan
from campaigns.domain.lifecycle import ThresholdState
from campaigns.domain.metrics.injector_end import InjectorEnd
from campaigns.domain.metrics.machine import MachinePoint
from campaigns.domain.metrics.measurement import Measurement
from campaigns.domain.metrics.outcomes import CLIENT_KINDS, Kind
from campaigns.domain.metrics.snapshot import Second, Timing, Total
from campaigns.domain.plan.frozen_run import ordered_plan
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.threshold import (
    ERROR_GROUPS,
    ERROR_KINDS,
    Threshold,
    parse_rule,
    units_of,
)
from campaigns.domain.presentation.threshold_tables import (
    campaign_thresholds_table,
    kept_words,
    run_thresholds_table,
)
from tests.values import make_second, plan_spec


def visitors() -> dict:
    """A plan whose sessions are counted, so that it can have every kind of rule."""
    load = {"model": "open", "arrival_unit": "session", "rate_per_s": 1, "requests": 10}
    return plan_spec() | {"load": load, "session": {"calls_per_session": 5}}


def test_a_rule_is_read_as_people_write_it():
    for text, rule in [
        ("p95<300ms", "p95 < 300 ms"),
        (" p99 < 1.5 s ", "p99 < 1.5 s"),
        ("mean<20", "mean < 20 ms"),
        ("average < 20ms", "mean < 20 ms"),
        ("median<1s", "p50 < 1 s"),
        ("max < 900 µs", "max < 900 us"),
        ("errors<1%", "errors < 1 %"),
        ("errors<5", "errors < 5"),
        ("rate>100", "rate > 100 /s"),
        ("rate > 100 requests/s", "rate > 100 /s"),
        ("session_p95<10s", "session_p95 < 10 s"),
        ("session_max < 900", "session_max < 900 ms"),
        ("sessions_failed<1%", "sessions_failed < 1 %"),
        ("sessions_failed < 3", "sessions_failed < 3"),
        ("session_rate>5", "session_rate > 5 /s"),
        ("p99.5<200ms", "p99.5 < 200 ms"),
        ("p99.90<2s", "p99.9 < 2 s"),
        ("p99.99 < 1min", "p99.99 < 60 s"),
        ("session_p99.9 < 1h", "session_p99.9 < 3600 s"),
        ("first byte p95 < 100ms", "first_byte_p95 < 100 ms"),
        ("first_byte_mean<5", "first_byte_mean < 5 ms"),
        ("rate > 600/min", "rate > 10 /s"),
        ("errors of check < 0.1 %", "errors of check < 0.1 %"),
        ("errors of timeout of step 2 < 3", "errors of timeout of step 2 < 3"),
        ("p95 of step 1 < 300 ms", "p95 of step 1 < 300 ms"),
    ]:
        steps = [{"path": "/a"}, {"path": "/b"}]
        spec = visitors() | {"thresholds": [parse_rule(text)], "steps": steps}
        assert [each.rule for each in Plan.from_json(spec).thresholds] == [rule]


def test_a_rule_as_it_is_written_has_its_own_limit():
    for limit in [1_234_567, 0.5, 200.4, 999_999_999_999, 1e-7]:
        assert parse_rule(Threshold("max", limit, "us").rule)["limit"] == limit


def test_what_is_no_rule_is_answered_in_words():
    for text, words in [
        ("fast please", "is not a rule"),
        ("p95>300ms", "must stay below"),
        ("rate<100", "must stay above"),
        ("session_rate<5", "must stay above"),
        ("sessions_failed>1%", "must stay below"),
        ("p95<3e", "is not a number"),
        ("errors < 0 %", "never kept: nothing is below 0. errors < 1 allows none."),
        ("p95<0ms", "p95<0ms is never kept: nothing is below 0.$"),
    ]:
        with pytest.raises(ValueError, match=words):
            parse_rule(text)


def test_a_rule_of_very_many_blanks_is_refused_at_once():
    for begins in ["p95 of browse", "p95 < 300"]:
        with pytest.raises(ValueError, match="is not a rule"):
            parse_rule(f"{begins}{' ' * 200_000}!")


def test_what_is_wrong_in_a_plan_is_said_beside_its_field():
    for rule, path, words in [
        ({"metric": "p42", "limit": 1, "unit": "ms"}, "thresholds.0.metric", "no metric here"),
        ({"metric": "p99.995", "limit": 1}, "thresholds.0.metric", "no metric here"),
        ({"metric": "session_first_byte_p95", "limit": 1}, "thresholds.0.metric", "no metric"),
        ({"metric": "p95", "limit": 1, "kind": "check"}, "thresholds.0.kind", "Only errors"),
        ({"metric": "errors", "limit": 1, "kind": "bad"}, "thresholds.0.kind", "no kind of error"),
        ({"metric": "p95", "limit": 1, "step": 2}, "thresholds.0.step", "outside"),
        ({"metric": "p95", "limit": 1, "unit": "%"}, "thresholds.0.unit", "in ms or us or s"),
        ({"metric": "p95", "unit": "ms"}, "thresholds.0.limit", "which limit"),
        ({"metric": "session_p95", "limit": 9}, "thresholds.0.metric", "this plan has none"),
        ({"metric": "sessions_failed", "limit": 1}, "thresholds.0.metric", "this plan has none"),
        ({"metric": "p95", "limit": -1, "unit": "ms"}, "thresholds.0.limit", "outside"),
        ({"metric": "p95", "limit": 1, "colour": "red"}, "thresholds.0.colour", "no field"),
    ]:
        with pytest.raises(InvalidPlan) as refusal:
            Plan.from_json(plan_spec() | {"thresholds": [rule]})
        assert words in refusal.value.errors[path]


METRICS = ["p50", "p99.99", "mean", "max", "first_byte_p95", "session_p99.9", "session_max", "rate"]
METRICS += ["errors", "sessions_failed", "session_rate", "target_cpu"]


@given(st.sampled_from(METRICS), st.floats(0.001, 1e6), st.integers(0, 2))
def test_a_plan_with_rules_survives_being_stored(metric, limit, index):
    unit = units_of(metric)[index % len(units_of(metric))]
    spec = visitors() | {"thresholds": [{"metric": metric, "limit": limit, "unit": unit}]}
    plan = Plan.from_json(spec)
    assert Plan.from_json(plan.to_json()) == plan


def verdict_on(rule: str, *seconds, duration_s=None, **spec) -> Verdict:
    judge = ThresholdJudge([Threshold(**parse_rule(rule))])
    measurement = Measurement(Plan.from_json(plan_spec() | spec), judge=judge)
    for each in seconds:
        measurement.add(each)
    measurement.close(InjectorEnd(duration_us=round((duration_s or len(seconds)) * 1e6)))
    (verdict,) = measurement.settle().thresholds
    return verdict


def test_it_is_judged_on_everything_so_far_not_on_single_seconds():
    calm, slow = make_second(0, [1000] * 99), make_second(1, [900_000])
    assert verdict_on("p95<10ms", calm, slow).passed
    assert verdict_on("max<10ms", calm, slow) == Verdict(
        "max < 10 ms", "max", 10.0, "ms", 900.0, False, 1
    )


def test_the_lower_end_of_a_rule_is_that_of_the_quieter_seconds():
    def second(number: int, us: int, own_us: int) -> Second:
        timings = {"sampled": Timing.of([us + own_us] * 20), "undelayed": Timing.of([us] * 20)}
        return make_second(number, [us + own_us] * 20, timings=timings)

    seconds = [second(k, *((4000, 9000) if k % 2 else (1000, 100))) for k in range(20)]
    verdict = verdict_on("p95<10ms", *seconds)
    assert (verdict.measured, verdict.at_least) == (pytest.approx(13, rel=0.001), 1.0)
    assert verdict_on("errors<1%", *seconds).at_least is None
    assert verdict_on("p99<10ms", *seconds).at_least is None, "two quieter requests lie beyond it"


def test_any_percentile_is_the_nearest_rank():
    second = make_second(0, [1000] * 9985 + [50_000] * 14 + [90_000])
    assert verdict_on("p99.8<10ms", second).passed
    assert verdict_on("p99.9<10ms", second).measured == pytest.approx(50, rel=0.001)
    assert verdict_on("p99.99<10ms", second).measured == pytest.approx(50, rel=0.001)


def test_a_rule_of_a_step_is_judged_on_that_step_alone():
    steps = [{"path": "/a"}, {"path": "/b"}]
    failed = {"counters": {"failed": 1}, "errors": {"check_failed": 1}}
    seconds = [make_second(0, [1000] * 99), make_second(0, [50_000] * 9, step=1, **failed)]
    verdicts = [
        verdict_on(rule, *seconds, steps=steps)
        for rule in ("p95 of step 1 < 10 ms", "p95 of step 2 < 10 ms", "errors of step 2 < 5 %")
    ]
    assert [each.passed for each in verdicts] == [True, False, False]
    assert verdicts[2].measured == 10
    assert verdict_on("rate of step 1 > 40", *seconds, steps=steps).passed


def test_errors_of_a_kind_are_a_share_of_all_requests():
    errors = {"check_failed": 2, "connect_timeout": 3}
    second = make_second(0, [1000] * 95, counters={"failed": 5}, errors=errors)
    assert verdict_on("errors of check < 1 %", second).measured == 2
    assert verdict_on("errors of timeout < 4 %", second).passed
    assert verdict_on("errors of value < 1", second).measured == 0
    assert verdict_on("errors of check_failed < 1 %", second).measured == 2
    assert verdict_on("errors of connect_refused < 1", second).measured == 0


def test_each_kind_of_failure_at_the_target_is_in_one_group():
    assert tuple(GROUPS) == ERROR_GROUPS
    kinds = {kind for group in GROUPS.values() for kind in group}
    assert sorted(ERROR_KINDS) == sorted(kinds - {*ERROR_GROUPS})
    others = {*CLIENT_KINDS, Kind.ABORTED_BY_STOP, Kind.ADDRESS_REFUSED}
    assert sorted(kind for group in GROUPS.values() for kind in group) == sorted({*Kind} - others)


def test_the_first_byte_is_waited_for_from_the_last_byte_sent():
    waits = {"wait": Timing.of([3000] * 100)}
    second = make_second(0, [9000] * 100, timings=waits)
    assert verdict_on("first byte p95 < 5 ms", second).measured == pytest.approx(3, rel=0.001)
    socket = {"thresholds": [parse_rule("first_byte_p95<5ms")], "exchange": {"path": "/"}}
    with pytest.raises(InvalidPlan):
        Plan.from_json({"load": {"model": "sequential", "requests": 1}, **socket})


def test_since_is_the_beginning_of_the_last_stretch_that_was_broken():
    slow, calm = [50_000] * 10, [1000] * 1000
    seconds = [make_second(0, slow), make_second(1, calm), make_second(2, slow * 200)]
    verdict = verdict_on("p50<10ms", *seconds)
    assert (verdict.passed, verdict.since) == (False, 2)
    assert verdict_on("p50<10ms", *seconds[:2]).since is None


def test_rate_is_ok_requests_over_the_exact_duration():
    verdict = verdict_on("rate>100", make_second(0, [1000] * 60), duration_s=0.5)
    assert (verdict.measured, verdict.passed) == (120.0, True)


def test_errors_are_a_share_or_a_count():
    second = make_second(0, [1000] * 98)
    second.counters |= {"failed": 1, "dropped": 1}
    assert verdict_on("errors<3%", second).measured == 2.0
    assert verdict_on("errors<3", second).measured == 2
    assert not verdict_on("errors<2%", second).passed


def second_of_visits(second: int = 0) -> Second:
    """Quick requests, in sessions that their pauses make long: 97 ok, two failed, one dropped."""
    visits = make_second(second, [1000] * 500)
    visits.counters |= {"sessions_ok": 97, "sessions_failed": 2, "sessions_dropped": 1}
    visits.timings |= {"session": Timing.of([8_000_000] * 96 + [12_000_000])}
    visits.timings |= {"session_failed": Timing.of([30_000_000] * 2)}
    return visits


def test_rules_about_sessions_look_at_sessions_alone():
    for rule, value, is_kept in [
        ("sessions_failed<3%", 3.0, False),
        ("sessions_failed<4", 3, True),
        ("session_p95<10s", 8.0, True),
        ("session_max<10s", 12.0, False),
        ("session_mean<9000", 1e3 * (96 * 8 + 12) / 97, True),
        ("session_rate>45", 48.5, True),
        ("p95<2ms", 1.0, True),
    ]:
        verdict = verdict_on(rule, second_of_visits(), duration_s=2.0)
        assert verdict.measured == pytest.approx(value, rel=1e-3)
        assert verdict.passed is is_kept


def test_a_run_in_which_nothing_succeeded_is_the_worst():
    failed = make_second(0, [])
    failed.counters = {"failed": 4}
    runs = [[verdict_on("p95<1s", each)] for each in (make_second(0, [1000] * 200), failed)]
    (row,) = campaign_thresholds_table([("HTTP", runs)]).rows
    assert [cell.text for cell in row.cells] == ["1 of 2 runs", "–", "1 s", "broken"]


def test_nothing_measured_is_a_broken_rule_and_no_number():
    second = make_second(0, [])
    second.counters = {"failed": 4}
    for rule in ("p95<1s", "mean<1s", "max<1s", "rate>1"):
        verdict = verdict_on(rule, second)
        assert not verdict.passed
        assert verdict.since == 0
    assert verdict_on("p95<1s", second).measured is None


RULE = "target_cpu < 80 %"


def points(*shares: float, first: int = 0, **did) -> list[MachinePoint]:
    did = {"system_s": 0, "interrupts_s": 0, **did}
    return [
        MachinePoint(second, 1.0, {"user_s": 2 * share, "idle_s": 2 * (1 - share), **did})
        for second, share in enumerate(shares, first)
    ]


def verdict(*machines: list[MachinePoint], rule: str = RULE, duration_s: float = 4.0):
    judge = ThresholdJudge([Threshold(**parse_rule(rule))])
    judge.machines = {f"shop-{n}": each for n, each in enumerate(machines, 1)}
    for second in range(4):
        judge.look(second, [Total()], second + 1)
    (answer,) = judge.verdicts([Total()], duration_s)
    return answer


def test_a_rule_is_judged_on_all_seconds_so_far():
    for shares, value, is_kept, since in [
        ((0.5, 0.7, 0.6, 0.6), 60, True, None),
        ((0.5, 1.0, 1.0, 1.0), 87.5, False, 2),
        ((1.0, 1.0, 0.5, 0.5), 75, True, None),
    ]:
        answer = verdict(points(*shares))
        assert (answer.measured, answer.passed, answer.since) == (value, is_kept, since)


def test_seconds_of_the_warm_up_and_after_the_end_do_not_count():
    seconds = [*points(1.0, first=-1), *points(0.5, 0.5, 0.5, 0.5), *points(1.0, first=4)]
    assert verdict(seconds).measured == 50


def test_of_several_machines_the_highest_counts():
    assert verdict(points(0.1, 0.1), points(0.9, 0.9)).measured == 90


def test_memory_and_segments_sent_again_have_rules_too():
    for rule, did, value in [
        ("target_memory<90%", {"memory_bytes": 8e9, "memory_used_bytes": 6e9}, 75),
        ("target_resent<1%", {"segments_sent": 1000, "retransmitted": 5}, 0.5),
        ("target_resent<1%", {"segments_sent": 0, "retransmitted": 0}, None),
    ]:
        assert verdict(points(0.5, 0.5, **did), rule=rule).measured == value


def test_without_an_agent_a_rule_is_not_measured_and_never_passes():
    answer = verdict()
    assert (answer.measured, answer.passed, answer.since) == (None, False, None)
    assert threshold_state([answer]) is ThresholdState.BROKEN
    assert kept_words([[answer]]) == ""
    (row,) = run_thresholds_table([answer]).rows
    assert [cell.text for cell in row.cells] == ["–", "80 %", "not measured", "–"]


def test_an_injector_is_not_asked_to_judge_it():
    rules = [parse_rule(RULE), parse_rule("p95 < 300 ms")]
    assert ordered_plan({**plan_spec(), "thresholds": rules})["thresholds"] == rules[1:]
