"""Which server is fastest at which file set? The study of several servers, as a user makes it.

`python -m benchmarks.file_set_study` starts an installation that it throws away, nginx, Apache and
the bundled target with the same files, fills in the study by its preset in Chromium, runs all of
it, and prints the sentence, the matrix and the mean row of every test. `--far` adds R1 to R3 over a
link of its own, which needs root; `--repeats 1` is a short version without intervals.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.staged_rest import rest_of
from benchmarks.study_servers import ALLOWED, study_servers
from local.browsers import find_chromium, launch
from local.console import LocalError, fail
from local.stage import staged
from tests.browser.rest import Rest

LONGEST_S = 3600.0
_TRIES = 3
_ASK_EVERY_S = 5.0  # more often would disturb what is measured


def main() -> int:
    asked = _asked()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whatever ends it, it cleans up
    try:
        if not (chromium := find_chromium()):
            raise LocalError("The study is filled in by Chromium; `make test` as root installs it.")
        with (
            tempfile.TemporaryDirectory() as folder,
            study_servers(Path(folder), far=asked.far) as servers,
            staged(BENCHSITE_ALLOWED_NETWORKS=ALLOWED) as site,
            launch(chromium) as browser,
        ):
            _study(asked, servers, site, browser.new_page(base_url=site["url"]))
    except LocalError as error:
        return fail(str(error))
    return 0


def _study(
    asked: argparse.Namespace,
    servers: Mapping[str, Sequence[tuple[str, int]]],
    site: Mapping[str, Any],
    page: Any,
) -> None:
    rest = rest_of(site, "File sets")
    for name, places in servers.items():
        ends = [{"scheme": "http", "host": host, "port": port} for host, port in places]
        rest.make_target(name, *ends)
    campaign = _started(page, site, rest.project, asked.repeats)
    page.goto("about:blank")  # a browser that follows the runs disturbs them
    _wait_for_its_end(rest, campaign)
    print("\n".join(report(rest.get(f"campaigns/{campaign}/tables/"))))
    if asked.picture:
        page.goto(f"/campaigns/{campaign}/")
        page.screenshot(path=asked.picture, full_page=True)


def _wait_for_its_end(rest: Rest, campaign: int) -> None:
    """Where a first request fails, it is sent again, as its page offers."""
    until, tries = time.monotonic() + LONGEST_S, 0
    while (found := rest.get(f"campaigns/{campaign}/"))["state"] != "done":
        if found["held_at"] and tries == _TRIES:
            raise LocalError("A first request failed again and again; is the machine too busy?")
        if found["held_at"]:
            tries += 1
            rest.post(f"campaigns/{campaign}/try-again/")
        if time.monotonic() > until:
            raise LocalError(f"The study had not ended after {LONGEST_S:g} s.")
        time.sleep(_ASK_EVERY_S)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.file_set_study")
    parser.add_argument("--far", action="store_true", help="also R1 to R3, in a network namespace")
    parser.add_argument("--repeats", type=int, metavar="N", help="instead of the study's five")
    parser.add_argument("--picture", metavar="FILE", help="of the campaign's page at its end")
    return parser.parse_args()


def _started(page: Any, site: Mapping[str, Any], project: int, repeats: int | None) -> int:
    """Signs in, fills in the study by its button and starts it; the campaign's number."""
    page.goto("/login/")
    page.fill("input[name=username]", site["username"])
    page.fill("input[name=password]", site["password"])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/login/" not in url)
    page.goto(f"/projects/{project}/campaigns/new/")
    page.locator("#study > summary").click()
    page.get_by_role("button", name="Fill in the study").first.click()
    page.wait_for_url("**edit=*")
    if repeats:
        page.locator("input[name=repeats]").fill(str(repeats))
    page.get_by_role("button", name="Start campaign").click()
    page.wait_for_url(lambda url: url.rstrip("/").rpartition("/")[2].isdigit())
    return int(page.url.rstrip("/").rpartition("/")[2])


def report(tables: Mapping[str, Any]) -> Iterator[str]:
    """Of a campaign's tables: its sentence, the matrix, and each test's row of means."""
    yield tables["sentence"]
    for row in tables["matrix"]["rows"]:
        yield _line(row["label"], row["values"])
    for test in tables["tests"]:
        means = [row for row in test["table"]["rows"] if row["label"].startswith("Mean")]
        for row in means:
            yield _line(f"{test['table']['title']}, {row['label']}", row["values"])


def _line(label: str, values: Mapping[str, Any] | Sequence[Any]) -> str:
    return f"  {label}: {values}"


if __name__ == "__main__":
    sys.exit(main())
