"""`make pictures`: takes the README's screenshots of real pages with measured results.

A throw-away installation runs the sample campaign; Chromium opens each page and rewrites the
pictures in docs/pictures. So the pictures always match the code.
"""

import re
import subprocess
import sys
from pathlib import Path

from local.browsers import ensure_chromium, launch
from local.console import LocalError, step
from local.paths import ROOT
from local.stage import staged

FOLDER = ROOT / "docs" / "pictures"
WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 390, "height": 844}
# The answer page continues with a table per arm; the picture shows only the answer.
ANSWER = "/campaigns/2/"
ANSWER_HEIGHT = 1450
SAMPLE = ["manage.py", "sample", "--wait"]


def take_pictures(folder: Path = FOLDER) -> int:
    """0 if every picture was taken."""
    chromium = ensure_chromium()
    if not chromium:
        raise LocalError(
            "Taking pictures needs Chromium. Install `chromium` and run the command again."
        )
    folder.mkdir(parents=True, exist_ok=True)
    with staged() as site, launch(chromium) as browser:
        context = browser.new_context(base_url=site["url"], viewport=WIDE, color_scheme="light")
        page = context.new_page()
        _sign_in(page, site)
        with step("Running the sample campaign"):
            live = _start_sample(site)
            _shoot_live(page, folder)
            _wait_for(live)
        with step("Running it again, with nobody who watches: a browser disturbs the injector"):
            page.goto("about:blank")
            _wait_for(_start_sample(site))
        with step("Taking the pictures"):
            _shoot_all(page, folder)
            _shoot_other_looks(browser, context, site, folder)
    return 0


def _sign_in(page, site: dict) -> None:
    page.goto("/login/")
    page.fill("[name=username]", site["username"])
    page.fill("[name=password]", site["password"])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/login/" not in url)


def _start_sample(site: dict) -> subprocess.Popen:
    ports = [site[name].rsplit(":", 1)[1] for name in ("demo_http", "demo_https")]
    return subprocess.Popen(
        [sys.executable, *SAMPLE, "--http-port", ports[0], "--https-port", ports[1]],
        cwd=ROOT,
        env=site["env"],
        stdout=subprocess.DEVNULL,
    )


def _wait_for(sample: subprocess.Popen) -> None:
    if sample.wait():
        raise LocalError("The sample campaign failed. Run `make run ONCE=1` to see why.")


def _shoot_live(page, folder: Path) -> None:
    """A running campaign after some runs, with live figures."""
    page.goto("/campaigns/1/")
    while page.title().startswith("Not found"):
        page.wait_for_timeout(500)
        page.goto("/campaigns/1/")
    page.get_by_text(re.compile(r"^[5-9] of 15 runs")).first.wait_for(timeout=120_000)
    page.locator("[data-now-key=p50]").filter(has_text=re.compile(r"\d")).wait_for(timeout=60_000)
    page.wait_for_timeout(1500)
    page.screenshot(path=folder / "campaign-live.png")


def _shoot_all(page, folder: Path) -> None:
    project = _first_project(page)
    _shoot(page, folder, "campaign", ANSWER, height=ANSWER_HEIGHT)
    _shoot(page, folder, "new-campaign", f"{project}campaigns/new/?question=https", is_full=True)
    _shoot(page, folder, "plan", f"{project}plans/new/?preset=over-10", is_full=True)
    _shoot(page, folder, "comparison", "/compare/?a=campaign-1&b=campaign-2", height=ANSWER_HEIGHT)
    page.goto(f"{project}targets/")
    page.locator("main a[href^='/targets/']:not([href$='/new/'])").first.click()
    page.locator("#id_path").fill("/soap")
    page.get_by_role("button", name=re.compile("Try HTTPS")).click()
    page.locator("[data-finished=yes]").wait_for(timeout=20_000)
    _shoot(page, folder, "one-request", page.url, is_full=True)


def _shoot_other_looks(browser, context, site: dict, folder: Path) -> None:
    """The answer in dark mode and on a phone."""
    looks = {
        "run-dark": {"viewport": WIDE, "color_scheme": "dark"},
        "campaign-narrow": {"viewport": NARROW, "color_scheme": "light"},
    }
    run = _first_link_of(context.new_page(), ANSWER, "/runs/")
    addresses = {"run-dark": run, "campaign-narrow": ANSWER}
    for name, look in looks.items():
        other = browser.new_context(
            base_url=site["url"], storage_state=context.storage_state(), **look
        )
        _shoot(other.new_page(), folder, name, addresses[name])
        other.close()


def _shoot(
    page, folder: Path, name: str, address: str, *, is_full: bool = False, height: int = 0
) -> None:
    page.goto(address)
    page.wait_for_load_state("networkidle")
    clip = {"x": 0, "y": 0, "width": WIDE["width"], "height": height} if height else None
    page.screenshot(path=folder / f"{name}.png", full_page=is_full or bool(height), clip=clip)


def _first_project(page) -> str:
    page.goto("/?all=1")
    href = page.locator("main table a[href*='/projects/']").first.get_attribute("href")
    return re.match(r"/projects/\d+/", href).group()


def _first_link_of(page, address: str, start: str) -> str:
    """The target of the page's first link that begins with `start`."""
    page.goto(address)
    return page.locator(f"main a[href^='{start}']").first.get_attribute("href")
