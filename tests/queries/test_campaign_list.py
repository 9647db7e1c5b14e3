"""The views and filters of the list of campaigns."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.domain.errors import Forbidden
from campaigns.domain.plan.presets import PRESETS
from campaigns.domain.presentation.badges import campaign_badge
from campaigns.models import Campaign, RunSummary
from campaigns.queries.answers import campaign_answer
from campaigns.queries.campaign_list import (
    CampaignFilter,
    campaign_views,
    list_campaigns,
    makers_of,
)
from campaigns.queries.items import view_counts
from campaigns.services.campaigns import look_at_campaigns
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
)
from tests.queries.measured import measure

pytestmark = pytest.mark.django_db
WRONG = {"trust": "no_answer"}


@pytest.fixture
def listed(project, as_alice):
    def names(**by) -> set[str]:
        found = list_campaigns(as_alice, project, CampaignFilter(**by))
        return {campaign.name for campaign in found}

    return names


@pytest.fixture
def same(project) -> dict:
    """A plan and an endpoint for tests that several campaigns make."""
    endpoint = make_endpoint(make_target(project))
    return {"version": make_plan(project), "endpoint": endpoint}


def finished(project, name: str, *runs: dict, same: dict | None = None, **fields) -> Campaign:
    """A finished campaign with one test, whose runs have these answers."""
    now = timezone.now()
    campaign = make_campaign(project, name, started_at=now, finished_at=now, **fields)
    test = make_test(campaign, **(same or {}))
    for repeat, answers in enumerate(runs, start=1):
        answers = {"trust": "trusted", "target_state": "healthy", "precision": "fine"} | answers
        make_run(test, repeat, state="done", outcome="complete", **answers)
    return campaign


@pytest.mark.parametrize("state", ["healthy", "changing", "overloaded", "failing", None])
@pytest.mark.parametrize("trust", ["trusted", "busy", "no_answer", None])
@pytest.mark.parametrize("plan", ["load", "capacity"])
def test_it_needs_a_look_unless_its_badge_says_that_all_is_well(
    project, listed, plan, trust, state
):
    version = make_plan(project, plan, PRESETS[plan].spec)
    answers = {"trust": trust, "target_state": state}
    campaign = finished(project, "it", {}, answers, same={"version": version})
    badge = campaign_badge("done", campaign_answer(campaign).found, is_stopped=False)
    assert (listed(view="look") == {"it"}) is (badge.glyph != "done")


def test_a_broken_threshold_and_a_stop_need_a_look(project, listed):
    finished(project, "stopped", {}, stop_reason="Everything failed in run 1.")
    finished(project, "by hand", {}, stop_requested_at=timezone.now())
    for name, passed in (("broken", False), ("kept", True)):
        campaign = finished(project, name)
        measure(make_run(campaign.tests.get()), 10_000)
        campaign.runs.update(trust="trusted", target_state="healthy")
        summary = RunSummary.objects.latest("pk")
        summary.thresholds = [{"rule": "p95 < 300 ms", "passed": passed}]
        summary.save()
    assert listed(view="look") == {"stopped", "by hand", "broken"}


def test_it_needs_no_look_once_somebody_has_looked(project, listed, as_bob, as_vera):
    campaign = finished(project, "first", WRONG)
    finished(project, "other", WRONG)
    with pytest.raises(Forbidden):
        look_at_campaigns(by=as_vera, campaigns=[campaign])
    look_at_campaigns(by=as_bob, campaigns=[campaign])
    campaign.refresh_from_db()
    assert (campaign.looked_by, campaign.is_looked_at) == (as_bob.user, True)
    assert listed(view="look") == {"other"}


def test_runs_that_are_added_need_a_look_of_their_own(project, listed, as_bob):
    campaign = finished(project, "more", WRONG)
    look_at_campaigns(by=as_bob, campaigns=[campaign])
    later = timezone.now() + timedelta(seconds=1)
    Campaign.objects.filter(pk=campaign.pk).update(finished_at=later)
    assert listed(view="look") == {"more"}


def test_what_is_not_finished_cannot_be_looked_at(project, as_bob):
    campaign = make_campaign(project, started_at=timezone.now())
    look_at_campaigns(by=as_bob, campaigns=[campaign])
    campaign.refresh_from_db()
    assert campaign.looked_at is None


def test_it_is_narrowed_to_who_made_it(project, listed, alice, bob):
    make_campaign(project, "hers", created_by=alice)
    make_campaign(project, "his", created_by=bob)
    assert listed(by=bob.pk) == {"his"}
    assert makers_of(project) == [(alice.pk, "alice"), (bob.pk, "bob")]


def test_each_view_says_how_many_there_are(project, as_alice, alice, bob, same):
    finished(project, "wrong", WRONG, same=same, created_by=bob)
    make_campaign(project, "mine", created_by=alice)
    make_campaign(project, "going", started_at=timezone.now(), created_by=bob)
    finished(project, "old", WRONG, created_by=alice, archived_at=timezone.now())
    rows = Campaign.objects.visible_to(as_alice).filter(project=project)
    assert view_counts(rows, campaign_views(as_alice)) == {
        "": 3,
        "look": 1,
        "mine": 1,
        "running": 1,
        "archived": 1,
    }


@pytest.mark.parametrize("words", [["trusted"], ["busy"], ["no_answer"], [None]])
@pytest.mark.parametrize("more", [[], ["trusted"], ["busy"], ["no_answer"], [None]])
def test_a_campaign_is_found_by_the_measurement_that_its_answer_has(project, listed, words, more):
    campaign = finished(project, "it", *({"trust": word} for word in words + more))
    word = campaign_answer(campaign).trust
    found = {each for each in ("trusted", "busy", "no_answer") if listed(measurement=each)}
    assert found == ({word} if word else set())


@pytest.mark.parametrize("states", [["healthy"], ["healthy", "overloaded"], ["failing", None]])
def test_a_campaign_is_found_by_the_worst_state_of_its_target(project, listed, states):
    campaign = finished(project, "it", *({"target_state": state} for state in states))
    word = campaign_answer(campaign).target_state
    every = ("healthy", "changing", "overloaded", "failing")
    assert [each for each in every if listed(target_state=each)] == [word]


def test_a_campaign_is_as_precise_as_its_least_precise_run(project, listed):
    finished(project, "fine", {}, {})
    finished(project, "coarse", {}, {"precision": "coarse"})
    finished(project, "none", {"precision": "coarse"}, {"precision": "none"})
    for word in ("fine", "coarse", "none"):
        assert listed(precision=word) == {word}
