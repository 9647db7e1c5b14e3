"""Campaigns that need a look, and those that somebody has looked at."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from tests.browser.installation import enter
from tests.factories import make_campaign

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_campaign_that_was_looked_at_needs_no_look(served_tab, project, alice):
    now = timezone.now()
    for name in ("nightly", "soak"):
        ended = {"started_at": now, "finished_at": now, "stop_reason": "All failed."}
        make_campaign(project, name, created_by=alice, **ended)
    page = served_tab
    enter(page, "alice")
    campaigns = reverse("campaign-list", args=[project.pk])
    rows = page.locator("tbody th.name")
    views = page.get_by_role("navigation", name="Views")
    page.goto(campaigns)
    views.get_by_role("link", name="Needs a look 2").click()
    page.get_by_role("button", name="Looked at nightly").click()
    expect(rows).to_have_count(1)
    page.get_by_label("Tick soak").check()
    page.get_by_role("button", name="Looked at", exact=True).click()
    expect(page.get_by_text("Nothing needs a look.")).to_be_visible()
