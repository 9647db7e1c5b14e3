"""A schedule starts a campaign, which finds the server slower, and the team hears of it."""

import re

import pytest
from playwright.sync_api import expect
from standardwebhooks.webhooks import Webhook

from tests.browser.test_ten_tasks import shops as shops
from tests.notifications.receivers import http_receiver
from tests.waiting import eventually

pytestmark = pytest.mark.long
DUE_NOW = """
from datetime import timedelta
from django.utils import timezone
from campaigns.models import Schedule
print(Schedule.objects.filter(project={project}).update(next_at=timezone.now()))
"""


def add_channel(page, kind: str, address: str) -> str:
    """What the page says of its test."""
    page.get_by_role("link", name=kind, exact=True).click()
    page.get_by_label("URL").or_(page.get_by_label("Address")).fill(address)
    page.get_by_role("button", name="Add and send a test").click()
    row = page.get_by_role("row").filter(has_text="delivered")
    expect(row.last).to_be_visible()
    return page.locator("main").inner_text()


def regressions(receiver) -> list:
    """What a receiver heard of a regression."""
    return [each for each in receiver.received if b"slower" in each.body]


def test_a_scheduled_regression_reaches_the_team(signed_in, site, new_project, shops):
    rest, page, shop = new_project(), signed_in, shops()
    (arm,) = rest.make_target("shop", shop.endpoint)
    plan = rest.make_plan("load", model="open", rate_per_s=50, duration_s=2)
    first = rest.start("Nightly", (plan, arm), repeats=3)
    rest.wait_for_state(first, "done", 120)
    tests = [each["id"] for each in rest.get(f"campaigns/{first}/")["tests"]]
    rest.post(f"projects/{rest.project}/baselines/", {"name": "1.0", "tests": tests})

    with http_receiver() as hook, http_receiver() as chat:
        page.goto(f"/projects/{rest.project}/notifications/")
        text = add_channel(page, "Webhook", hook.url)
        (secret,) = re.findall(r"whsec_[\w+/=]+", text)
        page.reload()
        assert secret not in page.content()
        add_channel(page, "Another service", f"mmost://127.0.0.1:{chat.port}/{'c' * 24}")

        page.goto(f"/projects/{rest.project}/schedules/")
        page.get_by_label("Run", exact=True).select_option(str(first))
        page.get_by_label("Name", exact=True).fill("Every night")
        page.get_by_role("checkbox", name="Wait up to 30 min").uncheck()
        expect(page.locator("[data-live=next]")).to_contain_text("Next: ")
        page.get_by_role("button", name="Add schedule").click()
        expect(page.get_by_role("row").filter(has_text="Every night")).to_contain_text("02:00")

        shop.delay_s = 0.040
        assert site.run(DUE_NOW.format(project=rest.project)).strip() == "1"
        eventually(lambda: regressions(hook) and regressions(chat), 180, "both channels hear of it")
        (regression,), (post,) = regressions(hook), regressions(chat)

        page.goto(f"/projects/{rest.project}/schedules/")
        row = page.get_by_role("row").filter(has_text="Every night")
        expect(row).to_contain_text("slower", ignore_case=True)
        row.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("row").filter(has_text="Every night")).to_contain_text("paused")

        page.goto(f"/projects/{rest.project}/notifications/")
        page.get_by_role("link", name="127.0.0.1").first.click()
        deliveries = page.get_by_role("table", name="Deliveries, newest first")
        row = deliveries.get_by_role("row").filter(has_text="slower")
        expect(row).to_contain_text("delivered", ignore_case=True)
        page.get_by_role("button", name="Pause").click()
        expect(page.locator("main")).to_contain_text("Nothing is sent until you resume it.")

    event = Webhook(secret).verify(regression.body, regression.headers)
    assert event["type"] == "campaign.regression"
    assert "Every night" in post.body.decode()
    assert f"{site.url}/campaigns/" in post.body.decode()
