"""The plan form in Chromium: each load shows its fields, and the server says what it would do."""

import pytest
from playwright.sync_api import expect


@pytest.fixture(scope="module")
def project(new_project) -> int:
    return new_project().project


@pytest.fixture
def open_form(signed_in, project):
    """The form of a new plan, filled in from a preset."""

    def opened(preset: str):
        signed_in.goto(f"/projects/{project}/plans/new/?preset={preset}")
        return signed_in

    return opened


def estimate(page, name):
    return page.locator(f"[data-estimate={name}]")


def sentence(page):
    return page.locator("#curve-text")


def asks_with(field: str):
    """Whether a request is for a preview with this field; an earlier one may be late."""
    return lambda request: request.url.endswith("/plans/preview/") and field in request.post_data


def test_a_load_shows_its_duration_requests_and_highest_percentile(open_form):
    form = open_form("over-10")
    expect(sentence(form)).to_contain_text("One request every 100 ms")
    form.locator("#id_requests").fill("1,000")
    expect(estimate(form, "requests")).to_have_text("1,000")
    expect(estimate(form, "percentile")).to_have_text("p99")
    form.get_by_text("Warm-up and start").click()
    form.locator("#id_warm_up_s").fill("5")
    expect(estimate(form, "duration")).to_have_text("15 s")
    expect(sentence(form)).to_contain_text("One request every 10 ms")


def test_what_is_half_typed_is_answered_in_a_sentence_and_the_last_preview_stays_grey(open_form):
    form = open_form("over-10")
    form.locator("#id_over_s").fill("1x")
    expect(form.locator(".problem")).to_contain_text("Write a number above 0 to 43,200.")
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
    form.get_by_text("Headers and body").click()
    form.locator("#id_body").fill("the body")
    form.get_by_text("Sign-in and secrets").click()
    form.get_by_text("Bearer token").click()
    form.locator("#id_secret").fill("the secret")
    with form.expect_request(asks_with("requests=200")) as asked:
        form.locator("#id_requests").fill("200")
    for kept in ("body", "secret"):
        assert kept not in asked.value.post_data


def test_the_server_being_away_is_said_and_the_next_answer_takes_it_back(open_form):
    form = open_form("over-10")
    form.route("**/plans/preview/", lambda route: route.abort())
    form.locator("#id_requests").fill("200")
    expect(form.locator("[data-preview-state]")).to_contain_text("The server does not answer")
    form.unroute("**/plans/preview/")
    form.locator("#id_requests").fill("300")
    expect(estimate(form, "requests")).to_have_text("300")
    expect(form.locator("[data-preview-state]")).to_have_text("")
