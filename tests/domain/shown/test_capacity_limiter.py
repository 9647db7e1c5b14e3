"""What limited a search: the word, and the evidence."""

import pytest

from campaigns.domain.judged.capacity import Ending
from campaigns.domain.judged.criteria import JudgementReason
from campaigns.domain.judged.judgement import Finding, Judgement
from campaigns.domain.judged.thresholds import Verdict
from campaigns.domain.lifecycle import Precision, TargetState, Trust
from campaigns.domain.shown.capacity_limiter import DOUBTFUL_AT, limiter_of, signs_of
from campaigns.domain.units import percent

pytestmark = pytest.mark.pure
CAP = "900 requests/s"


def verdict(passed: bool) -> Verdict:
    return Verdict("p95 < 300 ms", "p95", 300, "ms", 758, passed, None if passed else 3)


def test_a_failed_trial_has_the_rules_that_broke_and_what_the_target_did_not_keep_up_with():
    grew = JudgementReason("in_flight_growing", TargetState.OVERLOADED, "It grew.")
    target = Finding(TargetState.OVERLOADED, (grew,))
    judgement = Judgement(Finding(Trust.TRUSTED), target, Finding(Precision.FINE))
    signs = signs_of([verdict(passed=False), verdict(passed=True)], judgement)
    assert signs == ["p95 < 300 ms was broken", "requests in flight grew"]


def test_the_target_s_side_was_the_limit_where_the_injectors_had_room():
    failed = [["p95 < 300 ms was broken", "requests in flight grew"], ["p95 < 300 ms was broken"]]
    found = limiter_of(Ending.FOUND, failed, [], [{"cpu": 0.40}, {"cpu": 0.44}], CAP)
    assert found.word == "target side"
    assert found.why.endswith("The injectors had room.")
    broken, grew, own, cpu = found.rows
    assert (broken.measured, grew.measured) == ("2 of 2 failed trials", "1 of 2 failed trials")
    assert (own.figure, own.measured) == ("its own CPU", "unknown")
    assert (cpu.measured, cpu.doubtful_from, cpu.was_it) == (
        percent(0.42),
        percent(0.60, decimals=0),
        "no",
    )
    assert cpu.bar == pytest.approx(DOUBTFUL_AT * 0.42 / 0.60, abs=0.1)


def test_without_vitals_nothing_is_said_of_the_injectors_room():
    assert "room" not in limiter_of(Ending.FOUND, [["x"]], [], [], CAP).why


def test_injectors_in_doubt_are_named_with_their_reason():
    found = limiter_of(Ending.INJECTOR, [], ["It ran late."] * 2, [{"cpu": 0.7}], CAP)
    assert found.word == "injectors"
    late, cpu = found.rows
    assert (late.figure, late.measured, late.was_it) == ("It ran late.", "2 trials", "yes")
    assert cpu.was_it == "yes"


def test_the_cap_is_named_with_its_rate():
    assert CAP in limiter_of(Ending.LIMIT, [], [], [], CAP).why


@pytest.mark.parametrize("ending", Ending)
def test_every_ending_has_a_word_and_a_sentence(ending):
    found = limiter_of(ending, [["x"]], [], [], CAP)
    assert found.word != "–"
    assert found.why.endswith(".")


def test_a_search_under_way_claims_nothing():
    assert limiter_of(None, [], [], [], CAP).word == "–"
