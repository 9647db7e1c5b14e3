"""A campaign's page while one of its runs is under way, and after that run was stopped."""

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.domain.lifecycle import Outcome
from campaigns.models import Campaign, Run
from campaigns.queries.runs import planned_end
from campaigns.views.campaign_progress import CampaignProgress, progress_of
from tests.factories import begin_run, make_campaign, make_plan, make_run, make_test, store_second
from tests.queries.measured import end, measure
from tests.values import make_second, plan_spec
from tests.views.pages import page_text

pytestmark = pytest.mark.django_db
HOUR_S = 3600


@pytest.fixture
def test_of_an_hour(project):
    """Sends for one hour; its campaign is called Soak."""
    campaign = make_campaign(project, "Soak", repeats=1, started_at=timezone.now())
    spec = plan_spec(model="open", rate_per_s=2, duration_s=HOUR_S)
    return make_test(campaign, make_plan(project, spec=spec))


def begun(run: Run, seconds: int) -> Run:
    """The run has been sending for so long, and has delivered its first and its last second."""
    begin_run(run, t0=timezone.now() - timedelta(seconds=seconds))
    for second in {0, seconds - 1}:
        store_second(run, make_second(second, [10_000, 20_000]))
    run.refresh_from_db()
    return run


def test_the_only_run_is_watched_on_the_campaign_s_page(as_editor, test_of_an_hour):
    run = begun(make_run(test_of_an_hour), 1342)
    page = page_text(as_editor, "campaign-detail", run.campaign_id)
    assert "22:22 of 1:00:00 measured" in page
    assert "37:38 left" in page
    assert "<title>37 % · Soak" in page


def test_later_runs_are_expected_to_take_as_long_as_planned(test_of_an_hour):
    Campaign.objects.update(repeats=2)
    run = begun(make_run(test_of_an_hour), 1800)
    make_run(test_of_an_hour, 2)
    progress = progress_of(run.campaign, run)
    assert progress.percent == pytest.approx(25, abs=0.1)
    assert progress.ends_at - planned_end(run) >= timedelta(seconds=HOUR_S)


def test_a_run_that_is_past_its_planned_end_leaves_no_time_but_not_less(as_editor, test_of_an_hour):
    Campaign.objects.update(repeats=2)
    measure(make_run(test_of_an_hour), 12_000)
    Run.objects.update(t0=timezone.now() - timedelta(hours=2), ended_at=timezone.now())
    run = begun(make_run(test_of_an_hour, 2), 2 * HOUR_S)
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
        ended = {
            "state": "done",
            "outcome": Outcome.COMPLETE,
            "ended_at": t0 + timedelta(seconds=50),
        }
        make_run(test_of_an_hour, repeat, t0=t0, **ended)
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
    assert 'data-percentiles="0"' in page
    assert "data-blocks" not in page
    listed = page_text(as_editor, "campaign-list", run.campaign.project_id)
    assert "12.0 ms on average" in listed
