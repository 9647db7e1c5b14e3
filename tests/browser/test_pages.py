"""What only a browser can show: steps that come and go, theme, keys, previews, the API's page."""

import re

import pytest
from playwright.sync_api import expect

PLACES = {"t": "targets", "p": "plans", "i": "injectors"}


@pytest.fixture(scope="module")
def project(new_project) -> str:
    """The address of a project of its own."""
    return f"/projects/{new_project().project}/"


def test_steps_are_added_moved_and_removed(signed_in, project):
    page = signed_in
    page.goto(f"{project}plans/new/?preset=smoke")
    page.locator("#id_path").fill("/a")
    for number, path in ((2, "/b"), (3, "/c")):
        page.get_by_role("button", name="Add step").click()
        page.locator(f"[name=step{number}_path]").fill(path)
    page.locator("[data-step]").nth(2).get_by_role("button", name="Move up").click()
    page.locator("[data-step] > details > summary").nth(0).click()
    page.locator("[data-step]").nth(0).get_by_role("button", name="Remove").click()
    expect(page.locator("[data-step]")).to_have_count(2)
    assert page.locator("#id_path").input_value() == "/c"
    page.locator("#group-steps > summary").click()
    page.locator("[name=order_kind][value=blocks]").check(force=True)
    page.locator("#id_block_repeat").fill("25")
    page.get_by_role("button", name="Save plan", exact=True).click()
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
    assert signed_in.evaluate("document.activeElement.textContent") == "Profile"
    signed_in.keyboard.press("Escape")
    assert menu.get_attribute("open") is None
    assert signed_in.evaluate("document.activeElement.tagName") == "SUMMARY"


@pytest.fixture(scope="module")
def plans_project(new_project) -> int:
    return new_project().project


@pytest.fixture
def open_form(signed_in, plans_project):
    """The form of a new plan, filled in from a preset."""

    def open_at(preset: str):
        signed_in.goto(f"/projects/{plans_project}/plans/new/?preset={preset}")
        return signed_in

    return open_at


def estimate(page, name):
    return page.locator(f"[data-estimate={name}]")


def sentence(page):
    return page.locator("#curve-text")


def asks_with(field: str):
    """Whether a request is for a preview with this field; an earlier one may be late."""
    return lambda request: request.url.endswith("/plans/preview/") and field in request.post_data


def test_what_is_half_typed_is_answered_in_a_sentence_and_the_last_preview_stays_grey(open_form):
    form = open_form("over-10")
    form.locator("#id_over_s").fill("1x")
    expect(form.locator(".problem")).to_contain_text("write seconds, or such as 500ms")
    expect(estimate(form, "requests")).to_have_text("100")
    expect(form.locator(".one-run")).to_have_css("opacity", "0.45")
    form.locator("#id_over_s").fill("20")
    expect(form.locator(".problem")).to_have_count(0)
    expect(estimate(form, "duration")).to_have_text("20 s")
    expect(form.locator(".one-run")).to_have_css("opacity", "1")


def test_the_field_that_is_typed_in_keeps_its_focus_and_its_text(open_form):
    form = open_form("over-10")
    form.locator("#id_requests").press("End")
    form.locator("#id_requests").press_sequentially("0")
    expect(estimate(form, "requests")).to_have_text("1,000")
    assert form.evaluate("document.activeElement.id") == "id_requests"
    assert form.locator("#id_requests").input_value() == "1000"


def test_neither_bodies_nor_secrets_are_sent_for_a_preview(open_form):
    form = open_form("over-10")
    form.locator("#id_body").fill("the body")
    form.get_by_text("Authentication").click()
    form.get_by_text("Bearer token").click()
    form.locator("#id_secret").fill("the secret")
    with form.expect_request(asks_with("requests=200")) as request:
        form.locator("#id_requests").fill("200")
    for text in ("body=", "the+body", "secret"):
        assert text not in request.value.post_data


def test_the_server_being_away_is_said_and_the_next_answer_takes_it_back(open_form):
    form = open_form("over-10")
    form.route("**/plans/preview/", lambda route: route.abort())
    form.locator("#id_requests").fill("200")
    expect(form.locator("[data-preview-state]")).to_contain_text("The server does not answer")
    form.unroute("**/plans/preview/")
    form.locator("#id_requests").fill("300")
    expect(estimate(form, "requests")).to_have_text("300")
    expect(form.locator("[data-preview-state]")).to_have_text("")


def test_the_docs_page_asks_nobody_else_and_opens_what_its_address_names(page):
    complaints: list[str] = []
    elsewhere: list[str] = []
    page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: elsewhere.append(request.url))
    page.goto("/api/v1/docs/#campaigns_start")
    expect(page.locator("#campaigns_start")).to_contain_text("Queues all runs")
    origin = page.evaluate("location.origin")
    page.locator("#campaigns_start").get_by_role("link", name="Start", exact=True).click()
    expect(page.locator("#object-Start")).to_contain_text("when_quiet")
    assert [url for url in elsewhere if not url.startswith((origin, "data:"))] == []
    assert complaints == []
