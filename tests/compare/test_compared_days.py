"""A test's runs of some days against those of others."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse

from campaigns.compare.queries.columns import columns_of
from campaigns.compare.queries.compared_tests import comparison_of
from campaigns.core.permissions import Actor
from campaigns.domain.errors import InvalidFields
from campaigns.models import Campaign, Run, Test
from tests.history.test_triage_services import SLOWER, nights_ago, note_history
from tests.kept_cast import project as project
from tests.kept_cast import vera as vera
from tests.measured import https_campaign, run_in_blocks, same_again

pytestmark = pytest.mark.django_db
BEGIN = datetime(2026, 11, 1, 2, tzinfo=UTC)
FAST, SLOW = [10_000, 10_100], [11_200, 11_250]


@pytest.fixture(scope="module")
def nights_of_the_file(project_of_the_file):
    _, tests = https_campaign(project_of_the_file, repeats=2)
    every = [tests, *(same_again(tests, name=f"Night {n}") for n in range(1, 6))]
    for number, tests in enumerate(every):
        run_in_blocks(tests, [FAST if number < 3 else SLOW] * 2)
        at = BEGIN + timedelta(days=number)
        Campaign.objects.filter(pk=tests[0].campaign_id).update(started_at=at, finished_at=at)
        Run.objects.filter(campaign=tests[0].campaign_id).update(t0=at)
    return [[test.pk for test in tests] for tests in every]


@pytest.fixture
def nights(nights_of_the_file, project):
    """HTTP and HTTPS in six nights, of which the last three are slower; the tests of each."""
    return [[Test.objects.get(pk=pk) for pk in tests] for tests in nights_of_the_file]


def columns(vera, **sides):
    return columns_of(Actor(user=vera), sides)


def days(test, first: int, last: int) -> str:
    return f"test-{test.pk}:2026-11-{first:02}..2026-11-{last:02}"


def test_the_runs_of_all_campaigns_of_these_days_are_one_side(vera, nights):
    http = nights[0][0]
    comparison = comparison_of(columns(vera, a=days(http, 1, 3), b=days(http, 4, 6)))
    (test,) = comparison.tests
    assert [len(side) for side in test.runs] == [6, 6]
    assert test.said == "slower, or the environment"


def test_two_arms_of_the_same_days_ran_in_turn(vera, nights):
    http, https = nights[0]
    (test,) = comparison_of(columns(vera, a=days(http, 1, 3), b=days(https, 1, 3))).tests
    assert not test.or_environment


def test_days_that_make_no_side_are_answered_with_a_sentence(vera, nights):
    for days_of_b, fault in [
        ("2026-11-03..2026-11-05", "part of another column"),
        ("2027-01-01..2027-01-05", "No campaign of this test"),
        ("2026-11-05..2026-11-04", "Write campaign-12"),
        ("2026-13-01..2026-13-02", "Write campaign-12"),
        ("2026-11-04", "Write campaign-12"),
    ]:
        http = nights[0][0]
        with pytest.raises(InvalidFields, match=fault):
            columns(vera, a=days(http, 1, 3), b=f"test-{http.pk}:{days_of_b}")


def test_a_stranger_sees_none(charlie, nights):
    assert columns(charlie, a=days(nights[0][0], 1, 3), b=days(nights[0][0], 4, 6)) is None


def test_a_change_of_a_history_leads_to_the_days_before_and_since(client, vera, project):
    (test,) = note_history(project, SLOWER)
    client.force_login(vera)
    (change,) = client.get(reverse("history-test", args=[test.pk])).context["changes"]
    before, since = ((nights_ago(20) + timedelta(days=n)).date() for n in (7, 8))
    assert f"..{before}&b=test-{test.pk}:{since}.." in change["compare"]
