"""From the overview of a project's history to the campaign with which a test became slower."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from campaigns.models import Campaign
from tests.browser.installation import enter
from tests.histories import make_history

pytestmark = pytest.mark.django_db(transaction=True)

SLOWER = [26.0, 26.2, 25.8, 26.1, 25.9, 26.0, 28.5, 28.6, 28.4, 28.7]


def test_the_keyboard_leads_from_a_change_to_its_campaign(served_tab, alice, project):
    make_history(project, SLOWER, begin=timezone.now() - timedelta(days=20))
    enter(served_tab, "alice")
    served_tab.goto(f"/projects/{project.pk}/history/")
    served_tab.get_by_text(re.compile("1 slower")).wait_for()
    served_tab.keyboard.press("j")
    expect(served_tab.locator("tbody th a")).to_be_focused()
    served_tab.keyboard.press("Enter")
    served_tab.get_by_text(re.compile("Slower by")).first.wait_for()
    panels = served_tab.locator("[data-history]")
    panels.get_by_text("axis from").wait_for()  # drawn, so the keys are obeyed
    panels.focus()
    panels.press("Shift+ArrowLeft")
    readout = served_tab.locator("[data-panel=value] .readout")
    readout.filter(has_text="28.5").wait_for()
    panels.press("ArrowLeft")
    readout.filter(has_text="26.0").wait_for()
    panels.press("ArrowRight")
    panels.press("Enter")
    begun = Campaign.objects.get(name="night 6")
    served_tab.wait_for_url(f"**/campaigns/{begun.pk}/")


def test_a_range_is_dragged_and_the_figures_are_a_table(served_tab, alice, project):
    (test,) = make_history(project, SLOWER)
    enter(served_tab, "alice")
    served_tab.goto(f"/tests/{test.pk}/history/")
    served_tab.get_by_text("Show as table").click()
    rows = served_tab.locator("[data-chart-table] tbody tr")
    expect(rows).to_have_count(len(SLOWER))
    expect(rows.first).to_contain_text("10 Nov 2026")
    expect(rows.first).to_contain_text("28.7 [")
    box = served_tab.locator("[data-panel=value] canvas").bounding_box()
    middle = box["y"] + box["height"] / 2
    served_tab.mouse.move(box["x"] + box["width"] / 2, middle)
    served_tab.mouse.down()
    served_tab.mouse.move(box["x"] + box["width"] - 4, middle, steps=4)
    served_tab.mouse.up()
    served_tab.wait_for_url(re.compile("since=2026-11-06&until=2026-11-10"))
    expect(served_tab.get_by_label("From")).to_have_value("2026-11-06")
