"""Rules about the target's machine: kept, broken, or not measured."""

from campaigns.domain.analysis.thresholds import ThresholdJudge, threshold_state
from campaigns.domain.lifecycle import ThresholdState
from campaigns.domain.metrics.machine import MachinePoint
from campaigns.domain.metrics.snapshot import Total
from campaigns.domain.plan.frozen_run import ordered_plan
from campaigns.domain.plan.threshold import Threshold, parse_rule
from campaigns.domain.presentation.threshold_tables import (
    campaign_thresholds_table,
    kept_words,
    run_thresholds_table,
)
from tests.values import plan_spec

RULE = "target_cpu < 80 %"


def points(*shares: float, first: int = 0, **did) -> list[MachinePoint]:
    return [
        MachinePoint(second, 1.0, {"user_s": 2 * share, "idle_s": 2 * (1 - share), **full(did)})
        for second, share in enumerate(shares, first)
    ]


def full(did: dict) -> dict:
    return {"system_s": 0, "interrupts_s": 0, **did}


def verdict(*told: list[MachinePoint], rule: str = RULE, duration_s: float = 4.0):
    judge = ThresholdJudge([Threshold(**parse_rule(rule))])
    judge.machines = {f"shop-{n}": each for n, each in enumerate(told, 1)}
    for second in range(4):
        judge.look(second, [Total()], second + 1)
    (found,) = judge.verdicts([Total()], duration_s)
    return found


def test_a_rule_is_judged_on_all_seconds_so_far():
    for shares, measured, passed, since in [
        ((0.5, 0.7, 0.6, 0.6), 60, True, None),
        ((0.5, 1.0, 1.0, 1.0), 87.5, False, 2),
        ((1.0, 1.0, 0.5, 0.5), 75, True, None),
    ]:
        found = verdict(points(*shares))
        assert (found.measured, found.passed, found.since) == (measured, passed, since)


def test_seconds_of_the_warm_up_and_after_the_end_do_not_count():
    told = [*points(1.0, first=-1), *points(0.5, 0.5, 0.5, 0.5), *points(1.0, first=4)]
    assert verdict(told).measured == 50


def test_of_several_machines_the_highest_counts():
    assert verdict(points(0.1, 0.1), points(0.9, 0.9)).measured == 90


def test_memory_and_segments_sent_again_have_rules_too():
    for rule, did, measured in [
        ("target_memory<90%", {"memory_bytes": 8e9, "memory_used_bytes": 6e9}, 75),
        ("target_resent<1%", {"segments_sent": 1000, "retransmitted": 5}, 0.5),
        ("target_resent<1%", {"segments_sent": 0, "retransmitted": 0}, None),
    ]:
        assert verdict(points(0.5, 0.5, **did), rule=rule).measured == measured


def test_without_an_agent_a_rule_is_not_measured_and_never_passes():
    found = verdict()
    assert (found.measured, found.passed, found.since) == (None, False, None)
    assert threshold_state([found]) is ThresholdState.BROKEN
    assert kept_words([[found]]) == ""
    (row,) = run_thresholds_table([found]).rows
    assert [cell.text for cell in row.cells] == ["–", "80 %", "not measured", "–"]


def test_a_campaign_counts_a_rule_that_was_not_measured_as_not_kept():
    broken, missing = verdict(points(1.0, 1.0)), verdict()
    (row,) = campaign_thresholds_table([("HTTP", [[broken], [missing]])]).rows
    assert [cell.text for cell in row.cells] == ["0 of 2 runs", "100 %", "80 %", "broken"]


def test_an_injector_is_not_asked_to_judge_it():
    rules = [parse_rule(RULE), parse_rule("p95 < 300 ms")]
    assert ordered_plan({**plan_spec(), "thresholds": rules})["thresholds"] == rules[1:]
