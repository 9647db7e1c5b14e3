"""What came of a trial, from the end of its run."""

from dataclasses import replace

from campaigns.domain.analysis.capacity import Trial, TrialResult, trial_of, without_machine
from campaigns.domain.analysis.judgement import Finding, Judgement
from campaigns.domain.analysis.reasons import JudgementReason
from campaigns.domain.analysis.thresholds import Verdict, weigh
from campaigns.domain.lifecycle import Outcome, Precision, TargetState, Trust

PASSED, FAILED, UNTRUSTED = TrialResult
UNSENT = (JudgementReason("sent_share", Trust.BUSY, "Only 90 % were sent."),)


def rule(measured: float | None, passed: bool) -> Verdict:
    return Verdict("p95 < 300 ms", "p95", 300, "ms", measured, passed, None)


def judged(trust=Trust.TRUSTED, target: str = "") -> Judgement:
    doubts = (JudgementReason("cpu", trust, "Busy."),) if trust != Trust.TRUSTED else ()
    left = (JudgementReason(target, TargetState.OVERLOADED, "It grew."),) if target else ()
    return Judgement(
        Finding(trust, doubts), Finding(TargetState.HEALTHY, left), Finding(Precision.FINE)
    )


def tried(judgement=None, *verdicts: Verdict, outcome: str = Outcome.COMPLETE, why: str = ""):
    found = trial_of(100, outcome, why, judgement, verdicts or (rule(20, True),))
    return found.result, found.reason


def test_kept_rules_and_a_target_that_keeps_up_pass():
    assert tried(judged()) == (PASSED, "")


def test_a_broken_rule_fails_with_what_was_measured():
    assert tried(judged(), rule(758.2, False)) == (FAILED, "p95 758\N{NARROW NO-BREAK SPACE}ms")


def test_a_rule_about_the_machine_that_nobody_told_says_nothing_of_the_rate():
    untold = Verdict("target_cpu < 80 %", "target_cpu", 80, "%", None, False, None)
    why = "No agent or exporter reported target_cpu."
    assert tried(judged(), untold, rule(758, False)) == (UNTRUSTED, why)


def test_who_may_not_know_the_machine_reads_no_figure_of_it():
    for reason, shown in [
        ("target_cpu 91 %", ""),
        ("p95 758 ms, target_memory 95 %", "p95 758 ms"),
        ("It grew, and stayed.", "It grew, and stayed."),
    ]:
        found = without_machine(Trial(100, FAILED, reason), "shop.test")
        assert (found.result, found.reason) == (FAILED, shown)


def test_a_target_that_did_not_keep_up_fails_though_the_rules_are_kept():
    for code in ["in_flight_growing", "sent_share", "dropped", "no_success"]:
        assert tried(judged(target=code)) == (FAILED, "It grew.")


def test_what_is_no_sign_of_the_limit_passes():
    assert tried(judged(target="body_changed")) == (PASSED, "")


def test_what_a_busy_machine_may_have_broken_is_not_counted():
    (broken,) = weigh([rule(758, False)], Trust.BUSY)
    assert tried(judged(Trust.BUSY), broken) == (UNTRUSTED, "Busy.")
    assert tried(judged(Trust.NO_ANSWER), rule(20, True)) == (UNTRUSTED, "Busy.")


def test_what_was_kept_in_spite_of_a_busy_machine_passes():
    assert tried(judged(Trust.BUSY), rule(20, True)) == (PASSED, "")
    unsent = replace(judged(Trust.BUSY), measurement=Finding(Trust.BUSY, UNSENT))
    assert tried(unsent, rule(20, True))[0] == UNTRUSTED


def test_a_run_that_did_not_end_is_not_counted():
    for outcome in [Outcome.PARTIAL, Outcome.FAILED]:
        assert tried(judged(), outcome=outcome, why="Lost.") == (UNTRUSTED, "Lost.")
        assert tried(None) == (UNTRUSTED, "The trial did not run to its end.")
