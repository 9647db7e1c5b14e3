"""What an open copy of a page gets when it asks again, also while a run is under way."""

import re
from datetime import timedelta
from unittest.mock import MagicMock

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from campaigns.accounts.tokens import create_share
from campaigns.campaigns.views.campaign_tiles import CampaignProgress, progress_of
from campaigns.core.permissions import Actor, Role
from campaigns.domain.lifecycle import Outcome
from campaigns.live import notify
from campaigns.live import views as live_pages
from campaigns.live.notify import SIGNAL
from campaigns.models import Campaign, Run
from campaigns.runs.queries.runs import planned_end
from campaigns.runs.views import runs
from tests.factories import (
    begin_run,
    make_campaign,
    make_membership,
    make_plan,
    make_run,
    make_test,
    make_user,
    store_second,
)
from tests.measured import end, measure
from tests.pages import browser_of, page_text
from tests.values import make_second, plan_spec

pytestmark = pytest.mark.django_db
AGAIN = {"X-Requested-With": "XMLHttpRequest"}


@pytest.fixture(autouse=True)
def _fresh_feed():
    """Another test's rows must not be remembered under the same numbers."""
    SIGNAL.notify()


@pytest.fixture
def run(project):
    return make_run(make_test(make_campaign(project, started_at=timezone.now())))


@pytest.fixture
def owner(project, alice) -> Client:
    return browser_of(alice)


@pytest.fixture
def renderings(monkeypatch) -> list[str]:
    """The templates that were rendered to be shared."""
    templates = []
    render = live_pages.render_to_string

    def count_and_render(template, *args):
        templates.append(template)
        return render(template, *args)

    monkeypatch.setattr(live_pages, "render_to_string", count_and_render)
    # On a busy machine a rendering may take longer than one is shared.
    monkeypatch.setattr(notify, "OLDEST_S", 60)
    return templates


def run_page(client: Client, run: Run, **headers) -> str:
    return client.get(reverse("run-detail", args=[run.pk]), headers=headers).content.decode()


def regions(page: str) -> list[str]:
    return sorted(re.findall(r'data-live="([^"]+)"', page))


def another_viewer(project) -> Client:
    user = make_user("victor")
    make_membership(project, user, Role.VIEWER)
    return browser_of(user)


@pytest.mark.parametrize("is_over", [False, True])
def test_it_has_the_title_and_regions_of_the_whole_page_and_no_more(owner, run, is_over):
    if is_over:
        measure(run, 12_000)
    else:
        begin_run(run)
    for address in ("run-detail", run.pk), ("campaign-detail", run.campaign_id):
        url = reverse(address[0], args=[address[1]])
        whole, part = (owner.get(url, headers=each).content.decode() for each in ({}, AGAIN))
        # Who will be notified is for this reader alone, and part of no shared rendering.
        assert regions(part) == [each for each in regions(whole) if each != "notified"]
        title = re.search(r"<title>.*?</title>", whole, re.DOTALL)[0]
        assert " ".join(title.split()) in " ".join(part.split())
        assert "<html" in whole
        assert "<html" not in part


def test_viewers_with_the_same_rights_share_one_rendering(viewer, project, run, renderings):
    measure(run, 12_000)
    pages = {run_page(each, run, **AGAIN) for each in (viewer, another_viewer(project))}
    assert (len(pages), renderings) == (1, ["runs/detail.html"])


def test_who_may_do_more_sees_more(viewer, owner, run, renderings):
    measure(run, 12_000)
    theirs, hers = run_page(viewer, run, **AGAIN), run_page(owner, run, **AGAIN)
    assert ("share-dialog" in theirs, "share-dialog" in hers) == (False, True)
    assert len(renderings) == 2


def test_the_end_is_seen_by_whoever_asks_right_after_it(viewer, run):
    before = run_page(viewer, run, **AGAIN)
    measure(run, 12_000)
    after = run_page(viewer, run, **AGAIN)
    assert ("data-run-progress" in before, "data-run-progress" in after) == (True, False)


def test_a_new_second_is_seen_by_whoever_asks_after_its_notice(viewer, run, renderings):
    begin_run(run)
    for second in range(2):
        store_second(run, make_second(second, [10_000]))
        SIGNAL.notify(("run", run.pk))
        for _ in range(2):
            assert f"{second + 1} of 10 s measured" in run_page(viewer, run, **AGAIN)
    assert len(renderings) == 2


def test_each_reader_gets_a_form_token_that_works(alice, owner, run):
    begin_run(run)
    strict = browser_of(alice, enforce_csrf_checks=True)
    run_page(owner, run, **AGAIN)
    token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', run_page(strict, run, **AGAIN))[1]
    stop = reverse("run-stop", args=[run.pk])
    assert strict.post(stop, {"csrfmiddlewaretoken": "x" * 64}).status_code == 403
    assert strict.post(stop, {"csrfmiddlewaretoken": token}).status_code == 302


def test_what_a_run_waits_for_is_told_to_each_alone(viewer, project, run, renderings):
    for each in (viewer, another_viewer(project)):
        assert "No injector host is online." in run_page(each, run, **AGAIN)
    assert renderings == []


def test_a_link_s_visitors_share_theirs_and_get_no_token(client, project, alice, run, renderings):
    measure(run, 12_000)
    _, token = create_share(by=Actor(user=alice), project=project, run=run, days=1)
    url = reverse("share-view", args=[token])
    first, second = (client.get(url, headers=AGAIN) for _ in range(2))
    assert first.content == second.content
    assert renderings == ["shares/run.html"]
    assert not client.cookies
    assert first["Cache-Control"] == "no-store"


def test_a_part_never_comes_back_as_the_page(viewer, run):
    begin_run(run)
    url = reverse("run-detail", args=[run.pk])
    for headers, is_stored in (({}, True), (AGAIN, False)):
        answer = viewer.get(url, headers=headers)
        assert ("no-store" not in answer.get("Cache-Control", "")) == is_stored
        assert ("X-Requested-With" in answer.get("Vary", "")) != is_stored


def test_the_database_connection_is_given_back_before_the_page_is_rendered(
    viewer, run, renderings, monkeypatch
):
    steps = []
    context = runs.run_context
    monkeypatch.setattr(runs, "run_context", lambda *of: steps.append("read") or context(*of))
    monkeypatch.setattr(live_pages, "release_connection", lambda: steps.append(list(renderings)))
    measure(run, 12_000, outcome=Outcome.STOPPED)
    run_page(viewer, run, **AGAIN)
    assert (steps, renderings) == (["read", []], ["runs/detail.html"])


@pytest.mark.parametrize("page", ["run", "campaign"])
def test_who_asks_again_asks_for_no_versions_of_rows(viewer, run, renderings, page):
    """Of hundreds who do it together, each would read them for a page that is not kept."""
    measure(run, 12_000)
    address = reverse(f"{page}-detail", args=[run.pk if page == "run" else run.campaign_id])
    viewer.get(address, headers=AGAIN)
    with CaptureQueriesContext(connection) as queries:
        assert viewer.get(address, headers=AGAIN).status_code == 200
    assert not any("ctid" in each["sql"] for each in queries)
    assert len(renderings) == 1
    assert len(queries) <= 6


def test_only_open_pages_that_ask_again_take_turns(owner, run, monkeypatch):
    turns = MagicMock()
    monkeypatch.setattr(live_pages, "TURNS", turns)
    run_page(owner, run)
    owner.post(reverse("run-stop", args=[run.pk]), headers=AGAIN)
    turns.__enter__.assert_not_called()
    run_page(owner, run, **AGAIN)
    turns.__enter__.assert_called_once()


HOUR_S = 3600


@pytest.fixture
def test_of_an_hour(project):
    """Sends for one hour; its campaign is called Soak."""
    campaign = make_campaign(project, "Soak", repeats=1, started_at=timezone.now())
    spec = plan_spec(model="open", rate_per_s=2, duration_s=HOUR_S)
    return make_test(campaign, make_plan(project, spec=spec))


def begin(run: Run, seconds: int) -> Run:
    """The run has been sending for so long, and has delivered its first and its last second."""
    begin_run(run, t0=timezone.now() - timedelta(seconds=seconds))
    for second in {0, seconds - 1}:
        store_second(run, make_second(second, [10_000, 20_000]))
    run.refresh_from_db()
    return run


def test_the_only_run_is_watched_on_the_campaign_s_page(as_editor, test_of_an_hour):
    run = begin(make_run(test_of_an_hour), 1342)
    page = page_text(as_editor, "campaign-detail", run.campaign_id)
    assert "22:22 of 1:00:00 measured" in page
    assert "37:38 left" in page
    assert "<title>37 % · Soak" in page


def test_later_runs_are_expected_to_take_as_long_as_planned(test_of_an_hour):
    Campaign.objects.update(repeats=2)
    run = begin(make_run(test_of_an_hour), 1800)
    make_run(test_of_an_hour, 2)
    progress = progress_of(run.campaign, run)
    assert progress.percent == pytest.approx(25, abs=0.1)
    assert progress.ends_at - planned_end(run) >= timedelta(seconds=HOUR_S)


def test_a_run_that_is_past_its_planned_end_leaves_no_time_but_not_less(as_editor, test_of_an_hour):
    Campaign.objects.update(repeats=2)
    measure(make_run(test_of_an_hour), 12_000)
    Run.objects.update(t0=timezone.now() - timedelta(hours=2), ended_at=timezone.now())
    run = begin(make_run(test_of_an_hour, 2), 2 * HOUR_S)
    assert "-1 h" not in page_text(as_editor, "campaign-detail", run.campaign_id)
    over = CampaignProgress(1, 2, 1.0, timezone.now() - timedelta(seconds=9))
    assert over.left_s == 0


def test_the_end_follows_from_what_the_done_runs_took_and_not_from_a_wait_before_the_first(
    test_of_an_hour,
):
    start = timezone.now() - timedelta(minutes=31)
    Campaign.objects.update(repeats=5, started_at=start)
    for repeat in (1, 2):
        t0 = start + timedelta(minutes=29 + repeat)
        fields = {
            "state": "done",
            "outcome": Outcome.COMPLETE,
            "ended_at": t0 + timedelta(seconds=50),
        }
        make_run(test_of_an_hour, repeat, t0=t0, **fields)
    for repeat in (3, 4, 5):
        make_run(test_of_an_hour, repeat)
    progress = progress_of(Campaign.objects.get())
    assert progress.left_s == pytest.approx(3 * 60, abs=5)


def test_no_end_is_expected_in_the_past_where_the_clock_was_set_back_since_the_start(
    test_of_an_hour,
):
    Campaign.objects.update(repeats=2, started_at=timezone.now() + timedelta(hours=2))
    measure(make_run(test_of_an_hour), 12_000)
    Run.objects.update(ended_at=timezone.now())
    make_run(test_of_an_hour, 2)
    now = timezone.now()
    assert progress_of(Campaign.objects.get(), None).ends_at >= now


def test_a_campaign_stopped_in_its_first_run_shows_what_that_run_measured(
    as_editor, test_of_an_hour
):
    Campaign.objects.update(repeats=2)
    run = measure(make_run(test_of_an_hour), 12_000, outcome=Outcome.STOPPED)
    end(make_run(test_of_an_hour, 2), Outcome.STOPPED)
    Campaign.objects.update(finished_at=timezone.now())
    page = page_text(as_editor, "campaign-detail", run.campaign_id)
    assert "partial figures: 0:10 of 1:00:00 measured" in page
    assert '<script id="points"' in page
    assert 'data-charts="percentiles-0"' in page
    assert 'data-charts="blocks' not in page
    campaigns = page_text(as_editor, "campaign-list", run.campaign.project_id)
    assert "12.0 ms on average" in campaigns
