"""What is shown only once: who reloads the page makes no second one."""

import pytest
from django.urls import reverse

from campaigns.models import Agent, ApiToken, ShareLink
from tests.browser.installation import enter
from tests.factories import make_campaign, make_target

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def page(served_tab, alice):
    enter(served_tab, "alice")
    return served_tab


def reload(page) -> None:
    """Once the page's scripts have run: the text is there before them."""
    page.wait_for_load_state()
    page.reload()


def test_a_share_link(page, project):
    page.goto(reverse("campaign-detail", args=[make_campaign(project).pk]))
    page.evaluate("document.getElementById('share-dialog').showModal()")
    page.get_by_role("button", name="Create link").click()
    page.get_by_role("heading", name="Link created").wait_for()
    reload(page)
    page.get_by_role("heading", name="Share links").wait_for()
    assert ShareLink.objects.count() == 1


def test_an_api_token(page):
    page.goto(reverse("token-list"))
    page.get_by_label("Name").fill("nightly")
    page.get_by_role("button", name="Create token").click()
    page.get_by_role("heading", name="Your new token").wait_for()
    reload(page)
    assert page.locator(".secret").count() == 0
    assert ApiToken.objects.count() == 1


def test_an_agent(page, project):
    page.goto(reverse("target-detail", args=[make_target(project).pk]))
    page.get_by_role("button", name="Add an agent").click()
    page.get_by_text("only once").wait_for()
    reload(page)
    page.get_by_role("button", name="Add another agent").wait_for()
    assert Agent.objects.count() == 1
