"""The three answers under a sentence, and what to do where one of them is not well."""

from dataclasses import replace
from types import SimpleNamespace

from campaigns.domain.analysis.judgement import Observation, judge
from campaigns.domain.metrics.outcomes import DROPPED, FailureRow, Kind
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.plan.plan import Plan
from campaigns.domain.presentation.badges import Answers
from campaigns.domain.presentation.overhead_table import OverheadAnswer, overhead_table
from campaigns.domain.presentation.report_words import RunStatus, three_answers
from campaigns.domain.presentation.what_to_do import (
    FALLBACK,
    next_step,
    no_answer_words,
    remedy,
    what_to_do,
    words_of,
)
from tests.values import plan_spec

FAILING = Answers("trusted", "failing")


def judgement_by(code: str, value: float):
    return judge({code: Observation(value)}, Timing.of([10_000] * 2000))


def rows(*failures: tuple[str, int, int]) -> list[FailureRow]:
    return [FailureRow(0, kind, status, count) for kind, status, count in failures]


def steps_for(*failures: tuple[str, int, int]) -> list[tuple[str, str]]:
    return [(each.title, each.place) for each in what_to_do([], rows(*failures), 100, FAILING)]


def test_the_likeliest_comes_first_with_one_place_each():
    for failures, steps in [
        (
            [("status_unexpected", 404, 9)],
            [("404 Not Found.", "try"), ("Is 404 what you expect?", "plan")],
        ),
        ([("status_unexpected", 503, 9)], [("503 Service Unavailable.", "limit")]),
        ([("connect_refused", 0, 9)], [("Connection refused.", "target")]),
        ([("dropped", 0, 9)], [("No free connection.", "limit")]),
        (
            [("reset", 0, 1), ("status_unexpected", 500, 5), ("connect_timeout", 0, 9)],
            [
                ("No connection within the limit.", "target"),
                ("500 Internal Server Error.", "limit"),
            ],
        ),
    ]:
        assert steps_for(*failures) == steps


def test_nothing_but_redirects_asks_for_the_page_behind_them():
    judgement = judgement_by("only_redirects", 1.0)
    (step,) = what_to_do([judgement], [], 100, Answers("trusted", "healthy"))
    assert step.place == "plan"


def test_what_no_busy_injector_makes_is_mended_first_where_it_is_all():
    for failure, is_certain in [
        (("connect_refused", 0, 100), True),
        (("status_unexpected", 500, 100), True),
        (("connect_refused", 0, 99), False),  # one got through
        (("connect_timeout", 0, 100), False),  # may be for want of CPU
    ]:
        judgement = judgement_by("cpu", 0.9)
        steps = what_to_do([judgement], rows(failure), 100, Answers("no_answer"))
        assert (steps[0].place != "hosts") is is_certain
        assert len(steps) == 2


def test_what_is_noted_of_some_runs_is_no_cause_of_one_without_an_answer():
    lost, busy, late = (
        judgement_by(code, value)
        for code, value in (("lost_shards", 1), ("cpu", 0.7), ("late", 1_500))
    )
    judgements = [busy, busy, late, late, lost]
    *causes, again = what_to_do(judgements, [], 100, Answers("no_answer", is_usable_in_part=True))
    assert [each.title for each in causes] == ["An injector process was lost."]
    assert again.place == "again"


def test_nothing_is_to_be_done_where_nothing_is_wrong():
    for answers, n in [
        (Answers(), 0),
        (Answers("trusted", "healthy"), 0),
        (Answers("trusted", ""), 0),
        (Answers("trusted", "changing"), 0),
        (Answers("trusted", "overloaded"), 1),
        (Answers("trusted", "overloaded", finds_limit=True), 0),
    ]:
        assert len(what_to_do([], [], 100, answers)) == n


PLAN = Plan.from_json(plan_spec())


def run_with(n: int = 2000, **values: float) -> RunStatus:
    observations = {code: Observation(value) for code, value in values.items()}
    figures = SimpleNamespace(n=n, attempts=n, errors=0)
    judgement = judge(observations, Timing.of([10_000] * n))
    return RunStatus("done", "complete", judgement, "", figures, PLAN)


def reasons(runs: list[RunStatus], answers: Answers) -> list[str]:
    return [each.reason.replace("\u202f", " ") for each in three_answers(runs, answers, [])]


def test_a_reason_is_told_of_the_runs_that_have_it():
    runs = [run_with(lost_shards=1), run_with(cpu=0.7), run_with(cpu=0.7), run_with()]
    measurement, *_ = reasons(runs, Answers("no_answer"))
    assert measurement.startswith("1 of 4 runs")
    assert "2 other runs" in measurement


def test_the_most_frequent_cause_is_named_with_its_runs():
    several = [judgement_by("cpu", 0.9), judgement_by("no_seconds", 1), judgement_by("cpu", 0.95)]
    words = no_answer_words(several, 15).replace("\u202f", " ")
    assert words == "No answer: the injector used up to 95.0 % of a core in 2 of 15 runs"


def test_each_kind_of_failure_says_what_to_do():
    for kind in [*Kind, DROPPED]:
        needs_status = {Kind.STATUS_UNEXPECTED}
        assert (remedy(kind) == FALLBACK) == (kind in needs_status)


def test_a_kind_that_nobody_knows_is_still_words():
    assert remedy("made_up") == FALLBACK
    assert words_of("made_up") == "made up"
    assert words_of("reset") == "connection reset"


OVERHEAD = OverheadAnswer(
    plan_label="plan",
    connection_mode="new",
    baseline_test_id=1,
    candidate_test_id=2,
    table=overhead_table("k", "T", [], None, ""),
    forest=[],
    split=None,
    word="too close to call",
    word_reason="",
    like_for_like={},
    title="New connection",
    names=("HTTP", "HTTPS"),
    is_chosen=False,
    n_usable=5,
    more=None,
)


def blocks_offered(*blocks: int | None, room: int = 40, n_usable: int = 5) -> int | None:
    """None: no step at all."""
    step = next_step([replace(OVERHEAD, more=more, n_usable=n_usable) for more in blocks], room)
    return step and step.blocks


def test_as_many_blocks_are_offered_as_settle_it_and_fit():
    assert blocks_offered(8) == 8
    assert blocks_offered(300, 6) == 6
    assert blocks_offered(100, room=45) == 0


def test_what_is_settled_or_cannot_be_used_needs_no_more_blocks():
    assert blocks_offered(None) is None
    assert blocks_offered(2, n_usable=0) is None
