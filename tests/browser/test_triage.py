"""A planted change is found, acknowledged, quiet, and at last fixed."""

import pytest
from playwright.sync_api import expect

from campaigns.models import Campaign
from campaigns.services.dispatch import finish_campaigns
from tests.browser.installation import enter
from tests.histories import make_history
from tests.services.test_triage import SLOWER, nights_ago

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_planted_change_is_found_acknowledged_quiet_and_fixed(served_tab, alice, project):
    (test,) = make_history(project, SLOWER, begin=nights_ago(20))
    Campaign.objects.filter(pk=test.campaign_id).update(finished_at=None)
    finish_campaigns()
    enter(served_tab, "alice")
    served_tab.goto(f"/projects/{project.pk}/history/")
    expect(served_tab.locator(".verdict")).to_contain_text("1 slower")
    served_tab.locator(".triage-row").get_by_role("link", name="Triage").click()
    block = served_tab.locator("#triage")
    expect(block).to_contain_text("+9.6")
    block.get_by_label("acknowledged").check()
    block.get_by_role("button", name="Save").click()
    expect(block.locator(".triage-log")).to_contain_text("alice acknowledged")
    served_tab.goto(f"/projects/{project.pk}/history/")
    expect(served_tab.locator(".verdict")).to_contain_text("No change")
    expect(served_tab.locator(".triage-row")).to_have_count(0)
    served_tab.get_by_role("link", name="acknowledged 1").click()
    served_tab.get_by_role("link", name="Triage").click()
    block.get_by_label("fixed").check()
    block.get_by_role("button", name="Save").click()
    expect(served_tab.get_by_text("Say why, so that others")).to_be_in_viewport()
    block.get_by_label("fixed").check()
    block.get_by_role("textbox", name="Why").fill("Rolled back with 4.21.1.")
    block.get_by_role("button", name="Save").click()
    expect(block.locator(".triage-log li").first).to_contain_text("fixed: “Rolled back")
    expect(served_tab.get_by_text("Saved: fixed.")).to_be_in_viewport()
    served_tab.goto(f"/projects/{project.pk}/history/")
    expect(served_tab.get_by_role("link", name="closed 1")).to_be_visible()
