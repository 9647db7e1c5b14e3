"""The list of what happened in a run: all of it can be read, by keys and on paper."""

import pytest
from django.urls import reverse

from tests.browser.installation import enter
from tests.browser.test_accessibility import AXE, VIOLATIONS
from tests.factories import make_campaign, make_run, make_test
from tests.queries.measured import measure

pytestmark = pytest.mark.django_db(transaction=True)
MORE = """(list) => {
  for (let n = 0; n < 20; n += 1) list.append(list.lastElementChild.cloneNode(true));
}"""


@pytest.fixture
def page(served_tab, alice, project):
    """A tab of alice at a run in which more happened than its list has room for."""
    run = make_run(make_test(make_campaign(project, "Eventful")))
    measure(run, 20_000)
    enter(served_tab, "alice")
    served_tab.add_init_script(path=AXE)
    served_tab.goto(reverse("run-detail", args=[run.pk]))
    served_tab.locator(".happened").evaluate(MORE)
    return served_tab


def test_the_list_can_be_scrolled_by_keys(page):
    assert page.evaluate(VIOLATIONS, [None, ["scrollable-region-focusable"]]) == []


def test_paper_has_all_of_it(page):
    page.emulate_media(media="print")
    hidden = page.locator(".happened").evaluate("(list) => list.scrollHeight - list.clientHeight")
    assert hidden == 0
