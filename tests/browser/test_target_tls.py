"""TLS profiles on the pages: an origin listed twice, and told apart in a campaign's grid."""

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.installation import enter
from tests.factories import make_endpoint, make_plan, make_target

pytestmark = pytest.mark.django_db(transaction=True)
FITS = "document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture
def tab(served_tab, project):
    enter(served_tab, "alice")
    return served_tab


def fits(tab) -> bool:
    """On a screen and on a phone, without sideways scrolling."""
    wide = []
    for width in (390, 1440):
        tab.set_viewport_size({"width": width, "height": 900})
        wide.append(tab.evaluate(FITS))
    return all(wide)


def test_an_origin_is_added_once_more_with_another_profile(tab, project):
    target = make_target(project, "shop")
    make_endpoint(target, "https")
    make_plan(project, "prices")
    tab.goto(reverse("target-edit", args=[target.pk]))
    tab.get_by_role("button", name="Add an endpoint").click()
    row = tab.locator("[data-rows=endpoint] [data-row]").last
    row.get_by_label("Scheme").select_option("https")
    row.get_by_label("Host").fill("127.0.0.1")
    row.get_by_label("Port").fill("8444")
    row.get_by_text("TLS", exact=True).click()
    row.locator("[name=tls_profile]").select_option(label="Without post-quantum")
    row.get_by_label("Key exchange groups").fill("x25519 P-256")
    assert fits(tab)
    tab.get_by_role("button", name="Save target").click()

    expect(tab.locator(".facts").first).to_contain_text("profile “Without post-quantum”")
    expect(tab.locator(".facts").first).to_contain_text("groups X25519:P-256")
    assert target.endpoints.count() == 2
    assert fits(tab)

    tab.goto(reverse("campaign-new", args=[project.pk]))
    heads = tab.locator("[data-grid] thead th.group-start .second-line")
    expect(heads.filter(has_text="without post-quantum")).to_have_count(1)
    assert fits(tab)
