"""axe finds nothing on any page, light and dark: every address of the access table."""

import pytest

from tests.access_table import PAGES
from tests.access_world import make_world
from tests.browser.conftest import ROOT
from tests.browser.installation import sign_in
from tests.browser.test_narrow import NAMES
from tests.test_access import address

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
def page(served_tab, addresses):
    """A tab of alice, who owns that project."""
    sign_in(served_tab, "alice", "pw")
    return served_tab


def test_axe_finds_nothing_on_any_page(page, addresses):
    found = []
    for name, where in addresses.items():
        assert page.goto(where).status == 200
        page.evaluate(AXE.read_text())
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            found += [f"{name}, {scheme}: {each}" for each in page.evaluate(VIOLATIONS)]
    assert not found, "\n".join(found)
