"""What a browser fills in again, as it does when one comes back, agrees with the page around it."""

import pytest
from playwright.sync_api import expect

from tests.browser.installation import enter
from tests.factories import make_campaign, make_endpoint, make_plan, make_target

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_estimate_is_of_the_ticks_that_came_back(served_tab, alice, project):
    make_endpoint(make_target(project, "shop"))
    make_plan(project, "Prices")
    enter(served_tab, "alice")
    served_tab.goto(f"/projects/{project.pk}/campaigns/new/")
    served_tab.locator("[data-grid] tbody input").first.check()
    served_tab.get_by_label("Repeats").fill("7")
    cost = served_tab.locator("[data-live=cost]")
    expect(cost).to_contain_text("1 × 7")
    leave_and_come_back(served_tab)
    expect(served_tab.locator("[data-grid] tbody input").first).to_be_checked()
    expect(served_tab.locator(".row-total")).to_have_text("1")
    expect(cost).to_contain_text("1 × 7")


def test_a_plan_shows_the_fields_of_the_load_that_came_back(served_tab, alice, project):
    enter(served_tab, "alice")
    served_tab.goto(f"/projects/{project.pk}/plans/new/")
    served_tab.locator("[name=model][value=closed]").check(force=True)
    leave_and_come_back(served_tab)
    expect(served_tab.locator("[name=connections]")).to_be_visible()
    expect(served_tab.locator("[name=over_s]")).to_be_hidden()


def test_an_endpoint_shows_the_certificate_of_the_scheme_that_came_back(served_tab, alice, project):
    enter(served_tab, "alice")
    served_tab.goto(f"/projects/{project.pk}/targets/new/")
    row = served_tab.locator("[data-row]").filter(has=served_tab.locator("[name=scheme]")).first
    certificate = row.locator("[data-tls-only]").first
    before = certificate.is_visible()
    row.locator("[name=scheme]").select_option("http" if before else "https")
    leave_and_come_back(served_tab)
    expect(certificate).to_be_visible(visible=not before)


def test_the_filters_of_a_list_are_those_of_its_rows(served_tab, alice, project):
    make_campaign(project, "Shown")
    enter(served_tab, "alice")
    served_tab.goto(f"/projects/{project.pk}/campaigns/")
    state = served_tab.get_by_label("State", exact=True)
    state.select_option("done")
    served_tab.wait_for_url("**state=done")
    served_tab.go_back()
    expect(served_tab.get_by_role("link", name="Shown")).to_be_visible()
    expect(state).to_have_value("")


def leave_and_come_back(page) -> None:
    page.goto("/glossary/")
    page.go_back()
