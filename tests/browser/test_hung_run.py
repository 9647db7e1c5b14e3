"""A run that hung hides the verdict; the page names the run, and a button settles it.

The measurements are made up; the test plays the engine for the block that the button adds.
"""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from campaigns.models import Campaign
from campaigns.services import dispatch
from tests.browser.installation import enter
from tests.factories import make_campaign, make_endpoint, make_plan, make_target, make_test
from tests.queries.measured import measure, run_in_blocks
from tests.values import plan_spec
from tests.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)
FAST, SLOW = [31_000, 30_000, 29_000, 29_000], [61_000, 60_000, 3_930_000, 59_500]
HUNG = SLOW.index(max(SLOW)) + 1
FITS = "document.documentElement.scrollWidth <= innerWidth"
WIDTHS = (390, 1440)


@pytest.fixture
def campaign(project) -> Campaign:
    """Two ports of one target, one of which hung in the third block."""
    now = timezone.now()
    campaign = make_campaign(project, "Hung", repeats=len(FAST), started_at=now, finished_at=now)
    version = make_plan(project, "Prices", plan_spec(model="over", requests=200, over_s=2))
    target = make_target(project, "shop")
    tests = [
        make_test(campaign, version, endpoint=make_endpoint(target, port=port))
        for port in (8001, 8002)
    ]
    run_in_blocks(tests, [FAST, SLOW], n=200, seconds=2)
    return campaign


@pytest.fixture
def page(served_tab, alice):
    """A tab of alice, who owns the project."""
    enter(served_tab, "alice")
    return served_tab


def test_the_hung_run_is_named_and_the_repeated_block_settles_it(page, campaign):
    first, second = campaign.tests.order_by("position")
    page.goto(f"/campaigns/{campaign.pk}/")
    page.get_by_label("Compare", exact=True).select_option(str(second.pk))
    page.get_by_label("with", exact=True).select_option(str(first.pk))
    page.get_by_role("button", name="Compare", exact=True).press("Enter")
    page.wait_for_url(f"**/campaigns/{campaign.pk}/?compare={second.pk}&with={first.pk}")
    verdict = page.locator("[data-live=verdict]")
    expect(verdict).to_contain_text("is inconclusive")
    hung = second.runs.get(repeat=HUNG)
    step = page.locator(".next-step")
    expect(step).to_contain_text(f"Run {hung.label} decides this: in block {HUNG} it took")
    see_that_it_fits(page)
    page.get_by_role("button", name=f"Repeat block {HUNG}").press("Enter")
    page.get_by_text("1 block added.").wait_for()
    make_the_block(campaign)
    page.get_by_role("button", name="Run again").wait_for()
    expect(step).to_have_count(0)
    assert page.url.endswith(f"?compare={second.pk}&with={first.pk}")
    expect(verdict).to_contain_text("shop :8002 is slower than shop :8001: +")
    expect(verdict).to_contain_text(f"Without repeat {HUNG}")
    see_that_it_fits(page)


def make_the_block(campaign: Campaign) -> None:
    """What the engine does with the queued runs: each is as fast as its test's first one."""
    means_us = dict(zip((8001, 8002), (FAST[0], SLOW[0]), strict=True))
    for run in campaign.runs.filter(state="queued"):
        measure(run, means_us[run.test.endpoint.port], n=200, seconds=2)
    dispatch.finish_campaigns()


def see_that_it_fits(page) -> None:
    """Wide and narrow, nothing is wider than the page."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 1000})
        # Charts follow a new width in the next frames.
        eventually(lambda: page.evaluate(FITS), 5, "the page is as wide as the window")
