"""What came back of the first requests appears by itself, on the form and on the campaign's page.

The test plays the worker that sends them.
"""

import pytest
from playwright.sync_api import expect

from campaigns.models import Probe
from campaigns.services.probes import finish_probe, settle_campaign
from tests.browser.installation import enter
from tests.factories import make_endpoint, make_plan, make_target

pytestmark = pytest.mark.django_db(transaction=True)
OK = {"type": "probe", "status": 200, "reason": "OK", "error": None, "response_us": 1500}
REFUSED = {"type": "probe", "status": None, "error": "connect_refused", "response_us": 300}


@pytest.fixture
def page(served_tab, alice):
    enter(served_tab, "alice")
    return served_tab


def answer(*results) -> None:
    for probe, result in zip(Probe.objects.order_by("-pk"), results, strict=False):
        finish_probe(probe_id=probe.pk, result=result)
        if probe.campaign_id:
            settle_campaign(campaign_id=probe.campaign_id)


def test_a_try_and_then_a_start_that_is_held(page, project):
    shop = make_target(project, "shop")
    make_endpoint(shop)
    make_endpoint(shop, "https")
    make_plan(project, "Prices")
    page.goto(f"/projects/{project.pk}/campaigns/new/?question=https")
    page.get_by_role("button", name="Try now").click()
    rows = page.locator(".came-back tbody tr")
    expect(rows.filter(has_text="awaited")).to_have_count(2)
    answer(OK, REFUSED)
    expect(rows.filter(has_text="connection refused")).to_have_count(1)
    page.get_by_role("button", name="Start campaign").click()
    expect(page.get_by_text("0 of 2 so far")).to_be_visible()
    answer(OK, REFUSED)
    expect(page.get_by_text("On hold: 1 of 2 first requests failed.")).to_be_visible()
    expect(page.locator("main canvas:visible, main table:visible")).to_have_count(1)
    page.get_by_role("button", name="Start anyway").click()
    expect(page.get_by_text("What came back before the first run")).to_be_visible()
