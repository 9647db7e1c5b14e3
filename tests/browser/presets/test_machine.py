"""The agent, set up from the target's page, and what it tells: what HTTPS costs the server, and
what the server's machine did over all runs of the study's file sets."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.browser.presets.reading import Measured, number, open_last_run, tables_of
from tests.waiting import eventually

FETCH = "import sys, urllib.request; urllib.request.urlretrieve(sys.argv[1], 'agent.pyz')"
SLOW = "/index.html?delay_ms=3"
COST = "What it costs the server"


def typed(line: str) -> str:
    """The line as somebody types it; curl's part by Python where there is no curl."""
    if shutil.which("curl"):
        return line
    return line.replace("curl -fsSO", f'{sys.executable} -c "{FETCH}"', 1)


@pytest.fixture
def watched(signed_in, project, tmp_path) -> Iterator[None]:
    """The demo target's machine, by an agent that was started with the line of its page."""
    page = signed_in
    page.goto(f"/projects/{project}/targets/")
    page.get_by_role("link", name="demo", exact=True).click()
    page.get_by_role("button", name=re.compile("Add an")).click()
    line = page.locator("#agent-line").inner_text()
    command = ["sh", "-c", typed(line)]
    agent = subprocess.Popen(
        command, cwd=tmp_path, start_new_session=True, stderr=subprocess.DEVNULL
    )
    address = page.url.split("agents/")[0]

    def is_heard() -> bool:
        page.goto(address)
        return "since" in page.locator("#agents tbody tr").last.inner_text()

    eventually(is_heard, 20, "the target's page says that the agent is heard")
    yield
    os.killpg(agent.pid, signal.SIGTERM)
    agent.wait(20)


def with_table(found: Measured, caption: str) -> Measured:
    """The page once the agent's last report is in."""

    def read() -> Measured | None:
        found.page.reload()
        tables = tables_of(found.page)
        is_there = any(name.startswith(caption) for name in tables)
        return Measured(found.page, tables) if is_there else None

    return eventually(read, 20, f"the table {caption}")


def test_what_https_costs_the_server_is_read_on_the_campaigns_page(watched, measure):
    plan = {"name": "https, with its machine", "requests": "600", "over_s": "4"}
    found = measure("https", plan, {"repeats": "1"})
    (row,) = with_table(found, COST).table(COST)
    http, https, difference = (number(row[name]) for name in ("HTTP", "HTTPS", "difference"))
    assert 0 < http < https
    assert difference == pytest.approx(https - http, abs=0.02 * https)
    run = open_last_run(found)
    for panel in ("cpu", "processes", "memory", "network"):
        run.page.locator(f"[data-panel=machine-{panel}]").wait_for(state="visible")
    (machine,) = (rows for name, rows in run.tables.items() if name.startswith("Target's machine"))
    figures = {row[""]: row["mean"] for row in machine}
    assert number(figures["CPU seconds per 1,000 requests, chosen processes"]) > 0
    assert number(figures["loopback, MB/s"]) > 0


def test_the_study_s_pictures_of_the_server_s_machine_are_drawn_over_all_runs(watched, measure):
    slow = dict.fromkeys(("path", "step2_path", "step3_path", "step4_path", "step5_path"), SLOW)
    plan = {"name": "l3, with its machine", "requests": "600"}
    found = measure("l3", plan | slow, {"repeats": "2"})
    found.page.reload()
    section = found.page.locator("section[aria-labelledby=machine-runs-title]")
    for title in ("CPU", "Memory", "Network"):
        drawing = section.locator("figure", has_text=title)
        assert drawing.locator("rect.m-band").count() == 2
        assert "H" in drawing.locator("path.m-line").first.get_attribute("d")
    with_table(found, "Means of every run")
    section.locator("summary").click()
    means = Measured(found.page, tables_of(found.page)).table("Means of every run")
    assert [row[""] for row in means] == ["run 1", "run 2"]
    for row in means:
        assert 0 < number(row["chosen processes"]) <= number(row["CPU"]) <= 100
