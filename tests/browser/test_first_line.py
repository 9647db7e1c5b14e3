"""What a reader of made-up results sees first and does next; what is shown only once."""

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from campaigns.models import ApiToken, FailureExample, Probe, ShareLink
from campaigns.probes.services.probes import finish_probe, settle_campaign
from tests.browser.conftest import START
from tests.browser.installation import enter
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
)
from tests.measured import measure
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
  return (chart?.panel.marks ?? [])
    .filter((each) => each.label && !each.label.startsWith("intended"))
    .map((each) => [each.label, each.at, each.colour]);
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
    page.wait_for_function(f"() => ({LIMITS})('response').length > 0")
    assert page.evaluate(LIMITS, "response") == [["p95 < 15 ms", 15, "bad"]]
    assert page.evaluate(LIMITS, "requests") == [["rate > 100 /s", 100, "ink-2"]]
    page.locator("[data-over-time] [data-chart-table] summary").click()
    heads = page.locator("[data-over-time] [data-chart-table] th")
    heads.first.wait_for()
    assert "Response time, ms, threshold p95 < 15 ms (broken)" in heads.all_inner_texts()
    said = "Broken: p95 < 15 ms (was 22 ms)."
    for address in (f"/runs/{run.pk}/", f"/campaigns/{run.campaign_id}/"):
        page.goto(address)
        expect(page.locator("[data-live=verdict] .verdict b").first).to_have_text(said)
        expect(page.locator("[data-live=facts] .badge")).to_have_text("Complete, threshold broken")
    page.goto(f"/projects/{project.pk}/campaigns/")
    row = page.get_by_role("row", name="Checkout")
    expect(row).to_contain_text(said)
    assert "Failed" in row.inner_text()


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
    page.goto(f"/runs/{run.pk}/#errors")
    row = page.locator(".error-row")
    assert "Check the port" in page.locator("[data-live=what-to-do]").inner_text()
    example = page.locator("#example-0 .example").first
    row.locator("td").nth(2).click()
    expect(example).to_be_visible()
    row.locator("td").nth(2).click()
    expect(example).to_be_hidden()
    row.get_by_role("link").press("Enter")
    expect(example).to_be_visible()


OK = {"type": "probe", "status": 200, "reason": "OK", "error": None, "response_us": 1500}
REFUSED = {"type": "probe", "status": None, "error": "connect_refused", "response_us": 300}


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
    page.get_by_role("button", name="Test request", exact=True).click()
    rows = page.locator(".came-back tbody tr")
    expect(rows.filter(has_text="awaited")).to_have_count(2)
    answer(OK, REFUSED)
    expect(rows.filter(has_text="connection refused")).to_have_count(1)
    page.get_by_role("button", name=START).click()
    expect(page.get_by_text("0 of 2 so far")).to_be_visible()
    answer(OK, REFUSED)
    expect(page.locator(".verdict")).to_contain_text("connection refused")
    expect(page.locator("main canvas:visible, main table:visible")).to_have_count(1)
    page.get_by_role("button", name="Start anyway").click()
    page.get_by_role("tab", name="Setup").click()
    expect(page.get_by_text("Preflight check")).to_be_visible()


@pytest.mark.parametrize(
    ("address", "fill", "button", "shown_once", "rows"),
    [
        ("/campaigns/{campaign}/", "", "Create link", "Link created", ShareLink),
        ("/account/tokens/", "#id_name", "Create token", "Your new token", ApiToken),
    ],
    ids=["share link", "API token"],
)
def test_a_reload_shows_no_secret_again_and_makes_no_second_one(
    page, project, address, fill, button, shown_once, rows
):
    page.goto(address.format(campaign=make_campaign(project).pk))
    page.evaluate("document.getElementById('share-dialog')?.showModal()")
    if fill:
        page.locator(fill).fill("nightly")
    page.get_by_role("button", name=button).click()
    page.get_by_text(shown_once).first.wait_for()
    page.wait_for_load_state()  # once the page's scripts have run: the text is there before them
    page.reload()
    page.get_by_role("heading").first.wait_for()
    assert page.get_by_text(shown_once).count() == 0
    assert rows.objects.count() == 1


def test_what_is_sent_and_how_hard_fit_one_screen(served_tab, project):
    enter(served_tab, "alice")
    served_tab.goto(reverse("plan-new", args=[project.pk]))
    load = served_tab.locator(".load-fields").bounding_box()
    assert load["y"] + load["height"] < 900
