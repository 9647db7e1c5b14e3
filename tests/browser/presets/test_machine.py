"""What HTTPS costs, and the study's files at random, beside an agent that was set up from the
target's page: what both cost the server, and what its machine did over all runs."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.browser.conftest import fresh_tab
from tests.browser.presets.reading import (
    PATHS_OF_THE_STEPS,
    Measured,
    check_rows,
    number,
    open_last_run,
    opened_report,
    requests_by_file,
    tables_of,
)
from tests.waiting import eventually

FETCH = "import sys, urllib.request; urllib.request.urlretrieve(sys.argv[1], 'agent.pyz')"
SLOW = "/index.html?delay_ms=3"
COST = "What it costs the server"


def typed(line: str) -> str:
    """The line as somebody types it; curl's part by Python where there is no curl."""
    if shutil.which("curl"):
        return line
    return line.replace("curl -fsSO", f'{sys.executable} -c "{FETCH}"', 1)


@pytest.fixture(scope="module", autouse=True)
def watched(cached, site, administrators_cookies, rest, tmp_path_factory) -> Iterator[None]:
    """The demo target's machine, by an agent that was started with the line of its page."""
    with fresh_tab(cached(site.url), site.url, width=1280) as page:
        page.context.add_cookies(administrators_cookies)
        page.goto(f"/projects/{rest.project}/targets/")
        address = page.get_by_role("link", name="demo", exact=True).get_attribute("href")
        line = line_of_new_agent(page, address)
        with started(line, tmp_path_factory.mktemp("agent")) as said:
            wait_until_heard(page, address, said)
            yield


def line_of_new_agent(page, address: str) -> str:
    page.goto(address)
    page.get_by_role("button", name=re.compile("Add an")).click()
    return page.locator("#agent-line").inner_text()


@contextmanager
def started(line: str, folder: Path) -> Iterator[Path]:
    """The file with what the agent says."""
    said = folder / "said"
    with said.open("w") as stderr:
        agent = subprocess.Popen(
            ["sh", "-c", typed(line)], cwd=folder, start_new_session=True, stderr=stderr
        )
    try:
        yield said
    finally:
        os.killpg(agent.pid, signal.SIGTERM)
        agent.wait(20)


def wait_until_heard(page, address: str, said: Path) -> None:
    """It gives way to everything else, which on busy cores takes its time."""

    def is_heard() -> bool:
        page.goto(address)
        return "since" in page.locator("#agents tbody tr").last.inner_text()

    try:
        eventually(is_heard, 60, "the target's page says that the agent is heard")
    except AssertionError as fault:
        fault.add_note(f"The agent says: {said.read_text()}")
        raise


def with_table(found: Measured, caption: str) -> Measured:
    """The page once the agent's last report is in."""

    def read() -> Measured | None:
        found.page.reload()
        tables = tables_of(found.page)
        is_there = any(name.startswith(caption) for name in tables)
        return Measured(found.page, tables) if is_there else None

    return eventually(read, 60, f"the table {caption}")


def test_what_https_costs_clients_and_the_server_is_read_on_the_campaigns_page(measure):
    plan = {"name": "https, with its machine", "requests": "600", "over_s": "4"}
    found = measure("https", plan, {"repeats": "1"})
    check_overhead(found.table("Overhead of HTTPS"))
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
    assert re.search(r"^TOTAL +600 ", opened_report(run.page, "jmeter"), re.MULTILINE)


def check_overhead(overhead: list[dict[str, str]]) -> None:
    """Both percentages follow from the averages."""
    rows = {row[""]: list(row.values()) for row in overhead if len(row) > 5}
    for metric in ("average", "min", "max"):
        http, https, difference = (number(text) for text in rows[metric][1:4])
        assert http > 0
        assert https > 0
        assert difference == pytest.approx(https - http, abs=0.02 * max(http, https))
    http, https = (number(text) for text in rows["average"][1:3])
    increase, share_of_https = (number(text) for text in rows["average"][6:8])
    assert increase == pytest.approx((https - http) / http * 100, rel=0.05)
    assert share_of_https == pytest.approx((https - http) / https * 100, rel=0.05)


def test_l3_has_a_row_for_each_run_and_its_server_s_machine_is_drawn_over_all_runs(measure):
    n = 600
    plan = {"name": "l3, with its machine", "requests": f"{n}"}
    found = measure("l3", plan | dict.fromkeys(PATHS_OF_THE_STEPS, SLOW), {"repeats": "2"})
    check_rows(found.table("l3, with its machine"), n)
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
    files = requests_by_file(open_last_run(found))
    assert len(files) == 5
    assert sum(files) == n
