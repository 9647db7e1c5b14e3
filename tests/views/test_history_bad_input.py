"""Histories of very much, of what is gone, and of queries that make no sense."""

from datetime import timedelta

import pytest
from django.urls import reverse

from campaigns.models import Campaign, Test, TestFigures, TriageEntry
from tests.histories import BEGIN, make_history
from tests.services.test_triage import CALM, SLOWER, nights_ago, noted
from tests.views.test_history import opened as opened
from tests.views.test_history import overview as overview
from tests.views.test_history import text_of
from tests.views.test_triage import page as page

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "query",
    [
        {"group": "moon", "open": "<b>"},
        {"page": "with.test-0"},
        {"page": "after."},
        {"tag": "\0"},
        {"plan": "9" * 30},
        {"target": "-1", "arm": "gopher new", "metric": "p7"},
    ],
)
def test_a_query_that_makes_no_sense_shows_all(overview, project, query):
    make_history(project, CALM, begin=nights_ago(20))
    response = overview(**query)
    assert response.context["n_tests"] == 1
    assert "<b>" not in response.content.decode().split("<form")[1]


def test_a_change_that_is_no_entry_of_this_test_shows_the_newest_one(page, project):
    (test,) = noted(project, SLOWER)
    response = page("history-test", test.pk, change="x")
    assert response.context["triage"]["row"]["entry"] == TriageEntry.objects.get()


def test_an_entry_whose_campaigns_are_gone_can_be_closed(client, page, project):
    noted(project, SLOWER)
    Campaign.objects.all().delete()
    assert ">Triage</a>" not in page("history", project.pk).content.decode()
    entry = TriageEntry.objects.get()
    given = {"state": "not_real", "seen": "open", "why": "Its campaigns were deleted."}
    client.post(reverse("triage-judge", args=[entry.pk]), given)
    entry.refresh_from_db()
    assert entry.state == "not_real"


def test_of_very_many_campaigns_the_newest_are_shown_and_the_others_said(opened, project):
    (test,) = make_history(project, [26.0])
    copy_campaigns(test, 1100)
    shown = text_of(opened(Test.objects.latest("pk")))
    assert "the newest 1000; 101 older ones are left out" in shown


def copy_campaigns(test: Test, n: int) -> None:
    """As many later nights with the same test and figures."""
    figures = test.figures
    begins = [BEGIN + timedelta(hours=6 * night) for night in range(1, n + 1)]
    campaigns = Campaign.objects.bulk_create(
        Campaign(project=test.campaign.project, name="n", seed=1, started_at=at, finished_at=at)
        for at in begins
    )
    arm = {name: getattr(test, name) for name in ("plan_version", "endpoint", "connection_mode")}
    tests = Test.objects.bulk_create(
        Test(campaign=campaign, position=0, **arm) for campaign in campaigns
    )
    columns = {
        field.attname: getattr(figures, field.attname)
        for field in TestFigures._meta.concrete_fields
    }
    TestFigures.objects.bulk_create(
        TestFigures(
            **columns | {"test_id": each.pk, "campaign_id": each.campaign_id, "started_at": at}
        )
        for each, at in zip(tests, begins, strict=True)
    )
