"""What a reader has in hand stays there: filled in, selected, scrolled to, focused."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from campaigns.live.notify import notify_viewers
from tests.accounts.scenes import add_app, code_now
from tests.browser.installation import enter
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
)
from tests.measured import measure

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_estimate_is_of_the_ticks_that_came_back(served_tab, alice, project):
    make_endpoint(make_target(project, "shop"))
    make_plan(project, "Prices")
    make_plan(project, "Search")
    enter(served_tab, "alice")
    served_tab.goto(f"/projects/{project.pk}/campaigns/new/")
    served_tab.get_by_role("button", name="add another").click()
    for plan in ("Prices", "Search"):
        served_tab.locator("[data-picker=plans] label", has_text=plan).locator("input").check()
    served_tab.keyboard.press("Escape")
    served_tab.locator("#advanced > summary").click()
    served_tab.get_by_label("Repeats").fill("7")
    cost = served_tab.locator("[data-live=cost]")
    expect(cost).to_contain_text("7 times each")
    leave_and_come_back(served_tab)
    expect(served_tab.locator("[data-picker=plans] :checked")).to_have_count(2)
    expect(cost).to_contain_text("7 times each")


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


@pytest.mark.parametrize("steps", [1, 2])
def test_what_was_sent_after_a_sign_out_is_still_there_after_the_sign_in(
    steps, served_tab, alice, project
):
    if steps == 2:
        add_app(alice)
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
    if steps == 2:
        served_tab.fill("[name=code]", code_now())
        served_tab.get_by_role("button", name="Sign in").click()
    expect(served_tab.locator(".message")).to_contain_text("signed out before this was saved")
    expect(served_tab.locator("#id_name")).to_have_value("shop")
    assert rows_of(served_tab) == typed


def test_a_plan_comes_back_with_its_steps_as_they_were(served_tab, alice, project):
    enter(served_tab, "alice")
    served_tab.goto(f"/projects/{project.pk}/plans/new/")
    served_tab.locator("#id_name").fill("Two steps")
    served_tab.locator("#id_path").fill("/first")
    for path in ("/second", "/third"):
        served_tab.get_by_role("button", name="Add step").click()
        served_tab.locator("[data-step] input[name$=path]").last.fill(path)
    served_tab.locator("[data-step] > details > summary").nth(1).click()
    served_tab.locator("[data-step]").nth(1).get_by_role("button", name="Remove").click()
    leave_and_come_back(served_tab)
    paths = served_tab.locator("[data-step] input[name$=path]").all()
    assert [path.input_value() for path in paths] == ["/first", "/third"]
    expect(served_tab.locator("[name=n_steps]")).to_have_value("2")
    served_tab.get_by_role("button", name="Save plan", exact=True).click()
    served_tab.wait_for_url(r"**/plans/*/")
    expect(served_tab.locator("main")).to_contain_text("/third")


def rows_of(page) -> list[list[str]]:
    """Scheme, host and port of each endpoint."""
    rows = page.locator("[data-rows=endpoint] [data-row]").all()
    names = ("scheme", "host", "port")
    return [[row.locator(f"[name={name}]").input_value() for name in names] for row in rows]


@pytest.fixture
def runs(project):
    """Three runs of a campaign that goes on; the first has ended."""
    test = make_test(make_campaign(project, "Watched", started_at=timezone.now()))
    runs = [make_run(test, repeat) for repeat in (1, 2, 3)]
    measure(runs[0], 20_000)
    return runs


@pytest.fixture
def page(served_tab, alice, runs):
    """A tab of alice at this campaign, as wide as a phone."""
    enter(served_tab, "alice")
    served_tab.set_viewport_size({"width": 390, "height": 844})
    served_tab.goto(f"/campaigns/{runs[0].campaign_id}/#runs")
    expect(served_tab.locator(".runs-frame tbody tr")).to_have_count(len(runs))
    return served_tab


def end(page, run) -> None:
    measure(run, 20_000)
    notify_viewers(run_id=run.pk, campaign_id=run.campaign_id)
    expect(page.locator(".runs-frame")).to_contain_text("Complete")
    ended = page.locator(".runs-frame tbody tr").filter(has_text="Complete")
    expect(ended).to_have_count(run.repeat)


def test_a_table_stays_scrolled_and_keeps_the_focus(page, runs):
    frame = page.locator(".runs-frame")
    frame.focus()
    frame.evaluate("frame => { frame.scrollLeft = 80; }")
    end(page, runs[1])
    assert frame.evaluate("frame => frame.scrollLeft") == 80
    expect(frame).to_be_focused()


def test_a_link_keeps_the_focus_and_the_page_its_place(page, runs):
    link = page.locator(".runs-frame").get_by_role("link", name=runs[2].label)
    link.focus()
    page.evaluate("scrollTo(0, 0)")
    end(page, runs[1])
    expect(link).to_be_focused()
    assert page.evaluate("scrollY") == 0


def test_what_was_closed_stays_closed(page, runs):
    details = page.locator("#every-repeat")
    expect(details).to_have_attribute("open", "")
    details.locator("summary").first.press("Enter")
    end(page, runs[1])
    expect(details).not_to_have_attribute("open", "")
    expect(details.locator("summary").first).to_be_focused()
