"""The three answers under a sentence, from how the runs ended."""

from types import SimpleNamespace

from campaigns.domain.judged.criteria import Observed
from campaigns.domain.judged.judgement import judge
from campaigns.domain.measured.snapshot import Timing
from campaigns.domain.plan.plan import Plan
from campaigns.domain.shown.badges import Answers
from campaigns.domain.shown.report_words import RunStatus
from campaigns.domain.shown.three_answers import three_answers
from tests.values import plan_spec

PLAN = Plan.from_json(plan_spec())


def ended(n: int = 2000, **observed: float) -> RunStatus:
    seen = {code: Observed(value) for code, value in observed.items()}
    figures = SimpleNamespace(n=n, attempts=n, errors=0)
    judged = judge(seen, Timing.of([10_000] * n))
    return RunStatus("done", "complete", judged, "", figures, PLAN)


def reasons(runs: list[RunStatus], found: Answers) -> list[str]:
    return [each.reason.replace("\u202f", " ") for each in three_answers(runs, found, [])]


def test_a_reason_is_told_of_the_runs_that_have_it():
    runs = [ended(lost_shards=1), ended(cpu=0.7), ended(cpu=0.7), ended()]
    measurement, *_ = reasons(runs, Answers("not_usable"))
    assert measurement.startswith("1 of 4 runs: 1 injector process was lost during the run")
    assert measurement.endswith(" 2 other runs were in doubt for another reason.")


def test_a_state_of_the_target_is_told_of_the_runs_that_have_its_reason():
    runs = [ended(dropped=0.005), ended(dropped=0.005, resent=0.02), ended(resent=0.02), ended()]
    _, target, _ = reasons(runs, Answers("trusted", "overloaded"))
    assert target.startswith("2 of 4 runs: 0.50 % of the requests were dropped")
    assert target.endswith(" 1 other run was overloaded for another reason.")
