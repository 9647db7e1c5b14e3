"""A search's page: its sentence, every trial, what stopped it."""

import pytest
from django.urls import reverse

from campaigns.domain.lifecycle import Trust
from campaigns.domain.shown.sentences import plain_text
from campaigns.models import Run, Search
from campaigns.queries.answers import campaign_answer
from campaigns.queries.searches import report_of_search
from tests.searches import end_trial, judged, limit_of, search_through, searching
from tests.views.campaign_form import text_of

pytestmark = pytest.mark.django_db


def page_of(client, campaign) -> str:
    return text_of(client.get(reverse("campaign-detail", args=[campaign.pk])))


def give_times(campaign) -> None:
    campaign.runs.filter(state="done").update(p50_us=10_000, p95_us=20_000, p99_us=30_000, n=900)


def test_a_finished_search_says_its_capacity_and_shows_every_trial(client, alice, project):
    client.force_login(alice)
    campaign = searching(project)
    search_through(campaign, limit_of(1850))
    give_times(campaign)
    page = page_of(client, campaign)
    assert "five searches) keep p95 below 300 ms." in page.replace("</b>", "")
    assert page.count("<title>Trial ") == campaign.runs.count()
    assert "Stop search" not in page
    assert f'/runs/{Run.objects.filter(campaign=campaign).first().pk}/"' in page


def test_a_search_under_way_follows_its_trials_and_can_be_stopped(client, alice, project):
    client.force_login(alice)
    campaign = searching(project)
    end_trial(campaign, 20)
    give_times(campaign)
    page = page_of(client, campaign)
    assert "So far" in page
    assert "data-stream=" in page
    assert "Stop search" in page


def test_a_trial_that_does_not_count_says_why(client, alice, project):
    client.force_login(alice)
    campaign = searching(project)
    end_trial(campaign, 500, judged(Trust.DOUBTFUL, "inj-2 ran 14.8 ms late."))
    page = page_of(client, campaign)
    assert "not counted: inj-2 ran 14.8 ms late." in page


def test_its_answer_in_lists_shares_and_tables_is_what_the_search_says(client, alice, project):
    """Pooled figures of trials at several rates would say nothing."""
    client.force_login(alice)
    campaign = searching(project)
    said = plain_text(report_of_search(Search.objects.get(campaign=campaign)).sentence)
    assert plain_text(campaign_answer(campaign).sentence) == said
    tables = client.get(reverse("api-campaign-tables", args=[campaign.pk])).json()
    assert tables["sentence"] == said


def test_a_page_of_another_project_is_not_there(client, charlie, project):
    client.force_login(charlie)
    campaign = searching(project)
    assert client.get(reverse("campaign-detail", args=[campaign.pk])).status_code == 404
