"""A campaign that is run again measures the installation's own target beside its tests."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from campaigns.models import Campaign
from campaigns.permissions import Actor
from campaigns.services.baselines import make_baseline
from campaigns.services.campaign_cells import CampaignCell
from campaigns.services.campaigns import create_campaign
from campaigns.services.dispatch import finish_campaigns
from campaigns.services.summaries import keep_figures
from tests.browser.installation import sign_in
from tests.factories import make_endpoint, make_plan, make_target
from tests.queries.measured import run_in_blocks
from tests.values import plan_spec

pytestmark = pytest.mark.django_db(transaction=True)
CALM, SLOWER = [20_000, 20_200, 19_900], [24_000, 24_200, 23_900]
ECHO = [2_000, 2_010, 1_990]


@pytest.fixture
def nights(project, bob, settings) -> list[Campaign]:
    """Two campaigns with a reference: the target is slower in the second, the reference is not."""
    settings.REFERENCE_TARGET = {"scheme": "http", "host": "127.0.0.1", "port": 8081}
    by = Actor(user=bob)
    version = make_plan(project, "Prices", plan_spec(model="over", requests=600, over_s=3))
    cell = CampaignCell(version, make_endpoint(make_target(project, "checkout-api")), "new")
    made = []
    for days_ago, times in ((2, CALM), (1, SLOWER)):
        campaign = create_campaign(
            by=by, project=project, name=f"Night {3 - days_ago}", cells=[cell], repeats=3,
            order="blocks", pause_s=1, reference=True,
        )  # fmt: skip
        Campaign.objects.filter(pk=campaign.pk).update(
            started_at=timezone.now() - timedelta(days=days_ago)
        )
        tests = list(campaign.tests.order_by("position"))
        run_in_blocks(tests, [times, ECHO], n=600, seconds=3)
        keep_figures([test.pk for test in tests])
        finish_campaigns()
        if not made:
            make_baseline(by=by, project=project, name="release 1.4", tests=tests)
        made.append(campaign)
    return made


def test_the_reference_stands_beside_the_answer_and_the_form_proposes_it(served_tab, bob, nights):
    sign_in(served_tab, bob.username, "pw")
    served_tab.goto(reverse("campaign-detail", args=[nights[1].pk]))
    expect(served_tab.get_by_text("Reference: 2.00 ms, as before")).to_be_visible()
    verdict = served_tab.locator("[data-live=verdict] .verdict")
    expect(verdict).to_contain_text("slower [")
    expect(verdict).to_contain_text("The reference did not move.")
    expect(verdict).not_to_contain_text("environment")
    served_tab.get_by_role("button", name="Run again").click()
    tick = served_tab.get_by_label("Reference", exact=True)
    expect(tick).to_be_checked()
    runs = served_tab.locator("[data-live=cost] .estimates")
    expect(runs).to_contain_text("(1 + reference) × 3")
    tick.uncheck()
    expect(runs).to_contain_text("1 × 3")
