"""Click a preset of an earlier study, as a person would who has no hours, and read the answer.

Every process runs, and the demo target answers. A test lowers the amount only, in the form; what is
sent must then be exactly as much.
"""

import re

import pytest

from tests.browser.conftest import START
from tests.browser.presets.reading import Measured, tables_of
from tests.browser.rest import Rest

CAMPAIGN_S = 90


@pytest.fixture(scope="session")
def rest(site, new_project) -> Rest:
    """The API, and a project whose one target is the demo target over HTTP, HTTPS and WebSocket."""
    rest = new_project()
    schemes = {"http": "http", "https": "https", "ws": "http"}
    rest.make_target(
        "demo",
        *(
            {"scheme": scheme, "host": "127.0.0.1", "port": site.port_of(port), "verify_tls": False}
            for scheme, port in schemes.items()
        ),
    )
    return rest


@pytest.fixture
def measure(signed_in, rest):
    """Click a preset, change `plan` and `campaign` fields, start, and open the page at its end.

    Until then the tab is elsewhere: to follow a campaign costs more than many a run.
    """

    def click_through(preset: str, plan: dict | None = None, campaign: dict | None = None):
        page = signed_in
        page.goto(f"/projects/{rest.project}/plans/new/")
        choice = page.locator(f".preset-grid a[href='?preset={preset}']")
        if not choice.is_visible():
            page.get_by_text("Published studies").click()
        choice.click()
        page.locator("#id_name").fill(f"{preset}, in the browser")
        fill(page, plan or {})
        page.get_by_role("button", name="Create plan and campaign").click()
        page.wait_for_url(re.compile(r"/campaigns/new/"))
        fill(page, {"pause_s": "0", **(campaign or {})})
        page.get_by_role("button", name=START).click()
        page.wait_for_url(re.compile(r"/campaigns/\d+/$"))
        campaign = int(page.url.rstrip("/").rsplit("/", 1)[1])
        page.goto("about:blank")
        rest.wait_for_state(campaign, "done", CAMPAIGN_S)
        page.goto(f"/campaigns/{campaign}/")
        page.get_by_role("button", name="Run again").wait_for()
        return Measured(page, tables_of(page))

    return click_through


def fill(page, values: dict[str, str]) -> None:
    for name, value in values.items():
        field = page.locator(f"#id_{name}")
        if not field.is_visible():
            page.get_by_text("More steps and their order").click()
        field.fill(value)
