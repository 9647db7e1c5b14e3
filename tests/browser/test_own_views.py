"""A list of campaigns as its user wants it: a view of one's own, and what was looked at."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from tests.browser.installation import enter
from tests.factories import make_campaign

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_view_is_saved_opened_and_deleted_and_a_campaign_looked_at(served_tab, project, alice):
    now = timezone.now()
    for name in ("nightly", "soak"):
        ended = {"started_at": now, "finished_at": now, "stop_reason": "All failed."}
        make_campaign(project, name, created_by=alice, **ended)
    page = served_tab
    enter(page, "alice")
    campaigns = reverse("campaign-list", args=[project.pk])
    rows = page.locator("tbody th.name")
    views = page.get_by_role("navigation", name="Views")

    page.goto(f"{campaigns}?name=night")
    page.get_by_text("Save this view").click()
    page.get_by_label("Name of the view").fill("Every night")
    page.keyboard.press("Enter")
    expect(views.locator("[aria-current]")).to_have_text("Every night")

    page.goto(campaigns)
    expect(rows).to_have_count(2)
    views.get_by_role("link", name="Every night").click()
    expect(rows).to_have_count(1)
    page.get_by_role("button", name="Delete this view").click()
    expect(rows).to_have_count(2)
    expect(views.get_by_role("link", name="Every night")).to_have_count(0)

    views.get_by_role("link", name="Needs a look 2").click()
    page.get_by_role("button", name="Looked at nightly").click()
    expect(rows).to_have_count(1)
    page.get_by_label("Tick soak").check()
    page.get_by_role("button", name="Looked at", exact=True).click()
    expect(page.get_by_text("Nothing needs a look.")).to_be_visible()
