"""What a search says of the capacity, and of what limited it."""

from campaigns.domain.analysis.capacity import (
    CapacityAnswer,
    CapacityInterval,
    Ending,
    SearchResult,
)
from campaigns.domain.analysis.judgement import Finding, Judgement, JudgementReason, LimitsByCode
from campaigns.domain.analysis.limit import Busy
from campaigns.domain.analysis.thresholds import Verdict
from campaigns.domain.lifecycle import Precision, TargetState, Trust
from campaigns.domain.presentation.capacity_words import (
    bound_words,
    capacity_text,
    limiter_of,
    search_sentence,
    signs_of,
)
from campaigns.domain.presentation.sentences import plain_text
from campaigns.domain.units import DASH, percent

OBJECTIVE = "p95 below 300 ms"
FOUND = CapacityInterval(1850, 1790, 1910, 5)
ONE = (SearchResult(1840, 1860, 12.0),)


def sentence(
    ending=Ending.FOUND, capacity=None, at_least=None, below=None, drift=0.0, n=5, live=False
):
    answer = CapacityAnswer(ending, capacity, at_least, below, ONE * n, drift)
    return plain_text(search_sentence(answer, OBJECTIVE, is_going_on=live)).replace("\u202f", " ")


def test_a_capacity_is_said_with_its_interval_and_its_searches():
    assert sentence(capacity=FOUND) == (
        "1,850 requests/s (1,790 to 1,910, 5 searches) keep p95 below 300 ms."
    )


def test_a_drift_is_no_steady_answer():
    words = sentence(Ending.DRIFTED, FOUND, drift=-0.12)
    assert words.startswith("No steady answer")
    assert "−12 %" in words


def test_a_capacity_that_was_not_found_has_bounds():
    for ending, at_least, below, words in [
        (Ending.STOPPED, 400, None, "at least 400"),
        (Ending.SILENT, 400, 800, "between 400 and 800"),
        (Ending.INJECTOR, 400, 800, "at least 400"),
        (Ending.BELOW, None, 100, "below 100"),
        (Ending.DEADLINE, None, None, ""),
        (Ending.DRIFTED, 400, 800, ""),
    ]:
        answer = CapacityAnswer(ending, None, at_least, below, (), 0.0)
        assert bound_words(answer) == words
    assert capacity_text(answer, None) == "not steady"


def p95(is_kept: bool) -> Verdict:
    return Verdict("p95 < 300 ms", "p95", 300, "ms", 758, is_kept, None if is_kept else 3)


def test_a_failed_trial_has_the_rules_that_broke_and_what_the_target_did_not_keep_up_with():
    grew = JudgementReason("in_flight_growing", TargetState.OVERLOADED, "It grew.")
    target = Finding(TargetState.OVERLOADED, (grew,))
    judgement = Judgement(Finding(Trust.TRUSTED), target, Finding(Precision.FINE))
    signs = signs_of([p95(is_kept=False), p95(is_kept=True)], judgement)
    assert signs == ["p95 < 300 ms was broken", "requests in flight grew"]


def test_the_target_s_side_was_the_limit_where_the_injectors_had_room():
    failed = [["p95 < 300 ms was broken", "requests in flight grew"], ["p95 < 300 ms was broken"]]
    limiter = limiter_of(Ending.FOUND, failed, [], [{"cpu": 0.40}, {"cpu": 0.44}])
    assert limiter.word == "target side"
    assert limiter.why.endswith("The injectors had room.")
    rule, grew, own, cpu = limiter.rows
    assert (rule.measured, grew.measured) == ("2 of 2 failed trials", "1 of 2 failed trials")
    assert (own.figure, own.measured) == ("its own CPU", "unknown")
    assert (cpu.measured, cpu.limit, cpu.was_it) == (percent(0.42), percent(0.60, decimals=0), "no")


def test_injectors_have_room_up_to_the_limits_of_the_site():
    busy = [{"cpu": 0.75, "link": 0.85}]
    limits = LimitsByCode.with_overrides({"cpu": [0.9, 0.95], "link": [None, None]})
    assert "room" not in limiter_of(Ending.FOUND, [["x"]], [], busy).why
    limiter = limiter_of(Ending.FOUND, [["x"]], [], busy, limits)
    assert limiter.why.endswith("The injectors had room.")
    *_, cpu, link = limiter.rows
    assert (cpu.limit, cpu.was_it) == (percent(0.9, decimals=0), "no")
    assert (link.limit, link.was_it) == (DASH, "no")


def test_injectors_in_doubt_are_named_with_their_reason():
    limiter = limiter_of(Ending.INJECTOR, [], ["It ran late."] * 2, [{"cpu": 0.7}])
    assert limiter.word == "busy machine"
    late, cpu = limiter.rows
    assert (late.figure, late.measured, late.was_it) == ("It ran late.", "2 trials", "yes")
    assert cpu.was_it == "yes"


def test_what_took_the_injectors_cpu_is_named_and_what_helps():
    late, crowd = (
        JudgementReason(code, state, "", value, 0.5)
        for code, state, value in (("late", Trust.NO_ANSWER, 29_000), ("crowded", "", 0.938))
    )
    spoilt = Judgement(
        Finding(Trust.NO_ANSWER, (late,)), Finding(None), Finding(Precision.FINE), (crowd,)
    )
    limiter = limiter_of(Ending.INJECTOR, [], [], [], spoilt=[spoilt] * 2)
    assert limiter.word == "other programs"
    assert limiter.why.replace("\u202f", " ") == (
        "Other programs used up to 94 % of the CPU in 2 of 2 trials. "
        "Stop other programs on the injector host, or measure from a quieter machine."
    )


def test_a_search_under_way_claims_nothing():
    assert limiter_of(None, [], [], []).word == "–"


FAILED = [["p95 < 300 ms was broken"]]
WITH_ROOM = [{"cpu": 0.40}]


def found_beside(near: Busy, ending: Ending | None = Ending.FOUND):
    return limiter_of(ending, FAILED, [], WITH_ROOM).beside_machine(near)


def test_a_busy_machine_of_the_target_is_the_likely_limit():
    limiter = found_beside(Busy(target_cpu=0.94, target_cores=8))
    assert limiter.word == "target CPU"
    cpu, rule, own = limiter.rows
    assert (cpu.figure, cpu.was_it) == ("CPU of 8 cores", "likely")
    assert (rule.who, own.who) == ("Target", "Injectors"), "its CPU is known now"


def test_a_machine_with_room_leaves_it_at_the_target_s_side():
    """A thread that fills one of eight cores is 12.5 % of them. 0: nobody told how many."""
    for cpu, cores, was_it in [
        (0.42, 8, "one core may be"),
        (0.10, 8, "no"),
        (0.60, 1, "no"),
        (0.10, 0, "one core may be"),
    ]:
        limiter = found_beside(Busy(target_cpu=cpu, target_cores=cores))
        assert (limiter.word, limiter.rows[0].was_it) == ("target side", was_it)
        assert f"its CPU was at {percent(cpu, decimals=0)}." in limiter.why


def test_a_full_link_of_the_target_is_named():
    limiter = found_beside(Busy(target_cpu=0.30, target_link=0.95))
    assert limiter.word == "target network"
    assert [row.was_it for row in limiter.rows[:2]] == ["one core may be", "likely"]


def test_a_busy_machine_is_not_the_limit_of_a_search_that_met_its_cap():
    limiter = found_beside(Busy(target_cpu=0.94), Ending.LIMIT)
    assert (limiter.word, limiter.rows[0].was_it) == ("cap", "")
    assert not limiter.names_machine


def test_readers_who_may_not_see_machines_see_no_sign_of_them():
    full = JudgementReason("target_cpu", TargetState.OVERLOADED, "Full.")
    target = Finding(TargetState.OVERLOADED, (full,))
    judgement = Judgement(Finding(Trust.TRUSTED), target, Finding(Precision.FINE))
    signs = signs_of([p95(is_kept=False)], judgement)
    limiter = limiter_of(Ending.FOUND, [signs], [], WITH_ROOM).without_machine("shop.test")
    assert [row.figure for row in limiter.rows if row.who == "Target"] == [
        "p95 < 300 ms was broken"
    ]


def test_readers_who_may_not_see_machines_see_no_rule_about_them():
    rule = Verdict("target_cpu < 80 %", "target_cpu", 80, "%", 91, passed=False, since=3)
    signs = signs_of([p95(is_kept=False), rule], None)
    limiter = limiter_of(Ending.FOUND, [signs], [], []).without_machine("shop.test")
    assert [row.figure for row in limiter.rows] == ["p95 < 300 ms was broken"]
