"""What only a browser can show: steps that come and go, theme, keys."""

import re

import pytest

PLACES = {"t": "targets", "p": "plans", "i": "injectors"}


@pytest.fixture(scope="module")
def project(new_project) -> str:
    """The address of a project of its own."""
    return f"/projects/{new_project().project}/"


def test_steps_are_added_moved_and_removed(signed_in, project):
    page = signed_in
    page.goto(f"{project}plans/new/?preset=smoke")
    page.locator("#id_path").fill("/a")
    page.get_by_text("More steps and their order").click()
    for number, path in ((2, "/b"), (3, "/c")):
        page.get_by_role("button", name="Add a step").click()
        page.locator(f"[name=step{number}_path]").fill(path)
    page.locator("[data-step]").nth(2).get_by_role("button", name="Move this step up").click()
    page.locator("[data-step]").nth(0).get_by_role("button", name="Remove").click()
    page.get_by_text("1 more step: GET /b").wait_for()
    assert page.locator("#id_path").input_value() == "/c"
    page.locator("[name=order_kind][value=blocks]").check(force=True)
    page.locator("#id_block_repeat").fill("25")
    page.get_by_role("button", name="Create plan", exact=True).click()
    page.wait_for_url(re.compile(r"/plans/\d+/"))
    text = page.locator("main").inner_text()
    assert text.index("GET /c") < text.index("GET /b")
    assert "GET /a" not in text
    assert "in blocks of 25 requests" in text


def test_the_chosen_theme_is_there_before_the_first_paint_of_the_next_page(signed_in):
    signed_in.goto("/")
    signed_in.get_by_role("banner").locator("summary").last.click()
    signed_in.get_by_text("Dark", exact=True).click()
    signed_in.reload()
    assert signed_in.evaluate("document.documentElement.dataset.theme") == "dark"
    paper = "getComputedStyle(document.body).backgroundColor"
    assert signed_in.evaluate(paper) == "rgb(16, 19, 23)"


@pytest.mark.parametrize(("letter", "place"), PLACES.items())
def test_g_and_a_letter_lead_to_a_place_but_not_from_a_field(letter, place, signed_in, project):
    signed_in.goto(f"{project}plans/new/")
    signed_in.locator("#id_name").press("g")
    signed_in.locator("#id_name").press(letter)
    assert signed_in.url.endswith("/plans/new/")
    signed_in.locator("#id_name").blur()
    signed_in.keyboard.press("g")
    signed_in.keyboard.press(letter)
    signed_in.wait_for_url(re.compile(rf"/{place}/"))


def test_escape_closes_a_menu_and_gives_the_focus_back(signed_in):
    signed_in.goto("/")
    menu = signed_in.get_by_role("banner").locator("details").last
    menu.locator("summary").click()
    signed_in.keyboard.press("ArrowDown")
    assert signed_in.evaluate("document.activeElement.textContent") == "Tokens"
    signed_in.keyboard.press("Escape")
    assert menu.get_attribute("open") is None
    assert signed_in.evaluate("document.activeElement.tagName") == "SUMMARY"
