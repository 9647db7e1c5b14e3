"""A search for a capacity, against targets that pass below a rate."""

import json
from collections.abc import Callable
from dataclasses import replace
from math import exp, inf, log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from campaigns.domain.analysis.capacity import (
    ENOUGH_TRIALS,
    MOST_OPEN_TRIALS,
    MOST_SEARCHES,
    RULE_VERSION,
    CapacityAnswer,
    CapacityInterval,
    CapacityWord,
    Ending,
    NextTrial,
    SearchResult,
    SearchRules,
    Trial,
    TrialResult,
    capacity_of,
    capacity_ratio,
    capacity_word,
    has_kept_more,
    next_action,
    trend_of,
    trial_of,
    without_machine,
)
from campaigns.domain.analysis.judgement import Finding, Judgement, JudgementReason
from campaigns.domain.analysis.thresholds import Verdict, weigh
from campaigns.domain.lifecycle import Outcome, Precision, TargetState, Trust
from campaigns.domain.percentiles import t_quantile

LIMIT = 100_000.0


def rules(start: float = 100.0, limit: float = LIMIT, seed: int = 1) -> SearchRules:
    return SearchRules(start, limit, seed)


def search(
    given_rules: SearchRules, result_of: Callable[[NextTrial], TrialResult]
) -> tuple[list[Trial], CapacityAnswer]:
    """Every trial of a whole search, and its answer."""
    trials: list[Trial] = []
    while isinstance(action := next_action(given_rules, trials), NextTrial):
        assert action.number == len(trials) + 1 <= 200
        trials.append(Trial(action.rate_per_s, result_of(action)))
    return trials, action


def passes_below(capacity: float) -> Callable[[NextTrial], TrialResult]:
    return lambda trial: TrialResult.PASSED if trial.rate_per_s < capacity else TrialResult.FAILED


def test_it_doubles_the_rate_until_a_trial_fails_and_halves_the_bracket_to_ten_percent():
    trials, _ = search(rules(), passes_below(1850))
    rates = [trial.rate_per_s for trial in trials]
    assert rates[:6] == [100, 200, 400, 800, 1600, 3200]
    assert rates[6:9] == pytest.approx([2262.7, 1902.7, 1744.8], abs=0.1)


def test_the_golden_search_ends_with_its_interval():
    """Who changes these figures has changed the rule, and raises its version."""
    trials, answer = search(rules(), passes_below(1850))
    assert len(trials) == 27
    assert answer.ending == Ending.FOUND
    assert answer.capacity.rate_per_s == pytest.approx(1838.87, abs=0.01)
    assert answer.capacity.low == pytest.approx(1782.22, abs=0.01)
    assert answer.capacity.high == pytest.approx(1897.33, abs=0.01)
    assert answer.capacity.n_searches == 6
    assert answer.rule == RULE_VERSION == 4


@given(st.floats(150, 50_000), st.floats(1, 140), st.integers(0, 2**31))
def test_a_steady_target_s_capacity_is_in_the_interval(capacity, start, seed):
    trials, answer = search(rules(start, seed=seed), passes_below(capacity))
    assert answer.ending == Ending.FOUND
    assert answer.capacity.low < capacity < answer.capacity.high
    assert answer.capacity.width < 0.10
    assert len(trials) <= 55
    assert max(answer.at_least, 1) < capacity <= answer.below


@given(st.floats(10, 5_000), st.floats(1, 1_000), st.floats(1, 10), st.integers(0, 1_000))
def test_no_trial_is_above_the_limit(capacity, start, factor, seed):
    limit = start * factor
    trials, answer = search(rules(start, limit, seed), passes_below(capacity))
    assert max(trial.rate_per_s for trial in trials) <= limit
    assert answer.ending in (Ending.FOUND, Ending.LIMIT, Ending.BELOW)


@pytest.mark.long
@given(st.lists(st.sampled_from(list(TrialResult)), min_size=300, max_size=300), st.integers(0, 99))
def test_whatever_the_trials_say_the_search_ends(results, seed):
    supply = iter(results)
    trials, answer = search(rules(seed=seed), lambda _: next(supply))
    assert answer.ending in Ending
    assert len(trials) < 200


def test_a_trial_that_follows_a_failed_one_waits_until_what_it_left_has_drained():
    pass_, failure = Trial(100, TrialResult.PASSED), Trial(200, TrialResult.FAILED)
    assert not next_action(rules(), [pass_]).after_drain
    assert next_action(rules(), [pass_, failure]).after_drain


def test_a_first_rate_that_fails_ends_below_it():
    answer = next_action(rules(), [Trial(100, TrialResult.FAILED)])
    assert (answer.ending, answer.below, answer.capacity) == (Ending.BELOW, 100, None)


def test_a_limit_that_passes_ends_at_least_there():
    trials, answer = search(rules(limit=1000), passes_below(inf))
    assert [trial.rate_per_s for trial in trials] == [100, 200, 400, 800, 1000]
    assert (answer.ending, answer.at_least) == (Ending.LIMIT, 1000)


def test_an_untrusted_trial_is_repeated_once_and_does_not_count():
    late = Trial(200, TrialResult.UNTRUSTED, "sent late")
    trials = [Trial(100, TrialResult.PASSED), late]
    assert next_action(rules(), trials).rate_per_s == 200
    assert next_action(rules(), [*trials, Trial(200, TrialResult.PASSED)]).rate_per_s == 400


def test_so_many_open_trials_at_one_rate_end_the_search_with_what_is_known():
    late = Trial(200, TrialResult.UNTRUSTED, "sent late")
    again = next_action(rules(), [Trial(100, TrialResult.PASSED), *[late] * 3])
    assert (again.number, again.rate_per_s) == (5, 200)
    answer = next_action(rules(), [Trial(100, TrialResult.PASSED), *[late] * MOST_OPEN_TRIALS])
    assert (answer.ending, answer.at_least, answer.below) == (Ending.INJECTOR, 100, None)


@pytest.mark.parametrize("per_trial", [1.004, 0.996])
def test_a_target_that_drifts_has_no_steady_answer(per_trial):
    def drifting(trial: NextTrial) -> TrialResult:
        return passes_below(1000 * per_trial**trial.number)(trial)

    _, answer = search(rules(), drifting)
    assert answer.ending == Ending.DRIFTED
    assert answer.drift == pytest.approx(per_trial**20 - 1, rel=0.35)


def test_a_target_that_collapses_has_no_steady_answer():
    def collapsing(trial: NextTrial) -> TrialResult:
        return passes_below(1000 if trial.number < 12 else 10)(trial)

    trials, answer = search(rules(), collapsing)
    assert answer.ending == Ending.DRIFTED
    assert len(trials) < ENOUGH_TRIALS


def test_a_target_that_grows_meanwhile_is_followed_beyond_the_windows():
    def growing(trial: NextTrial) -> TrialResult:
        return passes_below(1000 if trial.number < 12 else 1500)(trial)

    _, answer = search(rules(), growing)
    assert max(each.high for each in answer.searches) > 1450
    assert len(answer.searches) <= MOST_SEARCHES


def test_a_search_that_is_ended_keeps_what_is_known():
    for why in [Ending.DEADLINE, Ending.STOPPED, Ending.SILENT]:
        trials, _ = search(rules(), passes_below(1850))
        early, first, three = (next_action(rules(), trials[:n], why) for n in (3, 9, 18))
        assert (early.ending, early.capacity, early.at_least) == (why, None, 400)
        assert first.capacity.rate_per_s == pytest.approx(1822, rel=0.001)
        assert first.capacity.low is None
        assert three.capacity.n_searches == 3
        assert three.capacity.low < 1850 < three.capacity.high
        assert three.at_least < 1850 <= three.below


def test_a_trial_that_this_rule_did_not_ask_for_ends_the_search():
    for rates in [[100, 300], [100, 200, 100], [90]]:
        trials = [Trial(rate, TrialResult.PASSED) for rate in rates]
        answer = next_action(rules(), [*trials, Trial(1000, TrialResult.FAILED)])
        assert (answer.ending, answer.capacity) == (Ending.STOPPED, None)
        assert (answer.at_least, answer.below) == (max(rates), 1000)


@given(st.floats(150, 50_000), st.integers(0, 99), st.integers(1, 60))
def test_an_answer_is_the_same_after_it_was_stored(capacity, seed, n):
    trials, _ = search(rules(seed=seed), passes_below(capacity))
    answer = next_action(rules(seed=seed), trials[:n], Ending.DEADLINE)
    assert CapacityAnswer.from_json(json.loads(json.dumps(answer.to_json()))) == answer


def searches(*rates: float, step: float = 1.02) -> list[SearchResult]:
    half = sqrt(step)
    return [SearchResult(r / half, r * half, 10.0 + 5 * n) for n, r in enumerate(rates)]


def test_it_is_the_geometric_mean():
    assert capacity_of(searches(1000, 2000, 4000)).rate_per_s == pytest.approx(2000)


def test_fewer_than_three_searches_have_no_interval():
    assert capacity_of([]) is None
    capacity = capacity_of(searches(1890, 1810))
    assert (capacity.low, capacity.high) == (None, None)


def test_the_interval_is_t_on_logarithms_plus_half_a_step():
    """Neighbours that differ most are not alike, so nothing widens it."""
    capacity = capacity_of(searches(1000, 1100, 1000, 1100, 1000))
    logs = [log(each) for each in (1000, 1100, 1000, 1100, 1000)]
    centre = sum(logs) / 5
    sd = sqrt(sum((each - centre) ** 2 for each in logs) / 4)
    half = t_quantile(0.975, 4) * sd / sqrt(5) + log(1.02) / 2
    assert (capacity.low, capacity.high) == pytest.approx((exp(centre - half), exp(centre + half)))


def test_results_that_resemble_their_neighbours_widen_it():
    uneven = capacity_of(searches(1000, 1080, 1010, 1090, 1020))
    alike = capacity_of(searches(1000, 1010, 1020, 1080, 1090))
    assert alike.width > 1.4 * uneven.width


def test_a_trend_is_said_of_a_straight_line_and_not_of_noise():
    assert trend_of(searches(1000, 1021, 1039, 1061, 1080)).is_sure
    assert not trend_of(searches(1000, 1080, 1010, 1090, 1020)).is_suspected


def test_its_drift_is_from_the_first_search_to_the_last():
    assert trend_of(searches(1000, 1020, 1040, 1060, 1080)).drift == pytest.approx(0.08, abs=0.002)


def test_a_trend_of_less_than_five_percent_is_none():
    assert not trend_of(searches(1000, 1010, 1020, 1030, 1040)).is_suspected


def test_fewer_than_five_searches_have_no_trend():
    assert trend_of(searches(1000, 1100, 1200, 1300)).drift == 0


def interval(rate_per_s: float, factor: float) -> CapacityInterval:
    return CapacityInterval(rate_per_s, rate_per_s / factor, rate_per_s * factor, 5)


def test_the_interval_is_of_the_logarithms_of_both():
    comparison = capacity_ratio(interval(1000, 1.03), interval(1100, 1.04))
    half = sqrt(log(1.03) ** 2 + log(1.04) ** 2)
    assert comparison.ratio == pytest.approx(1.1)
    assert (comparison.low, comparison.high) == pytest.approx((1.1 * exp(-half), 1.1 * exp(half)))


def test_the_other_way_round_it_is_the_inverse():
    one, other = interval(1000, 1.03), interval(1300, 1.06)
    ratio, inverse = capacity_ratio(one, other), capacity_ratio(other, one)
    assert (1 / inverse.high, 1 / inverse.ratio) == pytest.approx((ratio.low, ratio.ratio))


def test_the_word_needs_an_interval_that_says_it():
    for rate_per_s, factor, word in [
        (1200, 1.03, CapacityWord.MORE),
        (800, 1.03, CapacityWord.LESS),
        (1010, 1.01, CapacityWord.SAME),
        (1060, 1.10, CapacityWord.NOT_LESS),
    ]:
        comparison = capacity_ratio(interval(1000, 1.01), interval(rate_per_s, factor))
        assert capacity_word(comparison, 0.05) == word


def test_without_an_interval_there_is_no_ratio():
    assert capacity_ratio(CapacityInterval(1000, None, None, 1), interval(1000, 1.01)) is None


PASSED, FAILED, UNTRUSTED = TrialResult
UNSENT = (JudgementReason("sent_share", Trust.BUSY, "Only 90 % were sent."),)


def rule(value: float | None, is_kept: bool) -> Verdict:
    return Verdict("p95 < 300 ms", "p95", 300, "ms", value, is_kept, None)


def judgement_of(trust=Trust.TRUSTED, target: str = "") -> Judgement:
    doubts = (JudgementReason("cpu", trust, "Busy."),) if trust != Trust.TRUSTED else ()
    left = (JudgementReason(target, TargetState.OVERLOADED, "It grew."),) if target else ()
    return Judgement(
        Finding(trust, doubts), Finding(TargetState.HEALTHY, left), Finding(Precision.FINE)
    )


def answer_of(judgement=None, *verdicts: Verdict, outcome: str = Outcome.COMPLETE, why: str = ""):
    trial = trial_of(100, outcome, why, judgement, verdicts or (rule(20, True),))
    return trial.result, trial.reason


def test_kept_rules_and_a_target_that_keeps_up_pass():
    assert answer_of(judgement_of()) == (PASSED, "")


def test_a_broken_rule_fails_with_what_was_measured():
    assert answer_of(judgement_of(), rule(758.2, False)) == (FAILED, "p95 758\u202fms")


def test_a_rule_about_the_machine_that_nobody_told_says_nothing_of_the_rate():
    untold = Verdict("target_cpu < 80 %", "target_cpu", 80, "%", None, False, None)
    why = "No agent or exporter reported target_cpu."
    assert answer_of(judgement_of(), untold, rule(758, False)) == (UNTRUSTED, why)


def test_who_may_not_know_the_machine_reads_no_figure_of_it():
    for reason, words in [
        ("target_cpu 91 %", ""),
        ("p95 758 ms, target_memory 95 %", "p95 758 ms"),
        ("It grew, and stayed.", "It grew, and stayed."),
    ]:
        trial = without_machine(Trial(100, FAILED, reason), "shop.test")
        assert (trial.result, trial.reason) == (FAILED, words)


def test_a_target_that_did_not_keep_up_fails_though_the_rules_are_kept():
    for code in ["in_flight_growing", "sent_share", "dropped", "no_success"]:
        assert answer_of(judgement_of(target=code)) == (FAILED, "It grew.")


def test_what_is_no_sign_of_the_limit_passes():
    assert answer_of(judgement_of(target="body_changed")) == (PASSED, "")


def test_what_a_busy_machine_may_have_broken_is_not_counted():
    (verdict,) = weigh([rule(758, False)], Trust.BUSY)
    assert answer_of(judgement_of(Trust.BUSY), verdict) == (UNTRUSTED, "Busy.")
    (verdict_with_bound,) = weigh([replace(rule(758, False), at_least=20.0)], Trust.BUSY)
    result, reason = answer_of(judgement_of(Trust.BUSY), verdict_with_bound)
    assert (result, reason.replace("\u202f", " ")) == (
        UNTRUSTED,
        "p95 758 ms as measured and 20.0 ms without the injector's part",
    )
    assert answer_of(judgement_of(Trust.NO_ANSWER), rule(20, True)) == (UNTRUSTED, "Busy.")


def test_what_was_kept_in_spite_of_a_busy_machine_passes():
    assert answer_of(judgement_of(Trust.BUSY), rule(20, True)) == (PASSED, "")
    unsent = replace(judgement_of(Trust.BUSY), measurement=Finding(Trust.BUSY, UNSENT))
    assert answer_of(unsent, rule(20, True))[0] == UNTRUSTED


def test_a_run_that_did_not_end_is_not_counted():
    for outcome in [Outcome.PARTIAL, Outcome.FAILED]:
        assert answer_of(judgement_of(), outcome=outcome, why="Lost.") == (UNTRUSTED, "Lost.")
        assert answer_of(None) == (UNTRUSTED, "The trial did not run to its end.")


def test_a_rate_that_was_kept_is_more_than_an_interval_below_it():
    interval = CapacityInterval(1000.0, 970.0, 1030.0, 6)
    for ending, at_least, other, is_more in [
        (Ending.LIMIT, 2000.0, interval, True),
        (Ending.LIMIT, 1000.0, interval, False),
        (Ending.BELOW, None, interval, False),
        (Ending.DRIFTED, 2000.0, interval, False),  # no bound holds
        (Ending.LIMIT, 2000.0, None, False),
    ]:
        answer = CapacityAnswer(ending, None, at_least, None, (), 0.0)
        assert has_kept_more(answer, other) == is_more
