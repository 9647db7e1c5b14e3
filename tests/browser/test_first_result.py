"""From an empty home page to what HTTPS costs on an own server: counted clicks, one typed field.

The server is nginx where it is installed, else a second demo target. Every click and every typed
field is counted by listeners in the page, before the page's own code sees the event.
"""

import contextlib
import re
import socket

import pytest

from benchmarks.servers import serving
from campaigns.domain.analysis.ratio import Word
from tests.browser.installation import COUNT, events, sign_in
from tests.waiting import eventually

pytestmark = pytest.mark.long

MOST_CLICKS = 6
PORTS = (8080, 8443)
# A trial of 3 s, a minute at most for all arms, and what other tests leave of two cores.
ANSWER_MS = 180_000
NEWCOMER, PASSWORD = "newcomer", "correct-horse-battery"
MAKE_NEWCOMER = f"""
from django.contrib.auth.models import User
User.objects.create_user("{NEWCOMER}", password="{PASSWORD}")
"""


@pytest.fixture
def server():
    """A server on the ports where HTTP is looked for beside HTTPS; the test of another checkout may
    have them a while."""
    eventually(lambda: all(map(is_free, PORTS)), 300, f"the ports {PORTS} are free")
    with serving(ports=PORTS) as server:
        yield server


def is_free(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
        return True
    return False


@pytest.fixture
def newcomer(page, site):
    """A tab of an account that sees nothing yet, signed in, at the first page."""
    site.run(MAKE_NEWCOMER)
    sign_in(page, NEWCOMER, PASSWORD)
    page.add_init_script(COUNT)
    page.goto("/")
    return page


def test_a_newcomer_learns_what_https_costs(newcomer, site, server):
    page = newcomer
    page.locator("#what").click()
    page.keyboard.type(f"https://127.0.0.1:{server.https_port}/")
    page.get_by_role("button", name="Send test request").click()
    page.get_by_role("heading", name="Self-signed certificate").wait_for()
    page.get_by_role("button", name="Accept this certificate").click()
    page.get_by_text("200 OK over HTTPS").wait_for()
    page.get_by_role("button", name="Start: What does HTTPS cost?").click()
    page.wait_for_url(re.compile(r"/campaigns/\d+/"))
    card = page.locator(".card").first
    card.filter(has_text=re.compile(r"\d")).wait_for(timeout=ANSWER_MS)
    page.get_by_role("button", name="Run again", exact=True).wait_for(timeout=ANSWER_MS)
    sentence = page.locator(".verdict").inner_text()
    assert any(str(word) in sentence for word in Word), sentence
    assert events(page, "typed") == ["what"]
    assert 3 <= len(events(page, "clicks")) <= MOST_CLICKS
