"""A list by keyboard: move, select, open, search; never while something is typed."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.installation import enter
from tests.factories import make_campaign

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = 60


@pytest.fixture
def page(served_tab, project):
    """A tab of alice at a list of sixty campaigns, the newest first."""
    for number in range(1, ROWS + 1):
        make_campaign(project, f"Campaign {number}")
    enter(served_tab, "alice")
    served_tab.goto(reverse("campaign-list", args=[project.pk]))
    return served_tab


def press(page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def focused(page) -> str:
    return page.evaluate("document.activeElement.textContent")


def selected(page) -> list[str]:
    return page.locator("tr.selected th a").all_inner_texts()


def test_rows_are_reached_selected_and_opened(page):
    press(page, "j", "j", "k", "j")
    assert focused(page) == f"Campaign {ROWS - 1}"
    press(page, "x", "j", "j", "Shift+X")
    assert selected(page) == [f"Campaign {ROWS - n}" for n in (1, 2, 3)]
    expect(page.locator("[data-bulk-words]")).to_have_text("3 selected")
    expect(page.get_by_role("button", name="Compare 3")).to_be_enabled()

    press(page, "/", "j", "x", "k")
    assert page.get_by_role("searchbox").input_value() == "jxk"
    assert len(selected(page)) == 3

    press(page, "Backspace", "Backspace", "Backspace")
    page.get_by_role("searchbox").blur()
    press(page, "?")
    expect(page.get_by_role("dialog")).to_contain_text("next and previous row")
    press(page, "j", "x", "Escape")
    assert len(selected(page)) == 3

    press(page, "j", "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Campaign {ROWS}")


def test_arrows_lead_from_a_menus_head_to_its_first_and_last_item(page):
    menu = page.locator("details.menu-right").first
    items = menu.locator(".menu-items :is(a, button)")
    menu.locator("summary").press("Enter")
    for key, item in (("ArrowUp", items.last), ("ArrowDown", items.first), ("ArrowUp", items.last)):
        page.keyboard.press(key)
        expect(item).to_be_focused()


def test_a_filter_chosen_by_arrow_keys_applies_when_it_is_left(page):
    state = page.get_by_label("State", exact=True)
    state.focus()
    page.evaluate("window.notReloaded = true")
    press(page, "ArrowDown", "ArrowDown")
    expect(state).to_have_value("running")
    page.wait_for_timeout(500)
    assert page.evaluate("window.notReloaded")
    press(page, "Tab")
    page.wait_for_url("**state=running")
