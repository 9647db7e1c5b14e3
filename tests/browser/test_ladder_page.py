"""What each layer costs, read at any width and by any metric; the measurements are made up."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.installation import enter
from tests.queries.climbing import make_ladder

pytestmark = pytest.mark.django_db(transaction=True)
FITS = "document.documentElement.scrollWidth <= innerWidth"


def test_what_each_layer_costs_is_read_at_any_width_by_any_metric(served_tab, alice, project):
    page = served_tab
    campaign, by_rung = make_ladder(project, repeats=3)
    enter(page, "alice")
    page.goto(reverse("campaign-detail", args=[campaign.pk]))
    expect(page.locator("[data-live=verdict] .verdict")).to_contain_text("On a new connection")
    rungs = page.locator(".ladder .ladder-rung")
    interval = rungs.nth(3).locator(".ladder-change .second-line").first
    expect(interval).to_have_text(re.compile(r"^[+−]?[\d.]+ to [+−]?[\d.]+$"))
    expect(page.locator("#ladder-like-title")).to_be_visible()
    page.get_by_role("group", name="Metric").get_by_role("link", name="p50").click()
    expect(page.locator(".ladder thead")).to_contain_text("p50")
    expect(rungs).to_have_count(len(by_rung))
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(FITS)
