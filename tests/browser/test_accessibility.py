"""axe finds nothing on any page, light and dark: every address of the access table."""

import threading

import pytest

from tests.access_table import PAGES
from tests.access_world import make_world
from tests.browser.conftest import ROOT
from tests.browser.installation import sign_in
from tests.browser.test_narrow import NAMES
from tests.test_access import address
from tests.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
# ["select-name: #id_method", …]
VIOLATIONS = """async () => (await axe.run()).violations.flatMap(({ id, nodes }) =>
  nodes.map((node) => `${id}: ${node.target.join(" ")}`))"""


@pytest.fixture
def addresses() -> dict[str, str]:
    world = make_world()
    world.rows["waiting"].delete()
    return {name: address(name, world, PAGES[name]["GET"]) for name in NAMES}


@pytest.fixture
def page(browser, live_server, addresses):
    """A tab of alice, who owns that project."""
    context = browser.new_context(base_url=live_server.url)
    page = context.new_page()
    sign_in(page, "alice", "pw")
    yield page
    context.close()
    eventually(lambda: not _answering(), 30, "the server has nothing left to answer")


def _answering() -> list[str]:
    threads = [thread.name for thread in threading.enumerate()]
    return [name for name in threads if "process_request_thread" in name]


def test_axe_finds_nothing_on_any_page(page, addresses):
    found = []
    for name, where in addresses.items():
        assert page.goto(where).status == 200
        page.evaluate(AXE.read_text())
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found += [f"{name}, {scheme}: {each}" for each in page.evaluate(VIOLATIONS)]
    assert not found, "\n".join(found)
