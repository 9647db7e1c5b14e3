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


def test_the_estimate_is_of_the_ticks_that_came_back(alices_tab, project):
    make_endpoint(make_target(project, "shop"))
    make_plan(project, "Prices")
    make_plan(project, "Search")
    alices_tab.goto(f"/projects/{project.pk}/campaigns/new/")
    alices_tab.get_by_role("button", name="add another").click()
    for plan in ("Prices", "Search"):
        alices_tab.locator("[data-picker=plans] label", has_text=plan).locator("input").check()
    alices_tab.keyboard.press("Escape")
    alices_tab.locator("#advanced > summary").click()
    alices_tab.get_by_label("Repeats").fill("7")
    cost = alices_tab.locator("[data-live=cost]")
    expect(cost).to_contain_text("7 times each")
    leave_and_come_back(alices_tab)
    expect(alices_tab.locator("[data-picker=plans] :checked")).to_have_count(2)
    expect(cost).to_contain_text("7 times each")


def leave_and_come_back(page) -> None:
    page.goto("/glossary/")
    page.go_back()


def test_a_target_comes_back_with_its_added_rows_and_all_that_was_typed(alices_tab, project):
    alices_tab.goto(f"/projects/{project.pk}/targets/new/")
    alices_tab.locator("#id_name").fill("shop")
    alices_tab.get_by_role("button", name="Add an endpoint").click()
    alices_tab.locator("[name=scheme]").last.select_option("https")
    alices_tab.locator("[name=host]").last.fill("shop.example")
    alices_tab.locator("[name=port]").last.fill("8443")
    key = alices_tab.locator("[name=tls_client_key_pem]").last
    key.evaluate("field => { field.value = 'key' }")
    rows = rows_of(alices_tab)
    leave_and_come_back(alices_tab)
    expect(alices_tab.locator("#id_name")).to_have_value("shop")
    assert rows_of(alices_tab) == rows
    expect(alices_tab.locator("[data-tls-only]").last).to_be_visible()
    expect(key).to_have_value("")
    alices_tab.reload()
    assert rows_of(alices_tab) == rows


def test_a_removed_endpoint_gives_its_fields_to_no_other(alices_tab, project):
    target = make_target(project, "shop")
    for host in ("a.example", "b.example"):
        make_endpoint(target, host=host)
    alices_tab.goto(f"/targets/{target.pk}/edit/")
    alices_tab.locator("[name=scheme]").last.select_option("https")
    alices_tab.locator("[data-rows=endpoint]").get_by_role("button", name="Remove").first.click()
    leave_and_come_back(alices_tab)
    ((scheme, host, _),) = rows_of(alices_tab)
    assert (scheme, host) == ("https", "b.example")


def test_what_was_typed_does_not_cover_what_was_saved_meanwhile(alices_tab, project):
    target = make_target(project, "shop")
    make_endpoint(target, host="a.example")
    alices_tab.goto(f"/targets/{target.pk}/edit/")
    alices_tab.locator("[name=port]").fill("81")
    target.endpoints.update(host="moved.example")
    leave_and_come_back(alices_tab)
    ((_, host, port),) = rows_of(alices_tab)
    assert (host, port) == ("moved.example", "8081")


def test_what_one_typed_is_not_shown_to_who_signs_in_after(alices_tab, bob, project):
    alices_tab.goto(f"/projects/{project.pk}/targets/new/")
    alices_tab.locator("#id_name").fill("shop")
    alices_tab.goto("/glossary/")
    enter(alices_tab, "bob")
    alices_tab.go_back()
    expect(alices_tab.locator("#id_name")).to_have_value("")


@pytest.mark.parametrize("steps", [1, 2])
def test_what_was_sent_after_a_sign_out_is_still_there_after_the_sign_in(
    steps, alices_tab, alice, project
):
    if steps == 2:
        add_app(alice)
    alices_tab.goto(f"/projects/{project.pk}/targets/new/")
    alices_tab.locator("#id_name").fill("shop")
    alices_tab.get_by_role("button", name="Add an endpoint").click()
    alices_tab.locator("[name=host]").last.fill("shop.example")
    rows = rows_of(alices_tab)
    alices_tab.context.clear_cookies(name="sessionid")
    alices_tab.get_by_role("button", name="Create target").click()
    alices_tab.fill("[name=username]", "alice")
    alices_tab.fill("[name=password]", "pw")
    alices_tab.get_by_role("button", name="Sign in").click()
    if steps == 2:
        alices_tab.fill("[name=code]", code_now())
        alices_tab.get_by_role("button", name="Sign in").click()
    expect(alices_tab.locator(".message")).to_contain_text("signed out before this was saved")
    expect(alices_tab.locator("#id_name")).to_have_value("shop")
    assert rows_of(alices_tab) == rows


def test_a_plan_comes_back_with_its_steps_as_they_were(alices_tab, project):
    alices_tab.goto(f"/projects/{project.pk}/plans/new/")
    alices_tab.locator("#id_name").fill("Two steps")
    alices_tab.locator("#id_path").fill("/first")
    for path in ("/second", "/third"):
        alices_tab.get_by_role("button", name="Add step").click()
        alices_tab.locator("[data-step] input[name$=path]").last.fill(path)
    alices_tab.locator("[data-step] > details > summary").nth(1).click()
    alices_tab.locator("[data-step]").nth(1).get_by_role("button", name="Remove").click()
    leave_and_come_back(alices_tab)
    paths = alices_tab.locator("[data-step] input[name$=path]").all()
    assert [path.input_value() for path in paths] == ["/first", "/third"]
    expect(alices_tab.locator("[name=n_steps]")).to_have_value("2")
    alices_tab.get_by_role("button", name="Save plan", exact=True).click()
    alices_tab.wait_for_url(r"**/plans/*/")
    expect(alices_tab.locator("main")).to_contain_text("/third")


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
def page(alices_tab, alice, runs):
    """A tab of alice at this campaign, as wide as a phone."""
    alices_tab.set_viewport_size({"width": 390, "height": 844})
    alices_tab.goto(f"/campaigns/{runs[0].campaign_id}/#runs")
    expect(alices_tab.locator(".runs-frame tbody tr")).to_have_count(len(runs))
    return alices_tab


def end(page, run) -> None:
    measure(run, 20_000)
    notify_viewers(run_id=run.pk, campaign_id=run.campaign_id)
    expect(page.locator(".runs-frame")).to_contain_text("Complete")
    rows = page.locator(".runs-frame tbody tr").filter(has_text="Complete")
    expect(rows).to_have_count(run.repeat)


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
