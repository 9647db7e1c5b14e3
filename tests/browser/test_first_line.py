"""A broken threshold in the first line, and the examples of an error, as a reader sees them.

The measurements are made up; only the pages are real.
"""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from campaigns.models import FailureExample
from tests.browser.installation import enter
from tests.factories import make_campaign, make_plan, make_run, make_test
from tests.queries.measured import measure
from tests.values import plan_spec

pytestmark = pytest.mark.django_db(transaction=True)
RULES = [
    {"metric": "p95", "limit": 15, "unit": "ms"},
    {"metric": "rate", "limit": 100, "unit": "/s"},
    {"metric": "errors", "limit": 1, "unit": "%"},
]
# The lines of a panel's chart that have a rule: its label, height and colour.
LIMITS = """(panel) => {
  const chart = window.Chart?.getChart(document.querySelector(`[data-panel=${panel}] canvas`));
  return (chart?.data.datasets ?? [])
    .filter((each) => each.limitLabel)
    .map((each) => [each.limitLabel, each.data[0].y, each.labelToken]);
}"""


@pytest.fixture
def page(served_tab, alice):
    """A tab of alice, who owns the project."""
    enter(served_tab, "alice")
    return served_tab


def finished(project, name: str, mean_us: int, **seen):
    """The only run of a finished campaign with three rules."""
    spec = plan_spec(model="over", requests=2000, over_s=10) | {"thresholds": RULES}
    now = timezone.now()
    campaign = make_campaign(project, name, repeats=1, started_at=now, finished_at=now)
    return measure(make_run(make_test(campaign, make_plan(project, spec=spec))), mean_us, **seen)


def test_a_broken_threshold_is_a_line_and_comes_first_everywhere(page, project):
    run = finished(project, "Checkout", 20_000)
    page.goto(f"/runs/{run.pk}/")
    page.wait_for_function(f"({LIMITS})('response').length > 0")
    assert page.evaluate(LIMITS, "response") == [["p95 < 15 ms", 15, "bad"]]
    assert page.evaluate(LIMITS, "requests") == [["rate > 100 /s", 100, "ink-2"]]
    assert page.evaluate(LIMITS, "errors") == [["errors < 1 %", 2, "ink-2"]]
    page.locator("[data-over-time] [data-chart-table] summary").click()
    heads = page.locator("[data-over-time] [data-chart-table] th")
    heads.first.wait_for()
    assert "response time, ms, threshold p95 < 15 ms (broken)" in heads.all_inner_texts()
    said = "Broken: p95 < 15 ms (was 22 ms)."
    for address in (f"/runs/{run.pk}/", f"/campaigns/{run.campaign_id}/"):
        page.goto(address)
        expect(page.locator("[data-live=verdict] .verdict b").first).to_have_text(said)
        expect(page.locator("[data-live=facts] .badge")).to_have_text("Complete, threshold broken")
    page.goto(f"/projects/{project.pk}/campaigns/")
    row = page.get_by_role("row", name="Checkout")
    assert said in row.inner_text()
    assert "Complete, threshold broken" in row.inner_text()


def test_a_click_or_enter_on_an_error_row_opens_its_examples(page, project):
    seen = {"counters": {"failed": 20}, "errors": {"connect_refused": 20}}
    run = finished(project, "Checkout", 20_000, **seen)
    FailureExample.objects.create(
        run=run,
        shard=0,
        second=0,
        step=0,
        kind="connect_refused",
        status=0,
        at_us=1_200,
        request="POST / HTTP/1.1\nHost: shop",
        reply="",
        detail="Connection refused",
    )
    page.goto(f"/runs/{run.pk}/")
    row = page.locator(".error-row")
    assert "Check the port" in page.locator("[data-live=what-to-do]").inner_text()
    example = page.locator("#example-0 .example").first
    row.locator("td").nth(2).click()
    expect(example).to_be_visible()
    row.locator("td").nth(2).click()
    expect(example).to_be_hidden()
    row.get_by_role("link").press("Enter")
    expect(example).to_be_visible()
