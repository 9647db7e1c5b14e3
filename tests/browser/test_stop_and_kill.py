"""Losing processes in the middle of a run: the page goes on, what was measured stays, and why
the run ended is said.

Each process is killed once only: after that the supervisor has started it anew, with another pid.
"""

import os
import re
import signal

import pytest
from playwright.sync_api import expect

from tests.waiting import eventually

pytestmark = pytest.mark.long


@pytest.fixture
def long_run(site, new_project):
    """A campaign of two runs that nobody waits for; the first one measures when the test begins."""
    rest = new_project()
    (endpoint,) = rest.make_target(
        "demo", {"scheme": "http", "host": "127.0.0.1", "port": site.port_of("http")}
    )
    plan = rest.make_plan("two minutes", model="open", rate_per_s=20, duration_s=120)
    campaign = rest.start("Long", (plan, endpoint), repeats=2)
    yield rest, campaign
    if rest.get(f"campaigns/{campaign}/")["state"] != "done":
        rest.post(f"campaigns/{campaign}/stop/")
    rest.wait_for_state(campaign, "done", 60)


def open_until_it_moves(page, campaign):
    page.goto(f"/campaigns/{campaign}/")
    page.locator("[data-now-key=rate]").filter(has_text=re.compile(r"\d")).wait_for(timeout=30_000)


def test_a_run_outlives_web_and_dispatcher_and_ends_with_its_launcher_which_says_why(
    signed_in, site, long_run
):
    rest, campaign = long_run
    open_until_it_moves(signed_in, campaign)
    first = min(rest.runs(campaign), key=lambda run: run["position"])["id"]
    signed_in.evaluate("window.notReloaded = true")
    for victim in ("web", "dispatcher"):
        os.kill(site.pids[victim], signal.SIGKILL)
        see_it_go_on(signed_in, rest, campaign)
    os.kill(site.pids["launcher"], signal.SIGKILL)
    run = wait_for_end(rest, first, signed_in)
    assert run["outcome"] == "partial"
    assert run["reason"]
    seconds = rest.get(f"runs/{first}/seconds/")["results"]
    assert sum(second["counters"].get("ok", 0) for second in seconds) > 0


def see_it_go_on(page, rest, campaign) -> None:
    """The page stays as it is and goes on by itself when the process is there again."""
    progress = page.locator("[data-progress-words]").first
    eventually(lambda: states_of(rest, campaign), 60, "the site answers")
    for _ in range(2):
        expect(progress).not_to_have_text(progress.inner_text(), timeout=30_000)
    assert page.evaluate("window.notReloaded")
    assert "running" in states_of(rest, campaign)


def wait_for_end(rest, run, page) -> dict:
    """A minute is what the engine promises."""
    for _ in range(120):
        row = rest.get(f"runs/{run}/")
        if row["state"] == "done":
            return row
        page.wait_for_timeout(500)
    raise AssertionError(f"after a minute the run is still {row['state']}")


def states_of(rest, campaign) -> set[str]:
    """Of its runs; none while the site does not answer."""
    try:
        return {run["state"] for run in rest.runs(campaign)}
    except OSError:
        return set()
