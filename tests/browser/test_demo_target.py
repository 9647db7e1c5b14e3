"""Campaigns on real servers as a reader sees them: from N over T, exactly, to why it failed."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

PATH = "/arrivals"
# How far from its due time the target may see a request on a busy two-core machine. A schedule
# that is off by one request is off by 100 ms.
LIMIT_S = 0.05


@pytest.fixture(scope="module")
def arrivals_and_seconds(site, new_project):
    rest = new_project()
    (endpoint,) = rest.make_target(
        "demo", {"scheme": "http", "host": "127.0.0.1", "port": site.port_of("http")}
    )
    plan = rest.make_plan("50 over 5 s", PATH, model="over", requests=50, over_s=5)
    campaign = rest.start("50 over 5 s", (plan, endpoint))
    (run,) = rest.wait_for_state(campaign, "done", 60)
    lines = [json.loads(line) for line in Path(site.arrivals).read_text().splitlines()]
    arrivals = [line for line in lines if line["path"] == PATH]
    return arrivals, rest.get(f"runs/{run['id']}/seconds/?page_size=500")["results"]


def test_fifty_over_five_seconds_start_every_tenth_of_a_second(arrivals_and_seconds):
    arrivals, _ = arrivals_and_seconds
    first_ns = arrivals[0]["monotonic_ns"]
    after_s = sorted((line["monotonic_ns"] - first_ns) / 1e9 for line in arrivals)
    late = [(number, at) for number, at in enumerate(after_s) if abs(at - number / 10) > LIMIT_S]
    assert len(after_s) == 50
    assert after_s[-1] == pytest.approx(4.9, abs=LIMIT_S)
    # One may have waited for a CPU; a wrong schedule would move them all.
    assert len(late) <= 1, late


def test_the_database_counts_what_the_target_counted(arrivals_and_seconds):
    arrivals, seconds = arrivals_and_seconds
    counted = {
        name: sum(row["counters"].get(name, 0) for row in seconds) for name in ("started", "ok")
    }
    assert counted == {"started": len(arrivals), "ok": len(arrivals)}
    assert len({line["connection"] for line in arrivals}) == 50


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
        ["HTTP/1.1", "HTTPS/1.1, TLS 1.3", "Hybrid key exchange", "Resumed session", "HTTP/2"]
    )
    agreed = page.locator(".ladder-tls tbody tr")
    expect(agreed.nth(0)).to_contain_text("TLSv1.3")
    expect(agreed.nth(0)).to_contain_text(re.compile(r"\bX25519\b"))
    expect(agreed.nth(1)).to_contain_text("X25519MLKEM768")
    for resumed in (2, 3):
        expect(agreed.nth(resumed).locator("td").last).not_to_have_text("0")
    rows = rest.get(f"campaigns/{campaign}/tables/")["ladder"][0]["rows"]
    assert [row["values"]["runs"] for row in rows] == [1] * 5


END_MS = 60_000


def test_the_end_of_a_campaign_replaces_what_was_under_way(signed_in, site, new_project):
    rest = new_project()
    (endpoint,) = rest.make_target(
        "demo", {"scheme": "http", "host": "127.0.0.1", "port": site.port_of("http")}
    )
    plan = rest.make_plan("short", model="over", requests=40, over_s=2)
    page = signed_in
    campaign = rest.start("watched", (plan, endpoint), repeats=2)
    page.goto(f"/campaigns/{campaign}/")
    under_way = page.get_by_role("heading", name="Current run")
    under_way.wait_for(timeout=END_MS)
    page.get_by_role("button", name="Run again").wait_for(timeout=END_MS)
    under_way.wait_for(state="hidden")
    assert not page.locator("[data-progress]").count()
    assert not page.get_by_role("button", name="Stop campaign").count()
    watched = said(page)
    page.reload()
    assert watched == said(page)


def said(page) -> list[str]:
    """What a reader sees, line by line; charts are pictures."""
    return [line for line in page.locator("main").inner_text().splitlines() if line.strip()]
