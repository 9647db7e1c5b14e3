"""A real Chromium and a whole installation of its own for it: every process, nothing mocked.

`site` (once a session) knows the address, the demo target's ports and the administrator; `page` is
a fresh browser tab. Every test in this folder is marked `browser`.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from local.browsers import find_chromium, launch
from local.stage import staged

ROOT = Path(__file__).resolve().parent.parent.parent
ACTION_TIMEOUT_MS = 10_000


@dataclass(frozen=True)
class SiteFacts:
    """`pids` by process name; `arrivals` is the demo target's own log, a JSON line a request;
    `env` lets a test call manage.py on this installation."""

    url: str
    demo_http: str
    demo_https: str
    username: str
    password: str
    pids: dict[str, int]
    log_dir: str
    arrivals: str
    env: dict[str, str]

    def port_of(self, scheme: str) -> int:
        address = self.demo_https if scheme == "https" else self.demo_http
        return int(address.rsplit(":", 1)[1])


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """A failed test leaves a picture of what its tab showed, and says where."""
    report = (yield).get_result()
    page = getattr(item, "funcargs", {}).get("page")
    if report.when == "call" and report.failed and page is not None:
        picture = ROOT / "var" / "browser" / f"{item.name}.png"
        page.screenshot(path=picture, full_page=True)
        report.sections.append(("What the tab showed", f"{page.url}\n{picture}"))
        for log in sorted(Path(item.funcargs["site"].log_dir).glob("*.log")):
            report.sections.append((f"End of {log.name}", "\n".join(_last_lines(log))))


def _last_lines(log: Path, count: int = 30) -> list[str]:
    return log.read_text(errors="replace").splitlines()[-count:]


@pytest.fixture(scope="session")
def chromium() -> str:
    found = find_chromium()
    if not found:
        pytest.skip("There is no Chromium on PATH; `make test` as root installs one.")
    return found


@pytest.fixture(scope="session")
def site(chromium):
    """The installation: migrated database, web, launcher, dispatcher, beat, demo target."""
    with staged() as facts:
        yield SiteFacts(**facts)


@pytest.fixture(scope="session")
def browser(chromium):
    # Playwright's loop runs in this thread, where Django would refuse to touch the database.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with launch(chromium) as browser:
        yield browser


@pytest.fixture
def page(browser, site):
    """A tab without cookies; links may be given without the site's address."""
    context = browser.new_context(base_url=site.url, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(ACTION_TIMEOUT_MS)
    yield context.new_page()
    context.close()


@pytest.fixture
def signed_in(page, site):
    """The same tab with the administrator signed in."""
    page.goto("/login/")
    page.fill("input[name=username]", site.username)
    page.fill("input[name=password]", site.password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/login/" not in url)
    return page
