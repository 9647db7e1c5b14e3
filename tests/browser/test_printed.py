"""What comes out of a printer: every column of a table, and charts in the colours of paper."""

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.browser.installation import enter
from tests.queries.measured import https_campaign, run_in_blocks

pytestmark = pytest.mark.django_db(transaction=True)
# An A4 sheet with a browser's own margins.
SHEET = {"width": 718, "height": 1047}
CUT = """() => [...document.querySelectorAll('main table')]
  .filter((table) => table.getBoundingClientRect().right > innerWidth + 1)
  .map((table) => table.innerText.slice(0, 60))"""
INK = "Chart.defaults.color"
IS_DRAWN = "() => window.Chart?.getChart(document.querySelector('[data-blocks] canvas'))"


@pytest.fixture
def page(served_tab, alice, project):
    """A tab of alice, with what HTTPS costs measured."""
    now = timezone.now()
    campaign, tests = https_campaign(project, started_at=now, finished_at=now)
    run_in_blocks(tests, [[10_000.0] * 3, [13_000.0] * 3])
    enter(served_tab, "alice")
    served_tab.goto(reverse("campaign-detail", args=[campaign.pk]))
    return served_tab


@pytest.mark.parametrize("name", ["campaign-detail", "run-list", "campaign-list"])
def test_every_column_is_on_the_sheet(name, page, project):
    if name != "campaign-detail":
        page.goto(reverse(name, args=[project.pk]))
    page.set_viewport_size(SHEET)
    page.emulate_media(media="print")
    assert page.locator("main table").count()
    assert page.evaluate(CUT) == []


def test_charts_of_a_dark_page_are_drawn_for_paper_and_dark_again_after(page):
    light, dark = (ink_in(page, scheme) for scheme in ("light", "dark"))
    assert dark != light
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(INK) == light
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(INK) == dark


def ink_in(page, scheme: str) -> str:
    """What the charts' words are drawn in, once one of them is."""
    page.emulate_media(color_scheme=scheme)
    page.reload()
    page.wait_for_function(IS_DRAWN)
    return page.evaluate(INK)
