"""A search from its start to its answer, which never becomes another one after."""

from dataclasses import asdict
from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from campaigns.campaigns.services.blocks import add_blocks
from campaigns.campaigns.services.campaigns import repeat_campaign, start_campaign
from campaigns.core.database import db_now
from campaigns.domain.analysis import capacity
from campaigns.domain.analysis.capacity import RULE_VERSION, Ending
from campaigns.domain.analysis.thresholds import Verdict
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.lifecycle import Trust
from campaigns.engine.services import dispatch
from campaigns.models import Campaign, Exporter, Project, Run, Search, TestFigures
from campaigns.runs.exports import csv_of_search
from campaigns.runs.services import keep_figures
from campaigns.search import services as searches
from campaigns.search.queries import (
    SILENT_AFTER_S,
    busy_by_run,
    limiter_of_search,
    report_of_search,
)
from campaigns.search.services import (
    advance_search,
    advance_searches,
    ask_silent_targets,
    end_late_searches,
)
from tests.engine.scenes import at_once, owner_of
from tests.factories import make_target
from tests.searches import (
    BUSY_INJECTOR,
    OBJECTIVE,
    REFUSED,
    answer_first,
    capacity_answer,
    end_trial,
    limit_of,
    make_judgement,
    rate_of,
    search_through,
    searching,
)
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


OF_MACHINE = "target_cpu < 80 %"
UNTOLD = Verdict(OF_MACHINE, "target_cpu", 80, "%", measured=None, passed=False, since=None)


def after_a_failed_trial(project, target="Nothing answers.") -> Campaign:
    """A search whose second trial found this of its target."""
    campaign = searching(project)
    end_trial(campaign, 20)
    run = campaign.runs.get(repeat=2)
    failed = make_judgement(target=target).to_json()
    fields = {"state": "done", "outcome": "complete", "judgement": failed}
    Run.objects.filter(pk=run.pk).update(**fields, ended_at=db_now())
    advance_searches()
    return campaign


class TestStarting:
    def test_the_first_trial_sends_the_plan_s_requests_at_the_first_rate(self, project):
        campaign = searching(project, trial_s=15)
        run = campaign.runs.get()
        plan = run.frozen.plan
        assert (plan.load.rate_per_s, plan.load.duration_s) == (100, 15)
        assert plan.steps == campaign.tests.get().plan_version.value().steps
        assert run.shards.count() == 1
        assert dispatch.admit_runs() == 1

    def test_its_time_counts_from_its_first_trial_by_the_databases_clock(
        self, project, monkeypatch
    ):
        there = timezone.now() - timedelta(hours=2)
        monkeypatch.setattr(timezone, "now", lambda: there)
        campaign = searching(project, longest_s=3600)
        assert campaign.search.deadline is None
        Campaign.objects.update(started_at=db_now(-7200))  # it has waited for other runs
        first = end_trial(campaign, 20)
        first.refresh_from_db()
        search = Search.objects.get()
        assert (search.ending, search.deadline - first.t0) == (None, timedelta(hours=1))
        end_trial(campaign, 20)
        assert Search.objects.get().deadline == search.deadline

    def test_a_plan_without_rules_has_no_limit_to_look_for(self, project):
        with pytest.raises(InvalidFields, match="objective: Say what must be kept"):
            searching(project, spec=plan_spec(model="open", rate_per_s=10, duration_s=30))

    def test_an_objective_of_its_own_replaces_the_plan_s_rules_in_every_trial(self, project):
        campaign = searching(project, objective=["p99 < 1 s", "errors < 1 %"])
        end_trial(campaign, p95_ms=20)
        for run in campaign.runs.all():
            assert [rule.rule for rule in run.frozen.plan.thresholds] == [
                "p99 < 1 s",
                "errors < 1 %",
            ]

    def test_a_plan_whose_requests_wait_for_each_other_cannot_be_searched(self, project):
        load = {"model": "closed", "connections": 2, "requests": 100}
        spec = {**plan_spec(**load), "session": {"calls_per_session": 3}, "thresholds": OBJECTIVE}
        with pytest.raises(
            InvalidFields, match=r"cell: This plan cannot be sent at a rate: .*belong"
        ):
            searching(project, spec=spec)

    def test_a_limit_above_the_installation_s_cap_is_refused(self, project, settings):
        settings.CAPS = {**settings.CAPS, "RATE_PER_S": 1000}
        with pytest.raises(InvalidFields, match=r"limit_per_s: .* at most 1,000 requests/s"):
            searching(project, limit=1001)
        assert searching(project, limit=1000)

    def test_a_rule_about_the_machine_is_refused_while_nobody_tells_it(self, project):
        shop = make_target(project, "shop")
        with pytest.raises(InvalidFields) as invalid:
            searching(project, target=shop, objective=[OF_MACHINE])
        assert "objective" in invalid.value.errors
        assert not Campaign.objects.exists()
        with_exporter = make_target(project, "scraped shop")
        Exporter.objects.create(
            target=with_exporter, name="node", url="http://127.0.0.1:9100/metrics"
        )
        assert searching(project, target=with_exporter, objective=[OF_MACHINE]).runs.count() == 1

    def test_numbers_out_of_range_are_refused_by_their_names(self, project):
        for wrong in [
            {"start": 6000},
            {"start": 0},
            {"limit": 200_000},
            {"trial_s": 1},
            {"longest_s": 10},
        ]:
            with pytest.raises(InvalidFields) as invalid:
                searching(project, **wrong)
            assert [name.removesuffix("_per_s") for name in invalid.value.errors] == list(wrong)
            assert not Campaign.objects.exists()


class TestGoingOn:
    def test_the_next_trial_follows_from_the_last(self, project):
        campaign = searching(project)
        end_trial(campaign, p95_ms=20)
        assert rate_of(campaign.runs.get(repeat=2)) == 200
        campaign.refresh_from_db()
        assert (campaign.repeats, campaign.state) == (2, "running")

    def test_it_stops_with_what_is_known_when_nobody_told_its_rule(self, project):
        campaign = searching(project)
        end_trial(campaign, p95_ms=20)
        end_trial(campaign, p95_ms=20, verdict=UNTOLD)
        campaign.refresh_from_db()
        assert "No agent or exporter reported what target_cpu < 80 %" in campaign.stop_reason
        assert campaign.runs.count() == 2
        answer = capacity_answer(Search.objects.get(pk=campaign.pk))
        assert (answer.ending, answer.at_least, answer.below) == (Ending.STOPPED, 100, None)

    def test_two_dispatchers_at_once_queue_one_trial(self, project, transactional_db):
        campaign = searching(project)
        campaign.runs.update(
            state="done",
            outcome="complete",
            judgement=make_judgement().to_json(),
            ended_at=db_now(),
        )
        both = at_once(*[lambda: advance_search(campaign_id=campaign.pk)] * 2)
        assert sorted(both) == [False, True]
        assert campaign.runs.count() == 2

    def test_a_campaign_is_not_closed_before_its_search_has_ended(self, project):
        campaign = searching(project)
        campaign.runs.update(state="done", outcome="complete", ended_at=db_now())
        assert dispatch.finish_campaigns() == 0

    def test_after_a_failed_trial_the_next_waits_until_the_target_answers(self, project):
        campaign = after_a_failed_trial(project, "In flight grew.")
        campaign.refresh_from_db()
        assert campaign.is_before_first_run
        assert dispatch.admit_runs() == 0
        assert answer_first(campaign).opened_at
        Run.objects.filter(state="queued").update(machines=[])
        assert campaign.runs.get(repeat=3).state == "queued"

    def test_a_trial_in_doubt_is_repeated_with_its_reason_kept(self, project):
        campaign = searching(project)
        end_trial(campaign, 500, make_judgement(Trust.BUSY, "inj-2 ran 14.8 ms late."))
        assert rate_of(campaign.runs.get(repeat=2)) == 100
        (attempt,) = report_of_search(campaign.search).made
        assert attempt.trial.reason == "inj-2 ran 14.8 ms late."

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
    def test_a_steady_target_s_capacity_is_in_the_interval_and_stays_when_the_rule_changes(
        self, project, another_rule
    ):
        campaign = searching(project)
        search = search_through(campaign, limit_of(1850))
        answer = capacity_answer(search)
        assert (search.ending, campaign.state) == (Ending.FOUND, "done")
        assert answer.capacity.low < 1850 < answer.capacity.high
        trials = report_of_search(search).made
        assert campaign.repeats == len(trials) == campaign.runs.count()
        assert [each.search for each in trials] == sorted(each.search for each in trials)
        before = texts_of(search)
        another_rule()
        assert texts_of(search) == before
        assert capacity_answer(search).rule == RULE_VERSION

    def test_a_target_that_no_longer_answers_ends_it(self, project):
        campaign = after_a_failed_trial(project)
        assert answer_first(campaign, REFUSED).is_held
        assert ask_silent_targets() == 1
        assert answer_first(campaign, REFUSED).is_held
        Run.objects.filter(state="done").update(ended_at=db_now(-SILENT_AFTER_S - 1))
        assert ask_silent_targets() == 1
        dispatch.finish_campaigns()
        campaign.refresh_from_db()
        search = Search.objects.get(pk=campaign.pk)
        assert (search.ending, campaign.state) == (Ending.SILENT, "done")
        assert (capacity_answer(search).at_least, capacity_answer(search).below) == (100, 200)
        assert campaign.stop_reason

    def test_an_injector_that_fails_between_trials_does_not_end_it(self, project):
        campaign = after_a_failed_trial(project)
        assert answer_first(campaign, BUSY_INJECTOR).is_held
        Run.objects.filter(state="done").update(ended_at=db_now(-SILENT_AFTER_S - 1))
        assert ask_silent_targets() == 1
        campaign.refresh_from_db()
        assert Search.objects.get(pk=campaign.pk).ending is None
        assert answer_first(campaign).opened_at, "the target has answered"

    def test_a_trial_that_somebody_started_anyway_goes_on_however_long_it_takes(self, project):
        campaign = after_a_failed_trial(project)
        assert answer_first(campaign, REFUSED).is_held
        start_campaign(by=owner_of(project), campaign=campaign, anyway=True)
        Run.objects.filter(state="done").update(ended_at=db_now(-SILENT_AFTER_S - 1))
        assert ask_silent_targets() == 0
        assert dispatch.admit_runs() == 1
        assert Search.objects.get(pk=campaign.pk).ending is None

    def test_one_started_anyway_before_its_first_trial_goes_on_after_it(self, project):
        campaign = answer_first(searching(project, first=REFUSED))
        start_campaign(by=owner_of(project), campaign=campaign, anyway=True)
        end_trial(campaign, 20)
        Run.objects.filter(state="done").update(ended_at=db_now(-SILENT_AFTER_S - 1))
        assert ask_silent_targets() == 0
        assert Search.objects.get(pk=campaign.pk).ending is None

    def test_a_click_in_the_moment_of_its_end_goes_before(self, project, monkeypatch):
        """Found on hold, and started before it could be ended."""
        campaign = answer_first(searching(project, first=REFUSED))
        end_trial(campaign, 20)
        Run.objects.filter(state="done").update(ended_at=db_now(-SILENT_AFTER_S - 1))
        start = partial(start_campaign, by=owner_of(project), campaign=campaign, anyway=True)
        monkeypatch.setattr(searches, "db_now", lambda add_s: start() or db_now(add_s))
        assert ask_silent_targets() == 0
        assert Search.objects.get(pk=campaign.pk).ending is None

    def test_a_cap_of_the_project_ends_it_and_says_so(self, project):
        campaign = searching(project, trial_s=600)
        Project.objects.update(caps={"LOAD_HOURS": 0.1})
        search = search_through(campaign, limit_of(1850))
        assert search.ending == Ending.STOPPED
        assert "hours of load" in search.campaign.stop_reason

    def test_a_trial_that_waited_too_long_for_others_does_not_begin(self, project):
        campaign = searching(project, longest_s=600)
        end_trial(campaign, 20)
        advance_searches()
        Search.objects.update(deadline=db_now(21))
        assert end_late_searches() == 0
        Search.objects.update(deadline=db_now(19))
        assert end_late_searches() == 1
        assert dispatch.admit_runs() == 0
        dispatch.finish_campaigns()
        search = Search.objects.get(pk=campaign.pk)
        assert (search.ending, search.campaign.state) == (Ending.DEADLINE, "done")
        assert capacity_answer(search).at_least == 100
        trial = campaign.runs.get(repeat=2)
        assert (trial.outcome, trial.reason[:27]) == ("expired", "It waited for other runs un")

    def test_a_trial_that_has_begun_ends_though_the_time_is_over(self, project):
        campaign = searching(project)
        assert dispatch.admit_runs() == 1
        Search.objects.update(deadline=db_now(-5))
        assert end_late_searches() == 0
        assert Search.objects.get(pk=campaign.pk).ending is None


@pytest.fixture
def another_rule(monkeypatch):
    """Windows, searches and intervals as an update of benchsite may change them."""

    def change():
        monkeypatch.setattr(capacity, "WINDOW", 1.25)
        monkeypatch.setattr(capacity, "FEWEST_SEARCHES", 5)
        monkeypatch.setattr(capacity, "_BIAS", 5.0)
        monkeypatch.setattr(capacity, "RULE_VERSION", RULE_VERSION + 1)

    return change


def texts_of(search: Search) -> list:
    """All that pages, REST and CSV say of it."""
    report = report_of_search(Search.objects.select_related("campaign").get(pk=search.pk))
    limiter = limiter_of_search(report)
    rows = csv_of_search(report, busy_by_run(report.made))
    return [report.sentence, asdict(report.answer), rows, limiter]


def test_it_stays_when_a_trial_s_judgement_changes(project):
    """Seconds that arrive late make a new summary, and with it a new judgement."""
    search = search_through(searching(project, limit=900), limit_of(5000))
    before = texts_of(search)
    busy = make_judgement(Trust.BUSY, "The injector was busy.").to_json()
    Run.objects.filter(campaign=search.campaign).update(judgement=busy)
    assert texts_of(search) == before


def test_a_dispatcher_that_dies_before_it_is_stored_leaves_it_to_the_next(project, monkeypatch):
    campaign = searching(project)

    def dies(*_):
        raise ConnectionError

    with monkeypatch.context() as patch:
        patch.setattr(searches.queries, "to_store", dies)
        with pytest.raises(ConnectionError):
            end_trial(campaign, 900)
    assert Search.objects.get().ending is None
    assert dispatch.finish_campaigns() == 0
    assert advance_searches() == 1
    search = Search.objects.get()
    assert (search.ending, search.answer["below"]) == (Ending.BELOW, 100)


def test_two_dispatchers_at_once_store_it_once(project, transactional_db):
    campaign = searching(project)
    campaign.runs.update(state="done", outcome="complete", ended_at=db_now())
    campaign.runs.update(judgement=make_judgement(target="In flight grew.").to_json())
    both = at_once(*[lambda: advance_search(campaign_id=campaign.pk)] * 2)
    assert sorted(both) == [False, True]
    assert Search.objects.get().answer["below"] == 100


def test_what_is_written_again_changes_nothing(project):
    search = search_through(searching(project), limit_of(50))
    before = texts_of(search)
    searches._end(search, Ending.SILENT)
    assert texts_of(search) == before


def test_a_search_that_meets_another_rule_on_its_way_ends_with_what_is_known(project, another_rule):
    campaign = searching(project)
    for _ in range(12):
        run = campaign.runs.exclude(state="done").get()
        end_trial(campaign, limit_of(1850)(run.frozen.plan.load.rate_per_s))
    another_rule()
    search = search_through(campaign, limit_of(1850))
    assert (search.ending, campaign.state) == (Ending.STOPPED, "done")
    assert search.answer["capacity"]["low"] is None
    assert search.answer["at_least"] < 1850 < search.answer["below"]


@pytest.mark.long
def test_a_search_on_its_way_up_goes_on_by_the_new_rule(project, another_rule):
    campaign = searching(project)
    end_trial(campaign, 100)
    another_rule()
    search = search_through(campaign, limit_of(1850))
    assert (search.ending, search.answer["rule"]) == (Ending.FOUND, RULE_VERSION + 1)
