"""What does each layer cost? The ladder of the demo target, ticked, run and read in Chromium."""

import re

import pytest
from playwright.sync_api import expect

FITS = "document.documentElement.scrollWidth <= innerWidth"
REPEATS = 3


@pytest.fixture
def rest(new_project, site):
    """A project with the demo target and a plan that takes two seconds a run."""
    rest = new_project()
    rest.make_target(
        "demo",
        {"scheme": "http", "host": "127.0.0.1", "port": site.port_of("http")},
        {
            "scheme": "https",
            "host": "127.0.0.1",
            "port": site.port_of("https"),
            "verify_tls": False,
        },
    )
    rest.make_plan("short", model="open", rate_per_s=50, requests=100)
    return rest


def test_the_ladder_of_the_demo_target_says_what_each_layer_costs(signed_in, rest):
    page = signed_in
    page.goto(f"/projects/{rest.project}/ladders/new/")
    expect(page.locator("#id_name")).to_have_value("What does each layer cost demo?")
    for box in page.locator("input[name=rungs][value^=kept-], [value=new-tls12]").all():
        box.uncheck()
    page.locator("#id_repeats").fill(str(REPEATS))
    page.locator("#id_pause_s").fill("0")
    expect(page.locator("[data-live=cost]")).to_contain_text(f"5 × {REPEATS}")
    assert page.evaluate(FITS)
    page.get_by_role("button", name="Start ladder").click()
    page.wait_for_url(re.compile(r"/campaigns/\d+/$"))
    campaign = int(page.url.rstrip("/").rsplit("/", 1)[1])
    rest.wait_for_state(campaign, "done", 300)
    page.reload()

    rungs = page.locator(".ladder .ladder-rung")
    expect(rungs.locator("th > span:first-child")).to_have_text(
        [
            "HTTP/1.1",
            "HTTPS/1.1, TLS 1.3",
            "Hybrid key exchange",
            "Resumed session",
            "HTTP/2",
        ]
    )
    expect(page.locator("[data-live=verdict] .verdict")).to_contain_text("On a new connection")
    agreed = page.locator(".ladder-tls tbody tr")
    expect(agreed.nth(0)).to_contain_text("TLSv1.3")
    expect(agreed.nth(0)).to_contain_text(re.compile(r"\bX25519\b"))
    expect(agreed.nth(1)).to_contain_text("X25519MLKEM768")
    for resumed in (2, 3):
        expect(agreed.nth(resumed).locator("td").last).not_to_have_text("0")

    hybrid = rungs.nth(2)
    interval = hybrid.locator(".ladder-change .second-line").first
    expect(interval).to_have_text(re.compile(r"^[+−]?[\d.]+ to [+−]?[\d.]+$"))
    values = rest.get(f"campaigns/{campaign}/tables/")["ladder"][0]["rows"][2]["values"]
    assert values["before_change_low"] <= values["before_change"] <= values["before_change_high"]
    assert values["runs"] == REPEATS
    expect(page.locator("#ladder-like-title")).to_be_visible()

    page.get_by_role("group", name="Metric").get_by_role("link", name="p50").click()
    expect(page.locator(".ladder thead")).to_contain_text("p50")
    expect(rungs).to_have_count(5)
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(FITS)
