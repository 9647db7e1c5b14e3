"""The views and filters of the list of campaigns."""

import pytest
from django.utils import timezone

from campaigns.models import Campaign, RunSummary
from campaigns.queries.answers import campaign_answer
from campaigns.queries.campaign_list import CampaignFilter, campaign_views, list_campaigns
from campaigns.queries.items import view_counts
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
WRONG = {"trust": "not_usable"}


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


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"target_state": "failing"}, id="the target failed"),
        pytest.param({"trust": "not_usable"}, id="the test is not usable"),
    ],
)
def test_what_found_something_wrong_needs_a_look(project, listed, wrong):
    finished(project, "fine", {}, {})
    finished(project, "wrong", *([wrong] * 2))
    assert listed(view="look") == {"wrong"}


def test_a_broken_threshold_and_a_stop_by_itself_need_a_look(project, listed):
    finished(project, "stopped", {}, stop_reason="Everything failed in run 1.")
    finished(project, "by hand", {}, stop_requested_at=timezone.now())
    for name, passed in (("broken", False), ("kept", True)):
        measure(make_run(finished(project, name).tests.get()), 10_000)
        summary = RunSummary.objects.latest("pk")
        summary.thresholds = [{"rule": "p95 < 300 ms", "passed": passed}]
        summary.save()
    assert listed(view="look") == {"stopped", "broken"}


def test_one_unusable_run_of_several_needs_no_look(project, listed):
    finished(project, "mostly fine", {}, WRONG)
    assert listed(view="look") == set()


def test_it_needs_no_look_once_the_same_is_measured_again(project, listed, same):
    finished(project, "first", WRONG, same=same)
    assert listed(view="look") == {"first"}
    finished(project, "elsewhere", {})
    assert listed(view="look") == {"first"}
    finished(project, "again", WRONG, same=same)
    assert listed(view="look") == {"again"}
    finished(project, "mended", {}, same=same)
    assert listed(view="look") == set()


def test_a_campaign_that_somebody_stopped_is_no_measurement_again(project, listed, same, alice):
    finished(project, "first", WRONG, same=same)
    finished(project, "given up", {}, same=same, stop_requested_by=alice)
    assert listed(view="look") == {"first"}


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


@pytest.mark.parametrize("words", [["trusted"], ["doubtful"], ["not_usable"], [None]])
@pytest.mark.parametrize("more", [[], ["trusted"], ["doubtful"], ["not_usable"], [None]])
def test_a_campaign_is_found_by_the_measurement_that_its_answer_has(project, listed, words, more):
    campaign = finished(project, "it", *({"trust": word} for word in words + more))
    word = campaign_answer(campaign).trust
    found = {each for each in ("trusted", "doubtful", "not_usable") if listed(measurement=each)}
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
