"""Lists under the fingers: keys, ticks, filters that apply while one types."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from campaigns.models import Campaign
from tests.factories import make_campaign

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = 12


@pytest.fixture
def list_page(alices_tab, project):
    """A tab of alice at a list of campaigns, the newest first."""
    now = timezone.now()
    for number in range(1, ROWS + 1):
        at = now - timedelta(hours=ROWS - number)
        make_campaign(project, f"Campaign {number}", started_at=at, finished_at=at)
    alices_tab.goto(reverse("campaign-list", args=[project.pk]))
    return alices_tab


def press(list_page, *keys: str) -> None:
    for key in keys:
        list_page.keyboard.press(key)


def selection(list_page) -> list[str]:
    return list_page.locator("tr.selected th a").all_inner_texts()


def names(list_page) -> list[str]:
    return list_page.locator(".items th.name").all_inner_texts()


def test_rows_are_reached_selected_and_opened(list_page):
    press(list_page, "j", "j", "k", "j")
    focus = list_page.evaluate("document.activeElement.textContent")
    assert focus == f"Campaign {ROWS - 1}"
    press(list_page, "x", "j", "j", "Shift+X")
    assert selection(list_page) == [f"Campaign {ROWS - n}" for n in (1, 2, 3)]
    expect(list_page.locator("[data-bulk-words]")).to_have_text("3 selected")
    press(list_page, "?")
    expect(list_page.get_by_role("dialog")).to_contain_text("next and previous row")
    press(list_page, "j", "x", "Escape")
    assert len(selection(list_page)) == 3
    press(list_page, "Escape")
    assert selection(list_page) == []
    press(list_page, "/", "j", "x", "k")
    expect(list_page.get_by_role("searchbox")).to_have_value("jxk")
    expect(list_page.locator(".empty")).to_contain_text("“jxk”")
    press(list_page, "Backspace", "Backspace", "Backspace", "1", "2")
    expect(list_page.locator(".items th.name")).to_have_text(["Campaign 12"])
    list_page.get_by_role("searchbox").blur()
    press(list_page, "j", "Enter")
    expect(list_page.get_by_role("heading", level=1)).to_have_text(f"Campaign {ROWS}")


def test_arrows_lead_from_a_menus_head_to_its_first_and_last_item(list_page):
    menu = list_page.locator("details.menu-right").first
    items = menu.locator(".menu-items :is(a, button)")
    menu.locator("summary").press("Enter")
    for key, item in (("ArrowUp", items.last), ("ArrowDown", items.first), ("ArrowUp", items.last)):
        list_page.keyboard.press(key)
        expect(item).to_be_focused()


def test_filters_apply_without_a_new_page_and_stay_in_the_address(list_page):
    urls = []
    list_page.on("request", lambda each: urls.append(each.url))
    list_page.evaluate("window.isThePage = true")
    press(list_page, "/")
    list_page.keyboard.type("Campaign 1", delay=20)
    expect(list_page.locator(".items th.name")).to_have_count(4)
    assert len(urls) == 1
    since = list_page.get_by_label("Any time", exact=True)
    since.focus()
    press(list_page, "ArrowDown")
    list_page.wait_for_url("**search=Campaign%201&since=1")
    expect(since).to_be_focused()
    assert list_page.evaluate("window.isThePage")
    list_page.get_by_label("Remove Last 24 hours").click()
    list_page.wait_for_url("**?search=Campaign%201")
    list_page.reload()
    assert names(list_page) == [f"Campaign {n}" for n in (12, 11, 10, 1)]
    expect(list_page.get_by_role("searchbox")).to_have_value("Campaign 1")


@pytest.mark.parametrize("width", [1440, 390])
def test_a_tick_moves_no_row(list_page, width):
    list_page.set_viewport_size({"width": width, "height": 900})
    row = list_page.locator(".items tbody tr").first
    before = row.bounding_box()["y"]
    row.locator(".tick").click()
    expect(list_page.get_by_role("button", name="Archive")).to_be_visible()
    assert row.bounding_box()["y"] == before


def test_the_first_row_is_high_on_the_page_and_rows_are_low(list_page):
    first = Campaign.objects.order_by("pk")[:2]
    Campaign.objects.filter(pk__in=first).update(finished_at=None)
    list_page.reload()
    expect(list_page.locator(".active-strip > li")).to_have_count(2)
    row = list_page.locator(".items tbody tr").first.bounding_box()
    assert row["y"] <= 370
    assert row["height"] <= 36


def test_times_are_those_of_the_browser_from_the_first_page_on(served_tab):
    session = served_tab.context.new_cdp_session(served_tab)
    session.send("Emulation.setTimezoneOverride", {"timezoneId": "Pacific/Chatham"})
    served_tab.goto("/account/time-zone/")
    expect(served_tab.locator(".foot")).to_contain_text("Times are Pacific/Chatham")
    served_tab.get_by_label("Show times in").select_option("America/New_York")
    served_tab.get_by_role("button", name="Save").click()
    expect(served_tab.locator(".foot")).to_contain_text("Times are America/New_York")
