"""No page is wider than a phone, whatever names people gave: every address of the access table."""

import json

import pytest

from tests.access_table import PAGES
from tests.browser.installation import sign_in

PHONE = {"width": 390, "height": 844}
OPEN_DISCLOSURES = """() => {
  for (const each of document.querySelectorAll("details:not(.menu)")) each.open = true;
}"""
# What answers with a file, a stream or a word for machines.
NO_PAGES = ("-csv", "-stream", "-text", "healthz", "readyz")
NAMES = sorted(
    name for name, methods in PAGES.items() if "GET" in methods and not name.endswith(NO_PAGES)
)
# One of everything in the installation's own database, with names as long as they may be.
MAKE = f"""
import json
from django.contrib.auth.models import User
from tests.access_world import make_world
from tests.test_access import address
from tests.access_table import PAGES
from tests.browser.installation import sign_in
world = make_world()
world.rows["waiting"].delete()
User.objects.filter(username="alice").update(is_superuser=True)
long = "AClassNameThatSomebodyCopied" * 5
for noun in ("project", "target", "plan", "campaign"):
    row = world.rows[noun]
    type(row).objects.filter(pk=row.pk).update(name=long[:row._meta.get_field("name").max_length])
print(json.dumps({{name: address(name, world, PAGES[name]["GET"]) for name in {NAMES!r}}}))
"""


@pytest.fixture(scope="module")
def addresses(site) -> dict[str, str]:
    return json.loads(site.manage("shell", "-v", "0", "-c", MAKE).splitlines()[-1])


@pytest.fixture(scope="module")
def phone(browser, site, addresses):
    """A narrow tab in which the owner of that project and of the installation is signed in."""
    context = browser.new_context(base_url=site.url, viewport=PHONE)
    page = context.new_page()
    sign_in(page, "alice", "pw")
    yield page
    context.close()


def check_width(phone, address: str) -> None:
    assert phone.goto(address).status == 200
    phone.evaluate(OPEN_DISCLOSURES)
    width = phone.evaluate("document.documentElement.scrollWidth")
    assert width <= PHONE["width"], f"{address} is {width} px wide"


@pytest.mark.parametrize("name", NAMES)
def test_a_phone_shows_the_whole_width(phone, addresses, name):
    check_width(phone, addresses[name])


def test_a_phone_shows_the_whole_form_of_a_preset(phone, addresses):
    check_width(phone, f"{addresses['plan-new']}?preset=ab")
