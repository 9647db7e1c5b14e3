"""A real Chromium and a whole installation of its own for it: every process, nothing mocked.

`site` (once a session) knows the address, the demo target's ports and the administrator; `page` is
a fresh browser tab, `signed_in` one of the administrator; `new_project` makes a project. Every test
in this folder is marked `browser`.
"""

import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http import HTTPStatus
from pathlib import Path
from zlib import crc32

import pytest
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.servers.basehttp import ServerHandler
from xdist.scheduler import LoadFileScheduling

from local.testing import find_chromium
from tests.browser.console import console
from tests.browser.installation import SiteFacts, enter, sign_in
from tests.browser.rest import Rest
from tests.staged_site import staged
from tests.waiting import eventually

ROOT = Path(__file__).resolve().parent.parent.parent
INSTALLATIONS = max(1, (os.cpu_count() or 1) // 2)
# No outside connections, and nothing that a headless machine lacks.
FLAGS = [
    *("--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
]
# What starts a campaign; beside other programs it has the other name.
START = re.compile("^Start (campaign|now)$")
# Only what fails waits so long: on a busy machine a page may well take ten seconds.
ACTION_TIMEOUT_MS = 30_000
# Two Chromiums and the target share two cores with the injector, which is no matter here.
NEVER_BUSY = {
    "own_time": [400, None],
    "own_time_p99": [3_000, None],
    "late": [3_000, None],
    "steal": [0.05, None],
}
MAKE_PROJECTS = """
from django.contrib.auth.models import User
from campaigns.core.permissions import Actor
from campaigns.projects.services import create_project
from campaigns.accounts.tokens import create_token
admin = Actor(user=User.objects.get(username={username!r}))
print(create_token(by=admin, name="test", scope="write", days=1)[1])
for number in range(20):
    print(create_project(by=admin, name=f"Browser {{number}}").pk)
"""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return FewInstallations(config, log) if config.getvalue("dist") == "loadfile" else None


class FewInstallations(LoadFileScheduling):
    """Any worker gets a file whose tests serve their pages themselves. All others go to one worker
    for two cores: an installation takes 20 s of processor time to start, and more to idle.
    """

    def _split_scope(self, nodeid: str) -> str:
        return _scope_of(super()._split_scope(nodeid))


@cache
def _scope_of(file: str) -> str:
    if "served_tab" in (ROOT / file).read_text():
        return file
    return f"installation {crc32(file.encode()) % INSTALLATIONS}"


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
        report.sections.append(("What the tab showed", f"{page.url}\n{_picture_of(page, item)}"))
        site = item.funcargs.get("site")
        for log in sorted(Path(site.log_dir).glob("*.log")) if site else ():
            report.sections.append((f"End of {log.name}", "\n".join(_last_lines(log))))


def _picture_of(page, item) -> Path | str:
    """Where it is, or why there is none: an error here would end the whole worker."""
    from playwright.sync_api import Error

    picture = ROOT / "var" / "browser" / f"{item.name}.png"
    try:
        page.screenshot(path=picture, full_page=True)
    except Error as error:
        return f"no picture: {error}"
    return picture


def _last_lines(log: Path, count: int = 30) -> list[str]:
    return log.read_text(errors="replace").splitlines()[-count:]


@pytest.fixture(scope="session")
def chromium() -> str:
    path = find_chromium()
    if not path:
        pytest.skip("There is no Chromium on PATH; `make test` as root installs one.")
    return path


@pytest.fixture(scope="session")
def site(chromium):
    """The installation: migrated database, web, launcher, dispatcher, demo target."""
    with (
        staged(f"BENCHSITE_JUDGEMENT_LIMITS={json.dumps(NEVER_BUSY)}") as (_, facts),
        console(facts["env"]) as run,
    ):
        yield SiteFacts(**facts, run=run)


@pytest.fixture(scope="session")
def browser(chromium):
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=ACTION_TIMEOUT_MS)
    # Playwright's loop runs in this thread, where Django would refuse to touch the database.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    # Chromium's sandbox does not work as root.
    flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def context_at(browser) -> Iterator[Callable]:
    """By address a browser context, which has loaded our scripts and styles before: to load them
    anew would take most of a short test."""
    contexts = {}

    def context_of(url: str):
        if url not in contexts:
            contexts[url] = browser.new_context(base_url=url)
            contexts[url].set_default_timeout(ACTION_TIMEOUT_MS)
        return contexts[url]

    yield context_of
    for context in contexts.values():
        context.close()


@contextmanager
def fresh_tab(context, url: str, width: int) -> Iterator:
    """A tab that knows nothing of the tests before it: neither cookies nor what pages stored."""
    tab = context.new_page()
    context.clear_cookies()
    what = {"origin": url, "storageTypes": "local_storage"}
    context.new_cdp_session(tab).send("Storage.clearDataForOrigin", what)
    tab.set_viewport_size({"width": width, "height": 900})
    yield tab
    for each in context.pages:
        each.close()


@pytest.fixture
def page(context_at, site):
    """A tab without cookies; links may be given without the site's address."""
    with fresh_tab(context_at(site.url), site.url, width=1280) as tab:
        yield tab


@pytest.fixture
def served_tab(context_at, live_server, monkeypatch):
    """A tab on a server in this process, with the test's own rows and no other processes. Its
    streams end with it, before the database does."""
    monkeypatch.setattr("campaigns.live.hub.BEAT_EVERY_S", 0.2)
    monkeypatch.setattr(ServerHandler, "cleanup_headers", close_after_answer)
    monkeypatch.setattr(StaticFilesHandler, "get_response", kept_file)
    with fresh_tab(context_at(live_server.url), live_server.url, width=1440) as tab:
        yield tab
    eventually(lambda: not _answering(), 30, "the server has nothing left to answer")


@pytest.fixture
def alices_tab(served_tab, alice):
    """A tab of alice, who owns the project."""
    enter(served_tab, "alice")
    return served_tab


def close_after_answer(handler, cleanup_headers=ServerHandler.cleanup_headers) -> None:
    """A connection that waits for another request would look like one that is being answered."""
    cleanup_headers(handler)
    handler.headers["Connection"] = "close"
    handler.request_handler.close_connection = True


def kept_file(handler, request, get_response=StaticFilesHandler.get_response):
    """A browser told nothing keeps a file for a tenth of its age, and asks again for all of them
    after seconds in a new clone. None of them changes while tests run."""
    answer = get_response(handler, request)
    if answer.status_code == HTTPStatus.OK:
        answer["Cache-Control"] = "max-age=86400"
    return answer


def _answering() -> list[str]:
    threads = [thread.name for thread in threading.enumerate()]
    return [name for name in threads if "process_request_thread" in name]


@pytest.fixture(scope="session")
def administrators_cookies(browser, site):
    context = browser.new_context(base_url=site.url)
    sign_in(context.new_page(), site.username, site.password)
    cookies = context.cookies()
    context.close()
    return cookies


@pytest.fixture
def signed_in(page, administrators_cookies):
    """The same tab with the administrator signed in, at no page yet."""
    page.context.add_cookies(administrators_cookies)
    return page


@pytest.fixture(scope="session")
def new_project(site) -> Callable[[], Rest]:
    """Each call is the REST API with a token of the administrator, and a project of its own."""
    token, *numbers = site.run(MAKE_PROJECTS.format(username=site.username)).split()
    projects = iter(numbers)
    return lambda: Rest(site.url, token, int(next(projects)))
