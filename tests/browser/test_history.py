"""From the overview of a project's history to the campaign with which a test became slower."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from campaigns.models import Campaign
from tests.browser.installation import enter
from tests.factories import make_endpoint, make_plan, make_target
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


def test_a_fold_opens_by_key_and_a_dot_leads_to_its_row(served_tab, alice, project):
    endpoint = make_endpoint(make_target(project, "media"))
    tests = [(make_plan(project, f"Plan {n}"), endpoint, "new") for n in range(22)]
    make_history(project, SLOWER[:6], tests=tests, begin=timezone.now() - timedelta(days=20))
    enter(served_tab, "alice")
    served_tab.goto(f"/projects/{project.pk}/history/")
    fold = served_tab.get_by_role("link", name="22 unchanged tests")
    served_tab.keyboard.press("j")
    expect(fold).to_be_focused()
    served_tab.keyboard.press("Enter")
    served_tab.wait_for_url(re.compile(r"open=\d+"))
    expect(served_tab.locator("[id^=test-]")).to_have_count(22)
    expect(fold).to_be_focused()
    fold.click()
    expect(served_tab.locator("[id^=test-]")).to_have_count(0)
    served_tab.wait_for_load_state()  # the keys are read by a script
    dots = served_tab.locator(".dots")
    dots.focus()
    dots.press("ArrowRight")
    expect(served_tab.locator("[data-dots] .readout")).to_contain_text("Plan 0 HTTP new, ")
    dots.press("Enter")
    expect(served_tab.locator("a:target")).to_have_text("Plan 0")


def test_on_a_phone_tests_are_two_lines_in_groups_that_the_keyboard_chooses(
    served_tab, alice, project
):
    make_history(project, SLOWER, begin=timezone.now() - timedelta(days=20))
    enter(served_tab, "alice")
    served_tab.set_viewport_size({"width": 390, "height": 844})
    served_tab.goto(f"/projects/{project.pk}/history/")
    served_tab.get_by_role("link", name="target", exact=True).press("Enter")
    served_tab.wait_for_url("**/history/?group=target")
    expect(served_tab.locator(".history-table .group")).to_contain_text("1 slower")
    row = served_tab.locator(".history-table tr.has-moved")
    name, newest, standing = (
        row.locator(part).bounding_box() for part in ("th", ".newest", ".standing")
    )
    assert newest["y"] < name["y"] + name["height"] <= standing["y"]
    assert newest["x"] + newest["width"] <= 390
    frame = served_tab.locator(".table-frame")
    assert frame.evaluate("frame => frame.scrollWidth <= frame.clientWidth")


def test_a_day_is_typed_to_its_end_before_it_applies(served_tab, alice, project):
    make_history(project, SLOWER, begin=timezone.now() - timedelta(days=20))
    enter(served_tab, "alice")
    address = f"/projects/{project.pk}/history/"
    served_tab.goto(address)
    since = served_tab.get_by_label("From")
    since.focus()
    for digit in "11022026":
        served_tab.keyboard.press(digit)
    expect(since).to_have_value("2026-11-02")
    assert served_tab.url.endswith(address)
    served_tab.keyboard.press("Enter")
    served_tab.wait_for_url(re.compile("since=2026-11-02"))
    since.focus()
    served_tab.keyboard.press("0")
    served_tab.keyboard.press("5")
    assert "since=2026-11-02" in served_tab.url
    since.blur()
    served_tab.wait_for_url(re.compile("since=2026-05-02"))
