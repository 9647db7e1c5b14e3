"""The p95 of a campaign beside those of earlier ones with the same test."""

import pytest
from django.utils import timezone

from campaigns.queries.campaign_list import MOST, trends_of
from tests.factories import (
    make_campaign,
    make_endpoint,
    make_plan,
    make_run,
    make_target,
    make_test,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def measured(project):
    """Makes campaigns of the same test, each with runs of these p95 in ms."""
    version, endpoint = make_plan(project), make_endpoint(make_target(project))

    def make(*p95s_ms: float, plan=version, **answers):
        campaign = make_campaign(project, started_at=timezone.now())
        test = make_test(campaign, plan, endpoint=endpoint)
        fields = {"state": "done", "outcome": "complete", "trust": "trusted"} | answers
        for repeat, p95_ms in enumerate(p95s_ms, start=1):
            make_run(test, repeat, p95_us=1000 * p95_ms, **fields)
        return campaign

    return make


def lines_of(*campaigns) -> list[list[float | None]]:
    found = trends_of(campaigns)
    return [found[campaign.pk].p95s_ms for campaign in campaigns]


def test_it_is_the_median_of_the_runs_of_each_campaign(measured):
    assert lines_of(measured(10, 12, 50), measured(20)) == [[12], [12, 20]]


def test_another_plan_is_another_test(measured, project):
    measured(10)
    assert lines_of(measured(30, plan=make_plan(project))) == [[30]]


def test_it_is_that_of_the_first_test(measured, project):
    campaign = measured(10)
    make_run(make_test(campaign), 2, p95_us=99_000, state="done", outcome="complete")
    assert lines_of(campaign) == [[10]]


def test_it_ends_with_the_campaign_itself_and_has_the_last_ones_only(measured):
    campaigns = [measured(number) for number in range(1, MOST + 4)]
    assert lines_of(campaigns[-2]) == [list(range(3, MOST + 3))]


@pytest.mark.parametrize("answers", [{"trust": "no_answer"}, {"outcome": "partial"}])
def test_what_cannot_be_used_has_no_figure(measured, answers):
    measured(10)
    assert lines_of(measured(99, **answers)) == [[10, None]]


def test_one_query_does_for_any_number(measured, django_assert_num_queries):
    campaigns = [measured(number) for number in range(1, 9)]
    with django_assert_num_queries(1):
        trends_of(campaigns)
