"""The list of campaigns: filters, what moves, statements, and the p95 beside earlier ones'."""

import re
from datetime import timedelta
from urllib.parse import parse_qsl

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.campaigns.queries.answers import campaign_answer
from campaigns.campaigns.queries.campaign_list import (
    MOST,
    campaign_views,
    list_campaigns,
    makers_of,
    trends_of,
)
from campaigns.campaigns.services.campaigns import look_at_campaigns
from campaigns.campaigns.views.campaigns import MOST_ACTIVE, STRIP
from campaigns.domain.errors import Forbidden
from campaigns.domain.lifecycle import RunState
from campaigns.domain.plan.presets import PRESETS
from campaigns.domain.presentation.badges import campaign_badge
from campaigns.items.queries.filters import CampaignFilterSet
from campaigns.items.queries.items import view_counts
from campaigns.models import Campaign, RunSummary
from tests.factories import (
    just_now,
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
)
from tests.measured import measure
from tests.pages import text_of
from tests.queues import make_queue

pytestmark = pytest.mark.django_db
WRONG = {"trust": "no_answer"}


@pytest.fixture
def names_in(project, as_alice):
    def names(view: str = "", **by) -> set[str]:
        rows = list_campaigns(as_alice).filter(campaign_views(as_alice)[view], project=project)
        campaigns = CampaignFilterSet(by, rows, actor=as_alice).qs
        return {campaign.name for campaign in campaigns}

    return names


@pytest.fixture
def same(project) -> dict:
    """A plan and an endpoint for tests that several campaigns make."""
    endpoint = make_endpoint(make_target(project))
    return {"version": make_plan(project), "endpoint": endpoint}


def campaign_of_runs(
    project, name: str, *runs: dict, same: dict | None = None, **fields
) -> Campaign:
    """A finished campaign with one test, whose runs have these answers."""
    campaign = make_campaign(project, name, **just_now(), **fields)
    test = make_test(campaign, **(same or {}))
    for repeat, answers in enumerate(runs, start=1):
        answers = {"trust": "trusted", "target_state": "healthy", "precision": "fine"} | answers
        make_run(test, repeat, state="done", outcome="complete", **answers)
    return campaign


def test_it_needs_a_look_unless_its_badge_says_that_all_is_well(project, names_in, same):
    names = set()
    for plan in ["load", "capacity"]:
        arm = same | {"version": make_plan(project, plan, PRESETS[plan].spec)}
        for trust in ["trusted", "busy", "no_answer", None]:
            for state in ["healthy", "changing", "overloaded", "failing", None]:
                name, answers = f"{plan} {trust} {state}", {"trust": trust, "target_state": state}
                campaign = campaign_of_runs(project, name, {}, answers, same=arm)
                badge = campaign_badge("done", campaign_answer(campaign).found, is_stopped=False)
                names |= {name} if badge.glyph != "done" else set()
    assert names_in("look") == names


def test_a_broken_threshold_and_a_stop_need_a_look(project, names_in):
    campaign_of_runs(project, "stopped", {}, stop_reason="Everything failed in run 1.")
    campaign_of_runs(project, "by hand", {}, stop_requested_at=timezone.now())
    for name, is_kept in (("broken", False), ("kept", True)):
        campaign = campaign_of_runs(project, name)
        measure(make_run(campaign.tests.get()), 10_000)
        campaign.runs.update(trust="trusted", target_state="healthy")
        summary = RunSummary.objects.latest("pk")
        summary.thresholds = [{"rule": "p95 < 300 ms", "passed": is_kept}]
        summary.save()
    assert names_in("look") == {"stopped", "by hand", "broken"}


def test_it_needs_no_look_once_somebody_has_looked(project, names_in, as_bob, as_vera):
    campaign = campaign_of_runs(project, "first", WRONG)
    campaign_of_runs(project, "other", WRONG)
    with pytest.raises(Forbidden):
        look_at_campaigns(by=as_vera, campaigns=[campaign])
    look_at_campaigns(by=as_bob, campaigns=[campaign])
    campaign.refresh_from_db()
    assert (campaign.looked_by, campaign.looked_at is not None) == (as_bob.user, True)
    assert names_in("look") == {"other"}


def test_runs_that_are_added_need_a_look_of_their_own(project, names_in, as_bob):
    campaign = campaign_of_runs(project, "more", WRONG)
    look_at_campaigns(by=as_bob, campaigns=[campaign])
    later = timezone.now() + timedelta(seconds=1)
    Campaign.objects.filter(pk=campaign.pk).update(finished_at=later)
    assert names_in("look") == {"more"}


def test_what_is_not_finished_cannot_be_looked_at(project, as_bob):
    campaign = make_campaign(project, started_at=timezone.now())
    look_at_campaigns(by=as_bob, campaigns=[campaign])
    campaign.refresh_from_db()
    assert campaign.looked_at is None


def test_it_is_narrowed_to_who_made_it(project, names_in, alice, bob):
    make_campaign(project, "hers", created_by=alice)
    make_campaign(project, "his", created_by=bob)
    assert names_in("drafts", by="bob") == names_in("drafts", by=str(bob.pk)) == {"his"}
    assert makers_of(project) == ["alice", "bob"]


def test_each_view_says_how_many_there_are(project, as_alice, alice, bob, same):
    campaign_of_runs(project, "wrong", WRONG, same=same, created_by=bob)
    make_campaign(project, "mine", created_by=alice)
    make_campaign(project, "going", started_at=timezone.now(), created_by=bob)
    campaign_of_runs(project, "old", WRONG, created_by=alice, archived_at=timezone.now())
    rows = Campaign.objects.visible_to(as_alice).filter(project=project)
    assert view_counts(rows, campaign_views(as_alice)) == {
        "": 2,
        "look": 1,
        "mine": 0,
        "running": 1,
        "drafts": 1,
        "archived": 1,
    }


def test_a_campaign_is_found_by_the_measurement_that_its_answer_has(project, names_in, same):
    names = {word: set() for word in ("trusted", "busy", "no_answer")}
    for more in [[], ["trusted"], ["busy"], ["no_answer"], [None]]:
        for words in [["trusted"], ["busy"], ["no_answer"], [None]]:
            runs = [{"trust": word} for word in words + more]
            campaign = campaign_of_runs(project, str(runs), *runs, same=same)
            if word := campaign_answer(campaign).trust:
                names[word].add(campaign.name)
    assert {word: names_in(measurement=word) for word in names} == names


@pytest.mark.parametrize("states", [["healthy"], ["healthy", "overloaded"], ["failing", None]])
def test_a_campaign_is_found_by_the_worst_state_of_its_target(project, names_in, states):
    campaign = campaign_of_runs(project, "it", *({"target_state": state} for state in states))
    word = campaign_answer(campaign).target_state
    every = ("healthy", "changing", "overloaded", "failing")
    assert [each for each in every if names_in(target_state=each)] == [word]


def test_a_campaign_is_as_precise_as_its_least_precise_run(project, names_in):
    campaign_of_runs(project, "fine", {}, {})
    campaign_of_runs(project, "coarse", {}, {"precision": "coarse"})
    campaign_of_runs(project, "none", {"precision": "coarse"}, {"precision": "none"})
    for word in ("fine", "coarse", "none"):
        assert names_in(precision=word) == {word}


@pytest.fixture
def campaign_of(project):
    """Makes campaigns of the same test, each with runs of these p95 in ms."""
    version, endpoint = make_plan(project), make_endpoint(make_target(project))

    def make(*p95s_ms: float, plan=version, **answers):
        campaign = make_campaign(project, started_at=timezone.now())
        test = make_test(campaign, plan, endpoint=endpoint)
        fields = {"state": "done", "outcome": "complete", "trust": "trusted"} | answers
        for repeat, p95_ms in enumerate(p95s_ms, start=1):
            make_run(test, repeat, p95_us=1000 * p95_ms, **fields)
        return campaign

    return make


def lines_of(*campaigns) -> list[list[float | None]]:
    trends = trends_of(campaigns)
    return [trends[campaign.pk].p95s_ms for campaign in campaigns]


def test_it_is_the_median_of_the_runs_of_each_campaign(campaign_of):
    assert lines_of(campaign_of(10, 12, 50), campaign_of(20)) == [[12], [12, 20]]


def test_another_plan_is_another_test(campaign_of, project):
    campaign_of(10)
    assert lines_of(campaign_of(30, plan=make_plan(project))) == [[30]]


def test_it_is_that_of_the_first_test(campaign_of, project):
    campaign = campaign_of(10)
    make_run(make_test(campaign), 2, p95_us=99_000, state="done", outcome="complete")
    assert lines_of(campaign) == [[10]]


def test_it_ends_with_the_campaign_itself_and_has_the_last_ones_only(campaign_of):
    campaigns = [campaign_of(number) for number in range(1, MOST + 4)]
    assert lines_of(campaigns[-2]) == [list(range(3, MOST + 3))]


@pytest.mark.parametrize("answers", [{"trust": "no_answer"}, {"outcome": "partial"}])
def test_what_cannot_be_used_has_no_figure(campaign_of, answers):
    campaign_of(10)
    assert lines_of(campaign_of(99, **answers)) == [[10, None]]


def page_of(client, project, **query):
    return client.get(reverse("campaign-list", args=[project.pk]), query)


def make_done(project, name: str = "", **fields) -> Campaign:
    return make_campaign(project, name, **just_now() | fields)


def test_the_list_can_be_narrowed_by_name_target_and_time(as_editor, project, target, version):
    make_test(make_done(project, "Nightly"), version, endpoint=target.endpoints.first())
    make_test(make_done(project, "Other"))

    def names(**query):
        return {campaign.name for campaign in page_of(as_editor, project, **query).context["page"]}

    assert names(search="night") == {"Nightly"}
    assert names(search="checkout") == {"Nightly"}
    assert names(target=target.pk) == {"Nightly"}
    assert names(since="1") == {"Nightly", "Other"}
    assert names(target="x", since="9", measurement="?") == {"Nightly", "Other"}


def test_a_list_without_rows_says_which_filter_to_remove(as_editor, project, target):
    make_done(project, "Nightly")
    response = page_of(as_editor, project, search="night", target=target.pk, since="7")
    ((words, n, url),) = response.context["ways_out"]
    assert (words, n) == (target.name, 1)
    assert page_of(as_editor, project, **dict(parse_qsl(url[1:]))).context["page"].count == 1


def test_what_ended_started_or_was_made_last_comes_first(as_editor, project):
    now = timezone.now()
    times = {"ended long ago": (9, 8), "started before, ended last": (7, 1), "goes on": (2, None)}
    for name, (start_h, campaign_of_runs) in times.items():
        start = now - timedelta(hours=start_h)
        end = campaign_of_runs and now - timedelta(hours=campaign_of_runs)
        make_campaign(project, name, started_at=start, finished_at=end, opened_at=start)
    page = page_of(as_editor, project).context["page"]
    assert [each.name for each in page] == [
        "started before, ended last", "goes on", "ended long ago"
    ]  # fmt: skip


def test_a_row_says_in_a_word_what_needs_the_eye(as_editor, project):
    fine, stopped, broken = (make_done(project, name) for name in ("fine", "stopped", "broken"))
    for campaign in (fine, stopped, broken):
        measure(make_run(make_test(campaign)), 10_000, n=200)
    Campaign.objects.filter(pk=stopped.pk).update(stop_requested_at=timezone.now())
    of_ms = {"metric": "p95", "limit": 1000.0, "unit": "ms", "measured": 10_000.0, "since": None}
    rules = [{"rule": "p95 < 1 ms", "passed": False, **of_ms}]
    RunSummary.objects.filter(run__campaign=broken).update(thresholds=rules)
    page = page_of(as_editor, project).context["page"]
    words = {each.name: each.pill or (each.badge and each.badge.word) for each in page}
    assert words.pop("broken").word == "Failed"
    assert words == {"fine": None, "stopped": "Stopped"}


def test_a_column_that_says_nothing_is_left_out(as_editor, project):
    make_test(make_done(project))
    assert page_of(as_editor, project).context["columns"] == {"started"}
    measure(make_run(Campaign.objects.get().tests.get()), 10_000, n=200)
    assert page_of(as_editor, project).context["columns"] == {"started", "result"}


def test_the_strip_has_two_lines_until_it_is_opened(as_editor, project):
    make_queue(project, 4, state=RunState.PREPARING)
    response = page_of(as_editor, project)
    first = Campaign.objects.order_by("pk").values_list("pk", flat=True)[:STRIP]
    assert [each.current.campaign_id for each in response.context["active"]] == [*first]
    assert ">2 more active<" in text_of(response)
    assert len(page_of(as_editor, project, active="all").context["active"]) == 4 < MOST_ACTIVE


def test_those_with_a_run_under_way_come_before_those_that_wait(as_editor, project):
    make_queue(project, 2)
    (active,) = make_queue(project, 1, state=RunState.PREPARING)
    first, second = page_of(as_editor, project).context["active"]
    assert (first.pk, first.current) == (active.campaign_id, active)
    assert second.current is None


def test_a_paused_campaign_is_to_be_fixed_and_has_no_progress(as_editor, project):
    now = timezone.now()
    make_test(make_campaign(project, "paused", started_at=now, held_at=now, opened_at=None))
    (line,) = re.findall(r"<li>.*?</li>", text_of(page_of(as_editor, project)), re.DOTALL)[:1]
    assert ">Fix<" in line
    assert "<progress" not in line
