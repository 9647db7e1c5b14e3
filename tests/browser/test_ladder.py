"""What does each layer cost? The ladder of the demo target, ticked, run and read in Chromium.

One repeat shows what the demo target agrees on.
"""

import re

import pytest
from playwright.sync_api import expect

FITS = "document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture
def rest(new_project, site):
    """A project with the demo target and a plan that takes a second a run."""
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
    rest.make_plan("short", total_s=10.0, model="open", rate_per_s=40, requests=40)
    return rest


def test_the_ladder_of_the_demo_target_says_what_each_layer_agreed_on(signed_in, rest):
    page = signed_in
    page.goto(f"/projects/{rest.project}/ladders/new/")
    expect(page.locator("#id_name")).to_have_value("What does each layer cost demo?")
    for box in page.locator("input[name=rungs][value^=kept-], [value=new-tls12]").all():
        box.uncheck()
    page.locator("#id_repeats").fill("1")
    page.locator("#id_pause_s").fill("0")
    expect(page.locator("[data-live=cost]")).to_contain_text("5 × 1")
    assert page.evaluate(FITS)
    page.get_by_role("button", name="Start ladder").click()
    page.wait_for_url(re.compile(r"/campaigns/\d+/$"))
    campaign = int(page.url.rstrip("/").rsplit("/", 1)[1])
    page.goto("about:blank")  # to follow fifteen runs would take more than they do
    rest.wait_for_state(campaign, "done", 300)
    page.goto(f"/campaigns/{campaign}/")

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
    agreed = page.locator(".ladder-tls tbody tr")
    expect(agreed.nth(0)).to_contain_text("TLSv1.3")
    expect(agreed.nth(0)).to_contain_text(re.compile(r"\bX25519\b"))
    expect(agreed.nth(1)).to_contain_text("X25519MLKEM768")
    for resumed in (2, 3):
        expect(agreed.nth(resumed).locator("td").last).not_to_have_text("0")
    rows = rest.get(f"campaigns/{campaign}/tables/")["ladder"][0]["rows"]
    assert [row["values"]["runs"] for row in rows] == [1] * 5
