"""What a reader of a live page has in hand stays there when the page's parts are replaced.

The measurements are made up; the test plays the engine.
"""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from campaigns.live.notify import notify_viewers
from tests.browser.installation import enter
from tests.factories import make_campaign, make_run, make_test
from tests.queries.measured import measure

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def runs(project):
    """Three runs of a campaign that goes on; the first has ended."""
    campaign = make_campaign(project, "Watched", started_at=timezone.now())
    test = make_test(campaign)
    runs = [make_run(test, repeat) for repeat in (1, 2, 3)]
    measure(runs[0], 20_000)
    return runs


@pytest.fixture
def page(served_tab, alice, runs):
    """A tab of alice at this campaign, as wide as a phone."""
    enter(served_tab, "alice")
    served_tab.set_viewport_size({"width": 390, "height": 844})
    served_tab.goto(f"/campaigns/{runs[0].campaign_id}/")
    expect(served_tab.locator(".runs-frame tbody tr")).to_have_count(len(runs))
    return served_tab


def end(page, run) -> None:
    measure(run, 20_000)
    notify_viewers(run_id=run.pk, campaign_id=run.campaign_id)
    expect(page.locator(".runs-frame")).to_contain_text("Complete")
    ended = page.locator(".runs-frame tbody tr").filter(has_text="Complete")
    expect(ended).to_have_count(run.repeat)


def test_a_table_stays_scrolled_and_keeps_the_focus(page, runs):
    frame = page.locator(".runs-frame")
    frame.focus()
    frame.evaluate("frame => { frame.scrollLeft = 80; }")
    end(page, runs[1])
    assert frame.evaluate("frame => frame.scrollLeft") == 80
    expect(frame).to_be_focused()


def test_a_link_keeps_the_focus_and_the_page_its_place(page, runs):
    link = page.locator(".runs-frame").get_by_role("link", name=runs[2].label)
    link.focus()
    page.evaluate("scrollTo(0, 0)")
    end(page, runs[1])
    expect(link).to_be_focused()
    assert page.evaluate("scrollY") == 0


def test_what_was_closed_stays_closed(page, runs):
    details = page.locator("#every-repeat")
    expect(details).to_have_attribute("open", "")
    details.locator("summary").first.press("Enter")
    end(page, runs[1])
    expect(details).not_to_have_attribute("open", "")
    expect(details.locator("summary").first).to_be_focused()
