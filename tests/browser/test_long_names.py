"""A name of one long word breaks on a phone; the page does not scroll sideways."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from tests.browser.installation import enter
from tests.factories import make_campaign, make_endpoint, make_run, make_target, make_test
from tests.queries.measured import https_campaign, run_in_blocks

pytestmark = pytest.mark.django_db(transaction=True)
NAME = "checkout" * 12
FITS = "document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture
def phone(served_tab, alice):
    """A tab of alice, who owns the project."""
    enter(served_tab, "alice")
    served_tab.set_viewport_size({"width": 390, "height": 844})
    return served_tab


def test_of_a_campaign_that_goes_on(phone, project):
    make_run(make_test(make_campaign(project, NAME, started_at=timezone.now())))
    phone.goto(f"/projects/{project.pk}/campaigns/")
    expect(phone.locator(".going")).to_contain_text(NAME)
    assert phone.evaluate(FITS)


def test_in_what_was_just_done(phone, project):
    campaign = make_campaign(project, "Short")
    phone.goto(f"/campaigns/{campaign.pk}/rename/")
    phone.get_by_label("Name", exact=True).fill(NAME)
    phone.get_by_role("button", name="Save").click()
    expect(phone.locator(".message")).to_contain_text(NAME)
    assert phone.evaluate(FITS)


def test_of_a_host_that_one_request_goes_to(phone, project):
    target = make_target(project)
    make_endpoint(target, host=f"{NAME[:60]}.example")
    phone.goto(f"/targets/{target.pk}/")
    expect(phone.get_by_role("button", name="Try HTTP")).to_contain_text(NAME[:60])
    assert phone.evaluate(FITS)


def test_of_a_plan_beside_what_it_costs(phone, project):
    now = timezone.now()
    campaign, tests = https_campaign(project, started_at=now, finished_at=now)
    run_in_blocks(tests, [[10_000.0] * 3, [13_000.0] * 3])
    plan = tests[0].plan_version.plan
    plan.name = NAME
    plan.save()
    phone.goto(f"/campaigns/{campaign.pk}/")
    frame = phone.locator(".table-frame", has=phone.locator("table.forest"))
    expect(frame).to_contain_text(NAME)
    assert frame.evaluate("(frame) => frame.scrollWidth <= frame.clientWidth")


@pytest.mark.parametrize("width", [720, 899, 900])
def test_names_that_are_not_long_are_whole_in_the_bar_at_200_percent(phone, project, width):
    phone.set_viewport_size({"width": width, "height": 450})
    phone.goto(f"/projects/{project.pk}/targets/")
    names = phone.locator(".top-name").all()
    assert len(names) == 2
    for name in names:
        assert name.evaluate("(name) => name.scrollWidth <= name.clientWidth")
