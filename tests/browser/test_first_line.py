"""What a reader of made-up results sees first and does next; what is shown only once."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from campaigns.models import ApiToken, FailureExample, Probe, ShareLink
from campaigns.probes.services.probes import finish_probe, settle_campaign
from tests.browser.conftest import START
from tests.factories import (
    just_now,
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


def run_with_rules(project, name: str, mean_us: int, **fields):
    """The only run of a finished campaign with three rules."""
    spec = plan_spec(model="over", requests=2000, over_s=10) | {"thresholds": RULES}
    campaign = make_campaign(project, name, repeats=1, **just_now())
    return measure(make_run(make_test(campaign, make_plan(project, spec=spec))), mean_us, **fields)


def test_a_broken_threshold_is_a_line_and_comes_first_everywhere(alices_tab, project):
    run = run_with_rules(project, "Checkout", 20_000)
    alices_tab.goto(f"/runs/{run.pk}/")
    alices_tab.wait_for_function(f"() => ({LIMITS})('response').length > 0")
    assert alices_tab.evaluate(LIMITS, "response") == [["p95 < 15 ms", 15, "bad"]]
    assert alices_tab.evaluate(LIMITS, "requests") == [["rate > 100 /s", 100, "ink-2"]]
    alices_tab.locator("[data-over-time] [data-chart-table] summary").click()
    heads = alices_tab.locator("[data-over-time] [data-chart-table] th")
    heads.first.wait_for()
    assert "Response time, ms, threshold p95 < 15 ms (broken)" in heads.all_inner_texts()
    sentence = "Broken: p95 < 15 ms (was 22 ms)."
    for address in (f"/runs/{run.pk}/", f"/campaigns/{run.campaign_id}/"):
        alices_tab.goto(address)
        expect(alices_tab.locator("[data-live=verdict] .verdict b").first).to_have_text(sentence)
        expect(alices_tab.locator("[data-live=facts] .badge")).to_have_text(
            "Complete, threshold broken"
        )
    alices_tab.goto(f"/projects/{project.pk}/campaigns/")
    row = alices_tab.get_by_role("row", name="Checkout")
    expect(row).to_contain_text(sentence)
    assert "Failed" in row.inner_text()


def test_a_click_or_enter_on_an_error_row_opens_its_examples(alices_tab, project):
    failures = {"counters": {"failed": 20}, "errors": {"connect_refused": 20}}
    run = run_with_rules(project, "Checkout", 20_000, **failures)
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
    alices_tab.goto(f"/runs/{run.pk}/#errors")
    row = alices_tab.locator(".error-row")
    assert "Check the port" in alices_tab.locator("[data-live=what-to-do]").inner_text()
    example = alices_tab.locator("#example-0 .example").first
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


def test_a_try_and_then_a_start_that_is_held(alices_tab, project):
    shop = make_target(project, "shop")
    make_endpoint(shop)
    make_endpoint(shop, "https")
    make_plan(project, "Prices")
    alices_tab.goto(f"/projects/{project.pk}/campaigns/new/?question=https")
    alices_tab.get_by_role("button", name="Test request", exact=True).click()
    rows = alices_tab.locator(".came-back tbody tr")
    expect(rows.filter(has_text="awaited")).to_have_count(2)
    answer(OK, REFUSED)
    expect(rows.filter(has_text="connection refused")).to_have_count(1)
    alices_tab.get_by_role("button", name=START).click()
    expect(alices_tab.get_by_text("0 of 2 so far")).to_be_visible()
    answer(OK, REFUSED)
    expect(alices_tab.locator(".verdict")).to_contain_text("connection refused")
    expect(alices_tab.locator("main canvas:visible, main table:visible")).to_have_count(1)
    alices_tab.get_by_role("button", name="Start anyway").click()
    alices_tab.get_by_role("tab", name="Setup").click()
    expect(alices_tab.get_by_text("Preflight check")).to_be_visible()


@pytest.mark.parametrize(
    ("address", "fill", "button", "shown_once", "rows"),
    [
        ("/campaigns/{campaign}/", "", "Create link", "Link created", ShareLink),
        ("/account/tokens/", "#id_name", "Create token", "Your new token", ApiToken),
    ],
    ids=["share link", "API token"],
)
def test_a_reload_shows_no_secret_again_and_makes_no_second_one(
    alices_tab, project, address, fill, button, shown_once, rows
):
    alices_tab.goto(address.format(campaign=make_campaign(project).pk))
    alices_tab.evaluate("document.getElementById('share-dialog')?.showModal()")
    if fill:
        alices_tab.locator(fill).fill("nightly")
    alices_tab.get_by_role("button", name=button).click()
    alices_tab.get_by_text(shown_once).first.wait_for()
    alices_tab.wait_for_load_state()  # the page's scripts have run: the text is there before
    alices_tab.reload()
    alices_tab.get_by_role("heading").first.wait_for()
    assert alices_tab.get_by_text(shown_once).count() == 0
    assert rows.objects.count() == 1


def test_what_is_sent_and_how_hard_fit_one_screen(alices_tab, project):
    alices_tab.goto(reverse("plan-new", args=[project.pk]))
    load = alices_tab.locator(".load-fields").bounding_box()
    assert load["y"] + load["height"] < 900
