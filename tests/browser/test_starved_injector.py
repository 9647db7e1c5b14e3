"""An injector that gets no CPU is doubted on every page, and its target is not blamed for it.

The injector's process is stopped again and again, as a machine without CPU time would hold it.
"""

import os
import signal
import time

import pytest
from playwright.sync_api import expect

from tests.process_tree import command_of, descendants
from tests.waiting import eventually

N_STOPS = 6
STOPPED_S = 0.3
BETWEEN_S = 0.7
NOT_JUDGED = "While the injector is in doubt, the target is not judged."


@pytest.fixture
def starved_run(site, new_project):
    """The rest of the API and the only run of a campaign, whose injector stood still for a third of
    the time that it measured."""
    rest = new_project()
    (endpoint,) = rest.make_target(
        "demo", {"scheme": "http", "host": "127.0.0.1", "port": site.port_of("http")}
    )
    plan = rest.make_plan("Steady", total_s=10.0, model="open", rate_per_s=50, duration_s=8)
    number = rest.start("Starved", (plan, endpoint))
    rest.wait_for_state(number, "running", 60)
    (injector,) = eventually(injectors_of_this_installation, 10, "an injector runs")
    for _ in range(N_STOPS):
        os.kill(injector, signal.SIGSTOP)
        time.sleep(STOPPED_S)
        os.kill(injector, signal.SIGCONT)
        time.sleep(BETWEEN_S)
    (run,) = rest.wait_for_state(number, "done", 60)
    return rest, run


def injectors_of_this_installation() -> list[int]:
    """By the tests' own process: another test may have killed the launcher that it began with."""
    started = descendants(os.getpid())
    return [pid for pid in started if command_of(pid).endswith("-m workers.injector ")]


def test_the_pages_doubt_the_injector_and_do_not_blame_the_target(starved_run, signed_in):
    rest, run = starved_run
    measurement, target = run["judgement"]["measurement"], run["judgement"]["target"]
    assert measurement["state"] == "doubtful"
    assert {"own_time_p99", "lateness_p99"} & {why["code"] for why in measurement["reasons"]}
    assert target["state"] is None
    assert [why["text"] for why in target["reasons"]] == [NOT_JUDGED]
    for address in (f"/runs/{run['id']}/", f"/campaigns/{run['campaign']}/"):
        signed_in.goto(address)
        verdict = signed_in.locator("[data-live=verdict]")
        expect(verdict).to_contain_text(measurement["reasons"][0]["text"])
        expect(verdict).not_to_contain_text("The target was")
        assert "doubtful" in signed_in.locator(".badge").first.inner_text()
    signed_in.goto(f"/runs/{run['id']}/")
    expect(signed_in.get_by_text(NOT_JUDGED, exact=True)).to_be_visible()
    signed_in.goto(f"/projects/{rest.project}/runs/?measurement=doubtful")
    expect(signed_in.locator("tbody tr")).to_have_count(1)
