"""What a browser fills in again, as it does when one comes back, agrees with the page around it."""

import pytest
from playwright.sync_api import expect

from tests.browser.installation import enter
from tests.factories import make_endpoint, make_plan, make_target

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


def leave_and_come_back(page) -> None:
    page.goto("/glossary/")
    page.go_back()


def test_a_target_comes_back_with_its_added_rows_and_all_that_was_typed(served_tab, alice, project):
    enter(served_tab, "alice")
    served_tab.goto(f"/projects/{project.pk}/targets/new/")
    served_tab.locator("#id_name").fill("shop")
    served_tab.get_by_role("button", name="Add an endpoint").click()
    served_tab.locator("[name=scheme]").last.select_option("https")
    served_tab.locator("[name=host]").last.fill("shop.example")
    served_tab.locator("[name=port]").last.fill("8443")
    key = served_tab.locator("[name=tls_client_key_pem]").last
    key.evaluate("field => { field.value = 'key' }")
    typed = rows_of(served_tab)
    leave_and_come_back(served_tab)
    expect(served_tab.locator("#id_name")).to_have_value("shop")
    assert rows_of(served_tab) == typed
    expect(served_tab.locator("[data-tls-only]").last).to_be_visible()
    expect(key).to_have_value("")
    served_tab.reload()
    assert rows_of(served_tab) == typed


def test_a_removed_endpoint_gives_its_fields_to_no_other(served_tab, alice, project):
    target = make_target(project, "shop")
    for host in ("a.example", "b.example"):
        make_endpoint(target, host=host)
    enter(served_tab, "alice")
    served_tab.goto(f"/targets/{target.pk}/edit/")
    served_tab.locator("[name=scheme]").last.select_option("https")
    served_tab.locator("[data-rows=endpoint]").get_by_role("button", name="Remove").first.click()
    leave_and_come_back(served_tab)
    ((scheme, host, _),) = rows_of(served_tab)
    assert (scheme, host) == ("https", "b.example")


def test_what_was_typed_does_not_cover_what_was_saved_meanwhile(served_tab, alice, project):
    target = make_target(project, "shop")
    make_endpoint(target, host="a.example")
    enter(served_tab, "alice")
    served_tab.goto(f"/targets/{target.pk}/edit/")
    served_tab.locator("[name=port]").fill("81")
    target.endpoints.update(host="moved.example")
    leave_and_come_back(served_tab)
    ((_, host, port),) = rows_of(served_tab)
    assert (host, port) == ("moved.example", "8081")


def test_what_one_typed_is_not_shown_to_who_signs_in_after(served_tab, alice, bob, project):
    enter(served_tab, "alice")
    served_tab.goto(f"/projects/{project.pk}/targets/new/")
    served_tab.locator("#id_name").fill("shop")
    served_tab.goto("/glossary/")
    enter(served_tab, "bob")
    served_tab.go_back()
    expect(served_tab.locator("#id_name")).to_have_value("")


def test_what_was_sent_after_a_sign_out_is_still_there_after_the_sign_in(
    served_tab, alice, project
):
    enter(served_tab, "alice")
    served_tab.goto(f"/projects/{project.pk}/targets/new/")
    served_tab.locator("#id_name").fill("shop")
    served_tab.get_by_role("button", name="Add an endpoint").click()
    served_tab.locator("[name=host]").last.fill("shop.example")
    typed = rows_of(served_tab)
    served_tab.context.clear_cookies(name="sessionid")
    served_tab.get_by_role("button", name="Create target").click()
    served_tab.fill("[name=username]", "alice")
    served_tab.fill("[name=password]", "pw")
    served_tab.get_by_role("button", name="Sign in").click()
    expect(served_tab.locator(".message")).to_contain_text("nothing was done")
    expect(served_tab.locator("#id_name")).to_have_value("shop")
    assert rows_of(served_tab) == typed


def test_a_plan_comes_back_with_its_steps_as_they_were(served_tab, alice, project):
    enter(served_tab, "alice")
    served_tab.goto(f"/projects/{project.pk}/plans/new/")
    served_tab.locator("#id_name").fill("Two steps")
    served_tab.locator("#id_path").fill("/first")
    served_tab.locator("details:has([data-steps]) > summary").click()
    for path in ("/second", "/third"):
        served_tab.get_by_role("button", name="Add a step").click()
        served_tab.locator("[data-step] input[name$=path]").last.fill(path)
    served_tab.locator("[data-step]").nth(1).get_by_role("button", name="Remove").click()
    leave_and_come_back(served_tab)
    paths = served_tab.locator("[data-step] input[name$=path]").all()
    assert [path.input_value() for path in paths] == ["/first", "/third"]
    expect(served_tab.locator("[name=n_steps]")).to_have_value("2")
    served_tab.get_by_role("button", name="Create plan", exact=True).click()
    served_tab.wait_for_url(r"**/plans/*/")
    expect(served_tab.locator("main")).to_contain_text("/third")


def rows_of(page) -> list[list[str]]:
    """Scheme, host and port of each endpoint."""
    rows = page.locator("[data-rows=endpoint] [data-row]").all()
    names = ("scheme", "host", "port")
    return [[row.locator(f"[name={name}]").input_value() for name in names] for row in rows]
