"""A campaign becomes the baseline, the next one says the result, and a deploy is a line."""

import json
from datetime import timedelta
from urllib.request import Request, urlopen

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from campaigns.models import Campaign
from campaigns.permissions import Actor
from campaigns.services.dispatch import finish_campaigns
from campaigns.services.summaries import keep_figures
from campaigns.services.tokens import create_token
from tests.browser.installation import enter
from tests.factories import make_campaign, make_endpoint, make_plan, make_target, make_test
from tests.queries.measured import run_in_blocks, same_again
from tests.values import plan_spec

pytestmark = pytest.mark.django_db(transaction=True)
NIGHT, SLOWER = [20_000, 20_200, 19_900], [24_000, 24_100, 23_900]


def ended(tests, means_us, days_ago: int) -> Campaign:
    """The tests' campaign as the engine leaves it."""
    run_in_blocks(tests, [means_us], n=200, seconds=2)
    campaigns = Campaign.objects.filter(pk=tests[0].campaign_id)
    campaigns.update(started_at=timezone.now() - timedelta(days=days_ago), finished_at=None)
    keep_figures(test.pk for test in tests)
    finish_campaigns()
    return campaigns.get()


def send_mark(address: str, token: str, text: str) -> dict:
    """As a deploy job does."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    at = (timezone.now() - timedelta(hours=30)).isoformat()
    body = json.dumps({"text": text, "at": at}).encode()
    with urlopen(Request(address, body, headers)) as answer:
        return json.load(answer)


def test_the_next_campaign_says_the_result_and_a_deploy_is_a_line(
    served_tab, live_server, alice, project
):
    version = make_plan(project, "Prices", plan_spec(model="over", requests=200, over_s=2))
    endpoint = make_endpoint(make_target(project, "checkout-api"))
    tests = [make_test(make_campaign(project, "Nightly"), version, endpoint=endpoint)]
    first = ended(tests, NIGHT, 2)
    page = served_tab
    enter(page, "alice")
    page.goto(reverse("campaign-detail", args=[first.pk]))
    page.get_by_text("Use as baseline").click()
    page.get_by_label("Name", exact=True).fill("release 1.4")
    page.get_by_role("button", name="Set as baseline").click()
    expect(page.get_by_role("status")).to_contain_text("“release 1.4” is the baseline.")

    later = same_again(tests, name="Nightly 2")
    second = ended(later, SLOWER, 1)
    page.goto(reverse("campaign-detail", args=[second.pk]))
    told = "p95 against baseline “release 1.4”"
    expect(page.locator(".verdict").filter(has_text=told)).to_contain_text("% slower [")

    _, token = create_token(by=Actor(user=alice), name="deploy", scope="write", days=1)
    sent = send_mark(f"{live_server.url}/api/v1/projects/{project.pk}/marks/", token, "v1.5")
    page.goto(reverse("history-test", args=[later[0].pk]))
    expect(page.locator("tbody tr").filter(has_text="v1.5")).to_be_visible()
    lanes = "Chart.getChart(document.querySelector('[data-panel=value] canvas'))"
    lanes += ".options.plugins.ground.lanes.map((lane) => lane.events.map((each) => each.text))"
    page.wait_for_function(f"() => {lanes.partition('.options')[0]}")
    assert page.evaluate(lanes) == [["v1.5"]]
    page.get_by_role("link", name="since then").click()
    expect(page.locator("[name=since]")).to_have_value(f"mark-{sent['id']}")
