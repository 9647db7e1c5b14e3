"""Keeping order among hundreds of campaigns: search, rename, tag, archive, delete; by keyboard."""

import json
import re

import pytest

MANY = 250
# 250 finished campaigns of a new project of the administrator's; one has a share link.
MAKE = f"""
import json
from django.contrib.auth.models import User
from django.utils import timezone
from campaigns.permissions import Actor
from campaigns.services.tokens import create_share
from tests.factories import (
    make_campaign, make_endpoint, make_plan, make_project, make_run, make_target, make_test
)
from tests.queries.measured import measure
owner = User.objects.get(username="%s")
project = make_project("Much measured", owner=owner)
endpoint = make_endpoint(make_target(project, "shop"))
version = make_plan(project, "prices")
now = timezone.now()
for number in range({MANY}):
    campaign = make_campaign(
        project, f"{{'soak' if number %% 5 == 0 else 'nightly'}} {{number:03}}", repeats=1,
        started_at=now, finished_at=now, created_by=owner,
    )
    run = make_run(make_test(campaign, version, endpoint=endpoint))
    if number %% 25 == 0 or number >= {MANY} - 50:
        measure(run, 10_000 + 10 * (number %% 5), n=200, seconds=1)
    else:
        type(run).objects.filter(pk=run.pk).update(state="done", outcome="failed", ended_at=now)
create_share(by=Actor(user=owner), project=project, campaign=campaign, days=1)
print(json.dumps({{"project": project.pk, "last": campaign.pk}}))
"""


@pytest.fixture(scope="module")
def kept(site) -> dict[str, int]:
    """The project and its last campaign. One test changes them; the others need only hundreds."""
    return json.loads(site.run(MAKE % site.username))


@pytest.fixture
def campaigns(kept) -> str:
    """The list of campaigns."""
    return f"/projects/{kept['project']}/campaigns/"


def count_shown(page) -> str:
    return page.locator(".filters .push").inner_text().split(",")[0]


def test_hundreds_of_campaigns_are_searched_tagged_archived_and_deleted(signed_in, kept, campaigns):
    page = signed_in
    page.goto(campaigns)
    assert count_shown(page) == f"{MANY} campaigns"

    # Rename and tag one, on its own page.
    page.goto(f"/campaigns/{kept['last']}/")
    page.get_by_text("More", exact=True).click()
    page.get_by_role("link", name="Rename or tag").click()
    page.get_by_label("Name", exact=True).fill("Release 4.21")
    page.get_by_label("Tags").fill("Release, checked")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("heading", name="Release 4.21").wait_for()

    # Find it by its tag.
    page.goto(campaigns)
    page.keyboard.press("/")
    page.keyboard.type("checked")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("name=checked"))
    assert count_shown(page) == "1 campaign"
    page.get_by_role("link", name="Release 4.21").wait_for()

    # Tag three by keyboard: Space ticks, Enter in the field adds the tag.
    page.goto(f"{campaigns}?name=nightly")
    for box in page.locator("input[name=pk]").all()[:3]:
        box.focus()
        page.keyboard.press("Space")
    assert page.locator("[data-bulk-words]").inner_text() == "3 selected"
    page.get_by_label("Tag", exact=True).fill("soon gone")
    page.keyboard.press("Enter")
    page.get_by_text("3 campaigns tagged soon gone.").wait_for()
    page.get_by_label("Tags").get_by_role("link", name="soon gone").click()
    page.wait_for_url(re.compile("tag=soon"))
    assert page.locator("input[name=pk]").count() == 3

    # Archive all of a search, far more than a page.
    page.goto(f"{campaigns}?name=soak")
    assert count_shown(page) == f"{MANY // 5} campaigns"
    page.get_by_label(f"All {MANY // 5}").check()
    page.get_by_role("button", name="Archive", exact=True).click()
    page.get_by_text(f"{MANY // 5} campaigns archived.").wait_for()
    page.goto(campaigns)
    assert count_shown(page) == f"{MANY - MANY // 5} campaigns"
    page.get_by_role("link", name=re.compile("^Archived")).click()
    assert count_shown(page) == f"{MANY // 5} campaigns"

    # Delete: first what is lost, then it is gone.
    page.goto(f"{campaigns}?tag=soon+gone")
    page.get_by_label("Tick all campaigns of this page").check()
    page.get_by_role("button", name="Delete …").click()
    assert "3 runs" in page.locator(".losses").inner_text()
    page.get_by_role("button", name="Delete 3 campaigns").click()
    page.get_by_text("3 campaigns deleted.").wait_for()

    page.goto(f"/campaigns/{kept['last']}/")
    page.get_by_text("More", exact=True).click()
    page.get_by_role("button", name="Delete …").click()
    page.get_by_text("1 share link to these results would stop working.").wait_for()
    page.get_by_role("button", name="Delete 1 campaign").click()
    page.get_by_text("1 campaign deleted.").wait_for()
    assert count_shown(page) == f"{MANY - MANY // 5 - 4} campaigns"
