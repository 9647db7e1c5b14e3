"""Is it still as fast as last week? Asked from today's campaign, in three clicks."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from campaigns.models import Campaign, Run
from tests.browser.installation import enter
from tests.factories import make_campaign, make_endpoint, make_plan, make_target, make_test
from tests.queries.measured import run_in_blocks, same_again
from tests.values import plan_spec

pytestmark = pytest.mark.django_db(transaction=True)
HTTP = [20_000, 20_200, 19_900]
HTTPS = [30_000, 30_300, 29_800]
SLOWER = [33_600, 33_500, 33_900]


def ran(tests, means_us, days_ago: int) -> Campaign:
    """The tests' campaign, finished that many days ago."""
    run_in_blocks(tests, means_us, n=200, seconds=2)
    began = timezone.now() - timedelta(days=days_ago)
    campaigns = Campaign.objects.filter(pk=tests[0].campaign_id)
    campaigns.update(started_at=began, finished_at=began + timedelta(minutes=9))
    Run.objects.filter(campaign__in=campaigns).update(t0=began)
    return campaigns.get()


@pytest.fixture
def weeks(project) -> list[Campaign]:
    """Last week's, yesterday's and today's campaign, in which HTTPS is slower."""
    target = make_target(project, "checkout-api")
    version = make_plan(project, "Prices", plan_spec(model="over", requests=200, over_s=2))
    nightly = make_campaign(project, "Nightly")
    tests = [
        make_test(nightly, version, endpoint=make_endpoint(target, scheme))
        for scheme in ("http", "https")
    ]
    later = [same_again(tests, name=f"Nightly {number}") for number in (2, 3)]
    return [
        ran(tests, [HTTP, HTTPS], 7),
        ran(later[0], [HTTP, HTTPS], 1),
        ran(later[1], [HTTP, SLOWER], 0),
    ]


@pytest.fixture
def page(served_tab, alice):
    """A tab of alice, who owns the project."""
    enter(served_tab, "alice")
    return served_tab


def test_today_against_last_week_takes_three_clicks(page, weeks):
    last_week, _, today = weeks
    page.goto(reverse("campaign-detail", args=[today.pk]))
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(page.locator("main tbody th")).to_have_count(2)
    page.locator("main tbody a").nth(1).click()
    verdict = page.locator(".verdict")
    expect(verdict).to_contain_text(f"1 of 2 tests is slower than campaign #{last_week.pk}")
    rows = page.locator(".compared .forest-row")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("slower, or the environment")
    page.get_by_role("link", name="everything 2").click()
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_contain_text("no practical difference")
    expect(rows.first.locator("circle")).to_have_count(6)
    plot = page.locator("[data-percentiles]")
    plot.locator("summary").click()
    expect(plot.locator("thead")).to_contain_text(f"campaign #{last_week.pk}")
    expect(plot.locator("tbody tr").first).to_contain_text("p50")
