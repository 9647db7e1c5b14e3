"""The load in the plan's form: each model shows its own fields, and what is typed is drawn."""

import pytest

pytestmark = pytest.mark.browser


@pytest.fixture
def form(signed_in, site):
    signed_in.goto("/projects/new/")
    signed_in.fill("input[name=name]", "Loads")
    signed_in.locator("main form button.button-primary").click()
    signed_in.wait_for_url("**/projects/*/**")
    number = signed_in.url.split("/projects/")[1].split("/")[0]
    signed_in.goto(f"/projects/{number}/plans/new/?preset=httperf")
    return signed_in


def points_of_curve(page):
    path = page.locator("#curve path.c-line").first.get_attribute("d")
    return path.removeprefix("M").split("L")


def test_stages_are_drawn_while_they_are_typed_and_saved_as_typed(form):
    form.get_by_text("In stages").click()
    assert form.locator("#id_rate_per_s").is_hidden()
    assert form.locator("#id_requests").is_hidden()
    form.locator("#id_stages").fill("30: 10\n60: 10-50\n5: 0")
    assert "2,100 connections in 3 stages, 1 min 35 s in all." in form.inner_text("#curve-text")
    assert form.inner_text("[data-estimate=requests]") == "2,100"
    assert len(points_of_curve(form)) == 6
    form.locator("#id_stages").fill("30: 10\n60: soon")
    assert "Fill in the load" in form.inner_text("#curve-text")
    form.get_by_role("button", name="Make plan").click()
    assert "Stage 2, '60: soon', cannot be read." in form.inner_text("main")
    form.locator("#id_stages").fill("30: 10\n60: 10-50")
    form.get_by_role("button", name="Make plan").click()
    assert "60 s: 10 to 50 connections/s" in form.inner_text("main")
    drawn = form.locator("#curve-text").filter(has_text="2,100 connections in 2 stages")
    drawn.wait_for()  # the page's script comes after its text


def test_each_way_to_arrive_shows_its_fields(form):
    form.get_by_text("Random between two gaps").click()
    assert form.locator("#id_uniform_min_s").is_visible()
    assert form.locator("#id_rate_per_s").is_hidden()
    assert "each 50 ms to 150 ms after the one before" in form.inner_text("#curve-text")
    form.get_by_text("Opening N at a time").click()
    assert form.locator("#id_low").is_visible()
    assert form.locator("#id_hold_s").is_hidden()
    form.get_by_text("Keep for a time").click()
    assert form.locator("#id_hold_s").is_visible()
    assert "fewer than 25 are being opened" in form.inner_text("#curve-text")


def test_a_ramp_up_rises_in_the_drawing(form):
    form.get_by_text("On N connections").click()
    assert len(points_of_curve(form)) == 2
    form.locator("#id_ramp_up_s").fill("4")
    assert len(points_of_curve(form)) == 3
    assert "begin one by one over 4 s" in form.inner_text("#curve-text")
