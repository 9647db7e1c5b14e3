"""A search from its start to its sentence: each trial's run is ended by the test, with the
judgement that such a run has."""

from collections.abc import Callable

import pytest

from campaigns.domain.errors import Refused
from campaigns.domain.judged.capacity import CapacityAnswer, Ending
from campaigns.domain.judged.criteria import JudgementReason
from campaigns.domain.judged.judgement import Finding, Judgement
from campaigns.domain.lifecycle import Precision, TargetState, Trust
from campaigns.models import Campaign, Run, RunSummary, Search, TestFigures
from campaigns.models.dbtime import db_now
from campaigns.queries.searches import action_of, answer_of, made_trials
from campaigns.services import dispatch, probes
from campaigns.services.blocks import add_blocks
from campaigns.services.campaign_cells import CampaignCell
from campaigns.services.campaigns import repeat_campaign, stop_campaign
from campaigns.services.first_requests import settle_campaign
from campaigns.services.kept_figures import keep_figures
from campaigns.services.searches import (
    SILENT_AFTER_S,
    advance_search,
    advance_searches,
    ask_silent_targets,
    start_search,
)
from tests.factories import make_endpoint, make_plan, make_target
from tests.services.engine import at_once, host, owner_of
from tests.values import plan_spec

pytestmark = pytest.mark.django_db
OBJECTIVE = [{"metric": "p95", "limit": 300, "unit": "ms"}]
OK = {"type": "probe", "status": 200, "reason": "OK", "error": None, "response_us": 1500}
REFUSED = {"type": "probe", "status": None, "error": "connect_refused"}


def searching(project, start: float = 100, limit: float = 5000, **fields) -> Campaign:
    host(slots=8)
    spec = {**plan_spec(model="open", rate_per_s=10, duration_s=30), "thresholds": OBJECTIVE}
    spec = fields.pop("spec", spec)
    campaign = start_search(
        by=owner_of(project),
        project=project,
        name="How much can it take?",
        cell=CampaignCell(
            make_plan(project, spec=spec), make_endpoint(make_target(project)), "new"
        ),
        start_per_s=start,
        limit_per_s=limit,
        seed=1,
        **fields,
    )
    return answered(campaign)


def answered(campaign: Campaign, result: dict = OK) -> Campaign:
    """What comes back of the first request that it waits for, if it does."""
    for probe in campaign.first_requests.filter(finished_at=None):
        probes.claim_probe(probe_id=probe.pk)
        probes.finish_probe(probe_id=probe.pk, result=result)
    settle_campaign(campaign_id=campaign.pk)
    campaign.refresh_from_db()
    return campaign


def judged(trust: Trust = Trust.TRUSTED, why: str = "", target: str = "") -> Judgement:
    doubts = (JudgementReason("lateness_p99", trust, why),) if why else ()
    state = TargetState.OVERLOADED if target else TargetState.HEALTHY
    reasons = (JudgementReason("in_flight_growing", state, target),) if target else ()
    return Judgement(Finding(trust, doubts), Finding(state, reasons), Finding(Precision.FINE))


def rate_of(run: Run) -> float:
    return run.frozen.plan.load.rate_per_s


def end_trial(campaign: Campaign, p95_ms: float, judgement: Judgement | None = None) -> Run:
    """End the run that is next, as the dispatcher does, and go on."""
    run = campaign.runs.exclude(state="done").get()
    rule = {"rule": "p95 < 300 ms", "metric": "p95", "limit": 300, "unit": "ms", "since": None}
    verdict = {**rule, "measured": p95_ms, "passed": p95_ms < 300}
    RunSummary.objects.create(
        run=run, revision=1, n_seconds=1, digest="", duration_s=20, total={}, steps=[], series=[],
        vitals=[], thresholds=[verdict],
    )  # fmt: skip
    Run.objects.filter(pk=run.pk).update(
        state="done",
        outcome="complete",
        judgement=(judgement or judged()).to_json(),
        ended_at=db_now(),
    )
    assert advance_searches() == 1
    answered(campaign)
    return run


def search_through(campaign: Campaign, p95_at: Callable[[float], float], most: int = 80) -> Search:
    """To its end; `p95_at` a rate, in ms."""
    for _ in range(most):
        run = campaign.runs.exclude(state="done").first()
        if run is None:
            break
        end_trial(campaign, p95_at(rate_of(run)))
    dispatch.finish_campaigns()
    campaign.refresh_from_db()
    return Search.objects.select_related("campaign").get(pk=campaign.pk)


def found(search: Search) -> CapacityAnswer:
    return answer_of(search, made_trials(search))


def limit_of(capacity: float) -> Callable[[float], float]:
    return lambda rate: 100.0 if rate < capacity else 900.0


class TestStarting:
    def test_the_first_trial_sends_the_plan_s_requests_at_the_first_rate(self, project):
        campaign = searching(project, trial_s=15)
        run = campaign.runs.get()
        plan = run.frozen.plan
        assert (plan.load.rate_per_s, plan.load.duration_s) == (100, 15)
        assert plan.steps == campaign.tests.get().plan_version.value().steps
        assert run.shards.count() == 1
        assert dispatch.admit_runs() == 1

    def test_a_plan_without_rules_has_no_limit_to_look_for(self, project):
        with pytest.raises(Refused, match="no rule that says"):
            searching(project, spec=plan_spec(model="open", rate_per_s=10, duration_s=30))

    @pytest.mark.parametrize(
        "wrong",
        [{"start": 6000}, {"start": 0}, {"limit": 200_000}, {"trial_s": 1}, {"longest_s": 10}],
    )
    def test_numbers_out_of_range_are_refused(self, project, wrong):
        with pytest.raises(Refused):
            searching(project, **wrong)
        assert not Campaign.objects.exists()


class TestGoingOn:
    def test_nothing_happens_while_a_trial_is_to_come(self, project):
        searching(project)
        assert advance_searches() == 0

    def test_the_next_trial_follows_from_the_last(self, project):
        campaign = searching(project)
        end_trial(campaign, p95_ms=20)
        assert rate_of(campaign.runs.get(repeat=2)) == 200
        campaign.refresh_from_db()
        assert (campaign.repeats, campaign.state) == (2, "running")

    def test_two_dispatchers_at_once_queue_one_trial(self, project, transactional_db):
        campaign = searching(project)
        campaign.runs.update(
            state="done", outcome="complete", judgement=judged().to_json(), ended_at=db_now()
        )
        both = at_once(*[lambda: advance_search(campaign_id=campaign.pk)] * 2)
        assert sorted(both) == [False, True]
        assert campaign.runs.count() == 2

    def test_a_campaign_is_not_closed_before_its_search_has_ended(self, project):
        campaign = searching(project)
        campaign.runs.update(state="done", outcome="complete", ended_at=db_now())
        assert dispatch.finish_campaigns() == 0

    def test_after_a_failed_trial_the_next_waits_until_the_target_answers(self, project):
        campaign = searching(project)
        end_trial(campaign, p95_ms=20)
        run = campaign.runs.get(repeat=2)
        Run.objects.filter(pk=run.pk).update(
            state="done",
            outcome="complete",
            judgement=judged(target="In flight grew.").to_json(),
            ended_at=db_now(),
        )
        advance_searches()
        campaign.refresh_from_db()
        assert campaign.is_before_first_run
        assert dispatch.admit_runs() == 0
        assert answered(campaign).opened_at
        Run.objects.filter(state="queued").update(machines=[])
        assert campaign.runs.get(repeat=3).state == "queued"

    def test_a_trial_in_doubt_is_repeated_with_its_reason_kept(self, project):
        campaign = searching(project)
        end_trial(campaign, 500, judged(Trust.DOUBTFUL, "inj-2 ran 14.8 ms late."))
        assert rate_of(campaign.runs.get(repeat=2)) == 100
        (made,) = made_trials(campaign.search)
        assert made.trial.reason == "inj-2 ran 14.8 ms late."

    def test_trials_are_in_no_history(self, project):
        campaign = searching(project)
        end_trial(campaign, p95_ms=20)
        Run.objects.update(n=100, errors=0, trust="trusted", target_state="healthy")
        keep_figures([campaign.tests.get().pk])
        assert not TestFigures.objects.exists()

    def test_its_blocks_and_its_repeat_are_refused(self, project):
        campaign = searching(project)
        with pytest.raises(Refused, match="makes its trials itself"):
            add_blocks(by=owner_of(project), campaign=campaign, after=1)
        with pytest.raises(Refused, match="started anew"):
            repeat_campaign(by=owner_of(project), campaign=campaign)


class TestEnding:
    def test_a_steady_target_s_capacity_is_in_the_interval(self, project):
        campaign = searching(project)
        search = search_through(campaign, limit_of(1850))
        answer = found(search)
        assert (search.ending, campaign.state) == (Ending.FOUND, "done")
        assert answer.capacity.low < 1850 < answer.capacity.high
        assert campaign.repeats == len(made_trials(search)) == campaign.runs.count()
        assert [each.search for each in made_trials(search)] == sorted(
            each.search for each in made_trials(search)
        )

    def test_a_limit_that_passes_is_at_least_that(self, project):
        search = search_through(searching(project, limit=900), limit_of(5000))
        assert (search.ending, found(search).at_least) == (Ending.LIMIT, 900)

    def test_a_first_rate_that_fails_is_below_it(self, project):
        search = search_through(searching(project), limit_of(50))
        assert (search.ending, found(search).below) == (Ending.BELOW, 100)

    def test_two_trials_in_doubt_make_the_injector_the_limit(self, project):
        campaign = searching(project)
        end_trial(campaign, 20)
        for _ in range(2):
            end_trial(campaign, 20, judged(Trust.DOUBTFUL, "The injector was busy."))
        dispatch.finish_campaigns()
        campaign.refresh_from_db()
        assert (campaign.search.ending, campaign.state) == (Ending.INJECTOR, "done")
        assert found(campaign.search).at_least == 100

    def test_a_stop_by_hand_keeps_what_is_known(self, project):
        campaign = searching(project)
        for _ in range(3):
            end_trial(campaign, 20)
        stop_campaign(by=owner_of(project), campaign=campaign)
        assert advance_searches() == 1
        dispatch.finish_campaigns()
        campaign.refresh_from_db()
        search = Search.objects.get(pk=campaign.pk)
        assert (search.ending, campaign.state) == (Ending.STOPPED, "done")
        assert found(search).at_least == 400

    def test_no_trial_begins_that_would_end_after_the_deadline(self, project):
        campaign = searching(project)
        end_trial(campaign, 20)
        Search.objects.update(deadline=db_now(5))
        search = search_through(campaign, limit_of(1850))
        assert (search.ending, found(search).at_least) == (Ending.DEADLINE, 200)

    def test_a_target_that_no_longer_answers_ends_it(self, project):
        campaign = searching(project)
        end_trial(campaign, 20)
        run = campaign.runs.get(repeat=2)
        failed = judged(target="Nothing answers.").to_json()
        ended = {"state": "done", "outcome": "complete", "judgement": failed}
        Run.objects.filter(pk=run.pk).update(**ended, ended_at=db_now())
        advance_searches()
        assert answered(campaign, REFUSED).is_held
        assert ask_silent_targets() == 1
        assert answered(campaign, REFUSED).is_held
        Run.objects.filter(state="done").update(ended_at=db_now(-SILENT_AFTER_S - 1))
        assert ask_silent_targets() == 1
        dispatch.finish_campaigns()
        campaign.refresh_from_db()
        search = Search.objects.get(pk=campaign.pk)
        assert (search.ending, campaign.state) == (Ending.SILENT, "done")
        assert (found(search).at_least, found(search).below) == (100, 200)
        assert campaign.stop_reason == "The target did not answer within 60 s after the last trial."

    def test_a_search_that_has_ended_asks_for_nothing_more(self, project):
        search = search_through(searching(project), limit_of(50))
        assert isinstance(action_of(search), CapacityAnswer)
        assert advance_searches() == 0
