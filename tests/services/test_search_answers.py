"""A search's answer: stored when it ends, and never another one after."""

from dataclasses import asdict

import pytest

from campaigns.domain.judged import capacity, capacity_interval
from campaigns.domain.judged.capacity import RULE_VERSION, Ending
from campaigns.domain.lifecycle import Trust
from campaigns.exports.runs import csv_of_search
from campaigns.models import Run, Search
from campaigns.models.dbtime import db_now
from campaigns.queries.search_busy import busy_by_run, limiter_of_search
from campaigns.queries.searches import report_of_search
from campaigns.services import dispatch, searches
from campaigns.services.searches import advance_search, advance_searches
from tests.searches import end_trial, judged, limit_of, search_through, searching
from tests.services.engine import at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def another_rule(monkeypatch):
    """Windows, searches and intervals as an update of benchsite may change them."""

    def change():
        monkeypatch.setattr(capacity, "WINDOW", 1.25)
        monkeypatch.setattr(capacity, "FEWEST_SEARCHES", 5)
        monkeypatch.setattr(capacity_interval, "_BIAS", 5.0)
        monkeypatch.setattr(capacity, "RULE_VERSION", RULE_VERSION + 1)

    return change


def said(search: Search) -> list:
    """All that pages, REST and CSV say of it."""
    report = report_of_search(Search.objects.select_related("campaign").get(pk=search.pk))
    limiter = limiter_of_search(report)
    rows = csv_of_search(report, busy_by_run(report.made))
    return [report.sentence, asdict(report.answer), rows, limiter]


def test_it_stays_when_the_rule_changes(project, another_rule):
    search = search_through(searching(project), limit_of(1850))
    before = said(search)
    another_rule()
    assert said(search) == before
    assert report_of_search(search).answer.rule == RULE_VERSION


def test_it_stays_when_a_trial_s_judgement_changes(project):
    """Seconds that arrive late make a new summary, and with it a new judgement."""
    search = search_through(searching(project, limit=900), limit_of(5000))
    before = said(search)
    doubtful = judged(Trust.DOUBTFUL, "The injector was busy.").to_json()
    Run.objects.filter(campaign=search.campaign).update(judgement=doubtful)
    assert said(search) == before


def test_a_dispatcher_that_dies_before_it_is_stored_leaves_it_to_the_next(project, monkeypatch):
    campaign = searching(project)

    def dies(*_):
        raise ConnectionError

    with monkeypatch.context() as patched:
        patched.setattr(searches, "to_store", dies)
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
    campaign.runs.update(judgement=judged(target="In flight grew.").to_json())
    both = at_once(*[lambda: advance_search(campaign_id=campaign.pk)] * 2)
    assert sorted(both) == [False, True]
    assert Search.objects.get().answer["below"] == 100


def test_what_is_written_again_changes_nothing(project):
    search = search_through(searching(project), limit_of(50))
    before = said(search)
    searches._end(search, Ending.SILENT)
    assert said(search) == before


def test_a_search_that_ended_before_answers_were_stored_claims_no_interval(project):
    search = search_through(searching(project, limit=900), limit_of(5000))
    made = report_of_search(search).made
    Search.objects.update(answer=None, ending=Ending.FOUND)
    search.refresh_from_db()
    report = report_of_search(search)
    assert (report.ending, report.answer.capacity, report.answer.rule) == (Ending.FOUND, None, None)
    assert [each.trial for each in report.made] == [each.trial for each in made]
    assert {each.search for each in report.made} == {None}


def test_a_search_that_meets_another_rule_on_its_way_ends_without_an_interval(
    project, another_rule
):
    campaign = searching(project)
    for _ in range(12):
        run = campaign.runs.exclude(state="done").get()
        end_trial(campaign, limit_of(1850)(run.frozen.plan.load.rate_per_s))
    another_rule()
    search = search_through(campaign, limit_of(1850))
    assert (search.ending, campaign.state) == (Ending.STOPPED, "done")
    assert (search.answer["rule"], search.answer["capacity"]) == (None, None)
    assert search.answer["at_least"] < 1850 < search.answer["below"]


def test_a_search_on_its_way_up_goes_on_by_the_new_rule(project, another_rule):
    campaign = searching(project)
    end_trial(campaign, 100)
    another_rule()
    search = search_through(campaign, limit_of(1850))
    assert (search.ending, search.answer["rule"]) == (Ending.FOUND, RULE_VERSION + 1)
