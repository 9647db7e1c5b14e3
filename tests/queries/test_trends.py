"""The p95 of a campaign beside those of earlier ones with the same test."""

import pytest
from django.utils import timezone

from campaigns.queries.trends import MOST, trends_of
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


def test_it_is_the_median_of_the_runs_of_each_campaign(measured):
    first, second = measured(10, 12, 50), measured(20)
    assert trends_of([first, second]) == {first.pk: [12], second.pk: [12, 20]}


def test_another_plan_is_another_test(measured, project):
    measured(10)
    other = measured(30, plan=make_plan(project))
    assert trends_of([other]) == {other.pk: [30]}


def test_it_ends_with_the_campaign_itself_and_has_the_last_ones_only(measured):
    campaigns = [measured(number) for number in range(1, MOST + 4)]
    line = trends_of(campaigns)[campaigns[-2].pk]
    assert line == list(range(3, MOST + 3))


@pytest.mark.parametrize("answers", [{"trust": "not_usable"}, {"outcome": "partial"}])
def test_what_cannot_be_used_has_no_figure(measured, answers):
    measured(10)
    assert list(trends_of([measured(99, **answers)]).values()) == [[10, None]]


def test_two_queries_do_for_any_number(measured, django_assert_num_queries):
    campaigns = [measured(number) for number in range(1, 9)]
    with django_assert_num_queries(2):
        trends_of(campaigns)
