"""Who is to blame for a busy machine: the injector only where its own CPU was the limit."""

import pytest

from campaigns.domain.analysis.criteria import CRITERIA
from campaigns.domain.analysis.judgement import Judgement, Observation, judge
from campaigns.domain.analysis.limit import blame, limit_of, others_cpu
from campaigns.domain.lifecycle import Trust
from campaigns.domain.metrics.snapshot import Timing
from campaigns.domain.plan.plan import Plan
from campaigns.domain.presentation.badges import Answers
from campaigns.domain.presentation.what_to_do import no_answer_words, what_to_do
from tests.values import plan_spec

pytestmark = pytest.mark.pure
LATE = {"late": 29_000}
STARVED = {"own_time": 20_000}


def judgement(**codes: float) -> Judgement:
    observations = {code: Observation(value) for code, value in codes.items()}
    return judge(observations, Timing.of([20_000] * 2000))


def test_a_doubt_has_the_cause_that_the_run_knows():
    for codes, words in [
        (LATE | {"crowded": 0.94}, "other programs used 94 % of the CPU"),
        (STARVED | {"crowded": 0.94}, "other programs used 94 % of the CPU"),
        (LATE | {"crowded_beside": 0.94}, "other programs and the target used 94 % of the CPU"),
        (LATE | {"steal": 0.3}, "the hypervisor gave 30 % of the CPU to other machines"),
        (LATE | {"throttled": 0.2}, "the CPU quota was used up 20 % of the time"),
        (LATE | {"cpu": 0.97, "crowded": 0.51}, "the injector used 97 % of a core"),
        (LATE | {"cpu": 0.7, "crowded": 0.8}, "other programs used 80 % of the CPU"),
        (LATE | {"cpu": 0.7}, "the injector used 70 % of a core"),
        (LATE | {"crowded": 0.4}, "the injector was late"),
        ({"lost_shards": 1, "crowded": 0.94}, "an injector process was lost"),
    ]:
        text = no_answer_words([judgement(**codes)], 1).replace("\u202f", " ").replace(".0 %", " %")
        assert text.startswith(f"No answer: {words}")


def test_more_injectors_help_only_where_their_own_cpu_was_the_limit():
    own, others = judgement(**LATE, cpu=0.97), judgement(**LATE, crowded=0.94)
    assert "more injector processes" in CRITERIA[blame(own).code].remedy
    remedy = CRITERIA[blame(others).code].remedy
    assert remedy == "Stop other programs on the injector host, or measure from a quieter machine."


def test_what_to_do_names_who_took_the_cpu_and_when_to_measure_again():
    others = judgement(**LATE, crowded=0.94)
    first, again = what_to_do([others] * 2, [], 100, Answers(trust=Trust.BUSY))
    assert first.title.replace("\u202f", " ") == ("Other programs used up to 94 % of the CPU.")
    assert again.title == "Measure again when the machine is quiet."


def test_the_limit_is_who_took_the_cpu():
    for codes, who in [
        ({"crowded": 0.94}, "other programs"),
        ({"steal": 0.3}, "the hypervisor"),
        ({"throttled": 0.2}, "the CPU quota"),
        ({"cpu": 0.97}, "the injector"),
        ({}, "the injector's machine"),
    ]:
        assert limit_of(judgement(**LATE, **codes), [], Plan.from_json(plan_spec())).who == who


def process(
    cpu_share: float = 0.1, other_cores: float = 2.0, *, delay: float = 0.1, stall_ms: int = 50
) -> dict:
    """The vitals of one, on a machine with four cores."""
    mean = {"cpu_share": cpu_share, "other_cores": other_cores, "other_cpu_share": other_cores / 4}
    return {"mean": mean, "worst": {"run_delay_share": delay, "hub_lag_max_us": 1000 * stall_ms}}


def test_other_injector_processes_of_the_run_are_no_other_programs():
    assert others_cpu([process(0.9)]).value == pytest.approx(0.5)
    assert others_cpu([process(0.9)] * 3).value == pytest.approx(0.05)


def test_others_are_no_cause_where_the_injector_got_its_cpu():
    assert others_cpu([process(delay=0.02, stall_ms=500)]) is None, "it stalled by itself"
    assert others_cpu([process(delay=0.0, stall_ms=0)]) is None
    assert others_cpu([{"mean": {}, "worst": {}}]) is None
