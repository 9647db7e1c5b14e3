"""A run of an hour, followed in Chromium from its first second to its end: `python -m
benchmarks.followed_hour` starts the web server as `make run` does, opens the run's page, and lets
its seconds arrive many times as fast as they would. The database is the one that the environment
names.

The memory is what is in use after a collection; a task is what keeps the page from answering.
"""

import json
import os
import time
from dataclasses import astuple
from typing import Any

import django

from benchmarks.figures import GoalRow
from benchmarks.opened_pages import HEARD, cookie_of
from benchmarks.watched_end import end_run, served
from local.browsers import find_chromium, launch

HOUR_S, EARLY_S = 3600, 300
AT_ONCE_S, EVERY_S = 5, 0.25
SEEN_WITHIN_MS, SETTLED_MS = 60_000, 2000
MOST_GROWTH, LONGEST_MS = 1.3, 100
# The newest second that a panel of the page has drawn.
_SHOWS = """second => [...document.querySelectorAll("canvas")].some(canvas =>
    (window.Chart?.getChart(canvas)?.data.datasets ?? []).some(
        set => (set.data.at(-1)?.x ?? -1) >= second))"""


def main() -> list[GoalRow]:
    from django.conf import settings
    from django.core.management import call_command
    from django.test import Client
    from django.urls import reverse

    from benchmarks.live_page import Watching, run_under_way

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    run = run_under_way(1, 1, HOUR_S)
    arriving = Watching(run, 1, 1)
    arriving.arrive(AT_ONCE_S)
    client = Client()
    client.force_login(run.campaign.project.memberships.get().user)
    with served() as (port, _), launch(find_chromium()) as browser:
        site = f"http://127.0.0.1:{port}"
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.add_cookies([cookie_of(client, settings.SESSION_COOKIE_NAME, site)])
        context.add_init_script(HEARD)
        page = FollowedPage(context.new_page(), arriving)
        page.open(site + reverse("run-detail", args=[run.pk]))
        seen = {"early": page.follow_until(EARLY_S), "late": page.follow_until(HOUR_S)}
        end_run(run, HOUR_S)
        seen["end"] = page.see_the_end()
    return lines_of(seen)


class FollowedPage:
    """The page of a run whose seconds arrive meanwhile."""

    def __init__(self, page, arriving) -> None:
        self._page, self._arriving, self._reached = page, arriving, AT_ONCE_S
        self._devtools = page.context.new_cdp_session(page)

    def open(self, address: str) -> None:
        self._page.goto(address, wait_until="load")
        self._page.wait_for_function(_SHOWS, arg=0, timeout=SEEN_WITHIN_MS)
        self._read()  # to draw it for the first time is no part of following it

    def follow_until(self, second: int) -> dict[str, float]:
        from campaigns.live.pokes import poke

        while self._reached < second:
            self._reached = min(self._reached + AT_ONCE_S, second)
            self._arriving.arrive(self._reached)
            poke(run_id=self._arriving.run.pk, campaign_id=self._arriving.run.campaign_id)
            time.sleep(EVERY_S)
        self._page.wait_for_function(_SHOWS, arg=second - 1, timeout=SEEN_WITHIN_MS)
        return self._read()

    def see_the_end(self) -> dict[str, float]:
        ended = "() => !document.querySelector('[data-run-progress]')"
        self._page.wait_for_function(ended, timeout=SEEN_WITHIN_MS)
        return self._read()

    def _read(self) -> dict[str, Any]:
        """What has happened since the last reading."""
        self._page.wait_for_timeout(SETTLED_MS)
        tasks = self._page.evaluate("window.longTasks.splice(0)")
        self._devtools.send("HeapProfiler.collectGarbage")
        used = self._devtools.send("Runtime.getHeapUsage")["usedSize"]
        self._page.evaluate("window.longTasks.splice(0)")
        lasted = [lasted for _, lasted in tasks]
        return {
            "heap_mb": used / 1e6,
            "longest_ms": max(lasted, default=0),
            "n_long": sum(each > LONGEST_MS for each in lasted),
        }


def lines_of(seen: dict[str, dict[str, float]]) -> list[GoalRow]:
    """`seen` by "early", "late" and "end": heap_mb, and since the one before longest_ms, and
    n_long, the tasks above LONGEST_MS."""
    early, late, end = (seen[name] for name in ("early", "late", "end"))
    growth = late["heap_mb"] / early["heap_mb"]
    longest = max(each["longest_ms"] for each in (early, late))
    n_long = early["n_long"] + late["n_long"]
    return [
        GoalRow(
            "an hour followed, heap",
            f"{early['heap_mb']:.1f} MB at minute {EARLY_S // 60}, {late['heap_mb']:.1f} at minute "
            f"{HOUR_S // 60} ({growth:.2f} ×), {end['heap_mb']:.1f} after the end",
            f"≤ {MOST_GROWTH:g} ×",
            growth <= MOST_GROWTH,
        ),
        GoalRow(
            "  longest task",
            f"{_task(longest)}, {n_long} above {LONGEST_MS}; at the end {_task(end['longest_ms'])}",
            f"≤ {LONGEST_MS} ms",
            longest <= LONGEST_MS,
        ),
    ]


def _task(longest_ms: float) -> str:
    """A browser tells no shorter ones."""
    return f"{longest_ms:.0f} ms" if longest_ms else "none of 50 ms or more"


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchsite.settings")
    django.setup()
    # Playwright's loop runs in this thread, and the database is asked by the same one.
    os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    for line in main():
        print(json.dumps(astuple(line)), flush=True)
