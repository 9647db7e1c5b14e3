"""Many numbers in one value select what each of them selects."""

import pytest

from campaigns.models import Campaign, Run
from campaigns.queries.history import among
from tests.factories import make_campaign, make_run, make_test

pytestmark = pytest.mark.django_db


@pytest.fixture
def three(project) -> list[int]:
    campaigns = [make_campaign(project) for _ in range(3)]
    for campaign in campaigns:
        make_run(make_test(campaign))
    return [campaign.pk for campaign in campaigns]


@pytest.mark.parametrize("chosen", [slice(0, 0), slice(1, 2), slice(0, 3)])
def test_it_selects_what_in_selects(three, chosen):
    wanted = three[chosen]
    assert {each.pk for each in Campaign.objects.filter(among("pk", wanted))} == set(wanted)
    runs = Run.objects.filter(among("campaign", wanted))
    assert {run.campaign_id for run in runs} == set(wanted)


def test_no_number_is_written_by_itself(three):
    _, params = Campaign.objects.filter(among("pk", three)).query.sql_with_params()
    assert params == (f"{{{three[0]},{three[1]},{three[2]}}}",)
