"""What the target's machine did over all runs, on the page of the campaign and behind a link."""

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.queries.measured import https_campaign, run_in_blocks
from tests.queries.test_machine_runs import tell
from tests.views.test_shares import make_link, visit

pytestmark = pytest.mark.django_db
TITLE = "The target's machine over all runs"


@pytest.fixture
def campaign(project):
    campaign, tests = https_campaign(project, started_at=timezone.now())
    for run in run_in_blocks(tests, [[12_000] * 3, [24_000] * 3]):
        tell(run, range(10))
    return campaign


def text_of(response) -> str:
    return response.content.decode().replace("&#x27;", "'")


def test_the_campaigns_page_draws_it_and_names_every_run(as_editor, campaign):
    page = text_of(as_editor.get(reverse("campaign-detail", args=[campaign.pk])))
    section = page.split(TITLE)[1].split("</section>")[0]
    assert "shop-1, measured seconds" in section
    assert section.count('class="m-band"') == 6 * 3
    for name in ("HTTP new connection, run 1", "HTTPS new connection, run 3"):
        assert f"<title>{name}</title>" in section


def test_a_share_has_it_only_where_it_shows_machines(as_editor, campaign):
    hidden, shown = (
        text_of(visit(make_link(as_editor, "campaign-share", campaign.pk, **ticked)))
        for ticked in ({}, {"shows_machines": "on"})
    )
    assert TITLE not in hidden
    assert TITLE in shown


def test_a_single_run_has_its_own_curves_instead(as_editor, project):
    campaign, tests = https_campaign(project, started_at=timezone.now())
    for run in run_in_blocks(tests[:1], [[12_000]]):
        tell(run, range(10))
    page = text_of(as_editor.get(reverse("campaign-detail", args=[campaign.pk])))
    assert TITLE not in page
