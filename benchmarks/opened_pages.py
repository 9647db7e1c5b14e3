"""The largest finished pages in Chromium: `python -m benchmarks.opened_pages` starts the web server
as `make run` does, and opens each page with an empty cache. The database is the one that the
environment names, and is empty. With `--round-trip-ms 20` Chromium lets each answer begin so much
later, as over a network.

"Interactive" is when the page has loaded and the last task above 50 ms has ended.
"""

import argparse
import json
import os
from collections.abc import Iterator
from dataclasses import astuple
from statistics import median
from typing import Any

import django

from benchmarks.figures import GoalRow
from benchmarks.largest_run import largest_run
from benchmarks.watched_end import served
from local.browsers import find_chromium, launch

CALLS = 5
QUIET_MS = 500  # without another long task, it was the last one
HEARD = """
    window.longTasks = [];
    new PerformanceObserver(list => list.getEntries().forEach(
        each => window.longTasks.push([each.startTime, each.duration])
    )).observe({type: "longtask", buffered: true});
"""
_SEEN = """() => {
    const page = performance.getEntriesByType("navigation")[0];
    const files = performance.getEntriesByType("resource");
    const sent = [page, ...files].reduce((sum, each) => sum + each.transferSize, 0);
    return {
        loaded_ms: page.loadEventEnd, page_b: page.transferSize, sent_b: sent,
        n_requests: files.length + 1, tasks: window.longTasks,
        n_nodes: document.getElementsByTagName("*").length,
    };
}"""
# Name, and the goal in seconds.
PAGES = {"run of an hour": 1.0, "campaign of 200 runs": 1.2, "run of 10⁹ requests": 1.0}


def main(round_trip_ms: float = 0) -> Iterator[GoalRow]:
    from django.conf import settings
    from django.core.management import call_command
    from django.test import Client

    from tests.factories import make_user

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    owner, client = make_user("viewer"), Client()
    client.force_login(owner)
    addresses = _addresses(owner)
    with served() as (port, _), launch(find_chromium()) as browser:
        site = f"http://127.0.0.1:{port}"
        cookie = cookie_of(client, settings.SESSION_COOKIE_NAME, site)
        for page, address in addresses.items():
            seen = [
                _opened(browser, cookie, site + address, round_trip_ms) for _ in range(CALLS + 1)
            ]
            yield from lines_of(page, PAGES[page], seen[0], seen[1:])


def cookie_of(client, name: str, site: str) -> dict[str, str]:
    """The session of a Django test client, for Chromium."""
    return {"name": name, "value": client.cookies[name].value, "url": site}


def _addresses(owner) -> dict[str, str]:
    from django.urls import reverse

    from benchmarks import page_scenes as scenes
    from tests.factories import make_project

    short = scenes.sample_runs(owner, 10, 12, 0.05)
    (hour,) = scenes.sample_runs(owner, 3600, 1, 0)
    run = scenes.finished_run(make_project(owner=owner), hour)
    (campaign,) = scenes.campaigns_of_many_runs(make_project(owner=owner), short, 1, 10, 20)
    largest = largest_run(owner)
    found = (("run-detail", run), ("campaign-detail", campaign), ("run-detail", largest))
    return dict(zip(PAGES, (reverse(name, args=[row.pk]) for name, row in found), strict=True))


def _opened(browser, cookie: dict[str, str], address: str, round_trip_ms: float) -> dict[str, Any]:
    """With nothing in the cache."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_cookies([cookie])
    context.add_init_script(HEARD)
    page = context.new_page()
    if round_trip_ms:
        _put_far(page, round_trip_ms)
    page.goto(address, wait_until="load")
    n_tasks = -1
    while n_tasks != (n_tasks := len(page.evaluate("window.longTasks"))):
        page.wait_for_timeout(QUIET_MS)
    seen = page.evaluate(_SEEN)
    context.close()
    ends = [start + lasted for start, lasted in seen["tasks"]]
    seen["interactive_ms"] = max([seen["loaded_ms"], *ends])
    seen["longest_ms"] = max((lasted for _, lasted in seen["tasks"]), default=0)
    return seen


def _put_far(page, round_trip_ms: float) -> None:
    network = {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
    session = page.context.new_cdp_session(page)
    session.send("Network.emulateNetworkConditions", network | {"latency": round_trip_ms})


def lines_of(
    name: str, goal_s: float, first: dict[str, Any], later: list[dict[str, Any]]
) -> Iterator[GoalRow]:
    """`first` includes that the server makes the page; `later` that it has kept it."""
    middle_ms = median(each["interactive_ms"] for each in later)
    longest_ms = median(each["longest_ms"] for each in later)
    said = f"{middle_ms / 1e3:.2f} s, first {first['interactive_ms'] / 1e3:.2f} s"
    yield GoalRow(f"{name}, interactive", said, f"≤ {goal_s:g} s, warm", middle_ms <= 1e3 * goal_s)
    said = f"{longest_ms:.0f} ms (0: none of 50 or more); {first['n_nodes']:,} nodes"
    yield GoalRow("  longest task", said)
    page_kb, n_files = first["page_b"] / 1e3, first["n_requests"] - 1
    said = f"{page_kb:.0f} kB; with {n_files} files {first['sent_b'] / 1e3:.0f} kB"
    yield GoalRow("  transferred", said, "page ≤ 150 kB", page_kb <= 150)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")
    django.setup()
    # Playwright's loop runs in this thread, and the database is asked by the same one.
    os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.opened_pages")
    parser.add_argument("--round-trip-ms", type=float, default=0, metavar="MS")
    for line in main(parser.parse_args().round_trip_ms):
        print(json.dumps(astuple(line)), flush=True)
