"""A badge of a test: who has the link sees the latest result, and no more."""

import re
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.core.permissions import Actor
from campaigns.engine.services.dispatch import finish_campaigns
from campaigns.history.services import make_baseline
from campaigns.models import ShareLink
from campaigns.runs.services import keep_figures
from tests.factories import make_campaign, make_plan, make_run, make_test
from tests.measured import measure

pytestmark = pytest.mark.django_db


def measured(project, mean_us: int, days_ago: int, like=None):
    same = {"version": like.plan_version, "endpoint": like.endpoint} if like else {}
    same = same or {"version": make_plan(project, name="<Cart> & [co]")}
    at = timezone.now() - timedelta(days=days_ago)
    test = make_test(make_campaign(project, started_at=at), **same)
    for repeat in (1, 2, 3):
        measure(make_run(test, repeat=repeat), mean_us)
    keep_figures([test.pk])
    finish_campaigns()
    return test


def badge_of(client, test) -> str:
    """The address of a new badge's picture."""
    answer = client.post(reverse("test-badge", args=[test.pk]))
    assert answer["Cache-Control"] == "no-store"
    return re.search(r"\(http://testserver(/s/[^)]+)\)", answer.content.decode())[1]


def words(address: str) -> str:
    answer = Client().get(address)
    assert answer["Content-Type"] == "image/svg+xml"
    assert "max-age=300" in answer["Cache-Control"]
    return ElementTree.fromstring(answer.content)[0].text  # noqa: S314  (our own)


def test_it_follows_the_latest_result_and_its_verdict(as_editor, project, bob):
    old = measured(project, 10_000, 3)
    address = badge_of(as_editor, old)
    assert re.fullmatch(r"<Cart> & \[co\]: (9\.\d\d|10\.\d)\u202fms", words(address))
    make_baseline(by=Actor(user=bob), project=project, name="main", tests=[old])
    new = measured(project, 12_000, 1, like=old)
    assert re.search(r": 1[12]\.\d\u202fms, slower$", words(address))
    new.campaign.deleted_at = new.campaign.archived_at = timezone.now()
    new.campaign.save()
    assert "slower" not in words(address)


def test_its_link_shows_nothing_else(as_editor, project):
    address = badge_of(as_editor, measured(project, 10_000, 1))
    page = address.removesuffix("badge.svg")
    assert [Client().get(f"{page}{tail}").status_code for tail in ("", "stream/")] == [404, 404]
    ShareLink.objects.update(revoked_at=timezone.now())
    assert Client().get(address).status_code == 404


def test_links_of_results_are_no_badges(as_editor, project):
    campaign = measured(project, 10_000, 1).campaign
    made = as_editor.post(reverse("campaign-share", args=[campaign.pk]), {"days": 7})
    page = re.search(r'id="link">http://testserver(/s/[^<]+)<', made.content.decode())[1]
    assert Client().get(f"{page}badge.svg").status_code == 404


def test_a_test_without_figures_has_no_result(as_editor, project):
    test = make_test(make_campaign(project))
    assert words(badge_of(as_editor, test)).endswith(": no result")
