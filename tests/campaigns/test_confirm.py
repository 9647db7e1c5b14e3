"""Confirm: one click from a difference to a campaign in which both sides run in turn."""

from datetime import timedelta

import pytest
from django.urls import reverse

from campaigns.models import Campaign, PlanVersion, Test
from tests.campaigns.campaign_form import fields
from tests.factories import make_campaign, make_endpoint, make_plan, make_target, make_test
from tests.histories import make_history
from tests.history.test_triage_services import CALM, nights_ago, note_history
from tests.measured import https_campaign, run_in_blocks, same_again

pytestmark = pytest.mark.django_db


@pytest.fixture
def endpoint(project):
    return make_endpoint(make_target(project))


@pytest.fixture
def versions(project):
    """Two versions of a plan."""
    first = make_plan(project, "Prices")
    second = PlanVersion.objects.create(plan=first.plan, number=2, spec=first.spec)
    return first, second


def a_test(version, endpoint, **campaign):
    return make_test(make_campaign(version.plan.project, **campaign), version, endpoint=endpoint)


def new_url(project, *pairs) -> str:
    keys = ",".join(f"{old.pk}-{new.pk}" for old, new in pairs)
    return f"{reverse('campaign-new', args=[project.pk])}?confirm={keys}"


def test_the_old_plan_version_runs_beside_the_new_one(as_editor, project, versions, endpoint):
    old, new = (a_test(version, endpoint) for version in versions)
    page = as_editor.get(new_url(project, (old, new)))
    ticks = {f"{version.pk}.{endpoint.pk}.new" for version in versions}
    assert set(page.context["form"].cells) == ticks
    answer = as_editor.post(new_url(project, (old, new)), fields(sorted(ticks), start="1"))
    campaign = Campaign.objects.latest("pk")
    sides = [campaign.tests.get(plan_version=version).pk for version in versions]
    assert answer["Location"].endswith(f"/{campaign.pk}/?compare={sides[1]}&with={sides[0]}")
    assert campaign.started_at
    assert {test.plan_version for test in campaign.tests.all()} == set(versions)


def test_where_it_is_weaker_the_reference_runs_beside_it(as_editor, project, versions, endpoint):
    old, new = (a_test(versions[1], endpoint) for _ in range(2))
    echo = make_endpoint(make_target(project, "echo", tags=["reference"]))
    make_test(new.campaign, versions[1], endpoint=echo)
    ticks = as_editor.get(new_url(project, (old, new))).context["form"].cells
    assert set(ticks) == {f"{versions[1].pk}.{each.pk}.new" for each in (endpoint, echo)}


def test_what_names_no_tests_is_not_found(as_editor, project):
    for text in ["", "x", "1", "1-", "99999999-1", "1-1;drop"]:
        path = reverse("campaign-new", args=[project.pk])
        assert as_editor.get(path, {"confirm": text}).status_code == 404


@pytest.fixture
def weeks(project):
    _, earlier = https_campaign(project)
    later = same_again(earlier, name="Nightly 2")
    run_in_blocks(earlier, [[10_000, 10_100, 9_900]] * 2)
    run_in_blocks(later, [[11_200, 11_250, 11_180]] * 2)
    return [tests[0].campaign for tests in (earlier, later)]


def comparison_page(client, weeks):
    names = [f"campaign-{campaign.pk}" for campaign in weeks]
    return client.get(reverse("comparison"), dict(zip("ab", names, strict=True)))


def test_a_comparison_that_may_be_the_environment_offers_it(as_editor, weeks):
    page = comparison_page(as_editor, weeks)
    form = as_editor.get(page.context["confirm_url"]).context["form"]
    assert len(form.cells) == 2


def test_a_change_offers_it(as_editor, project):
    (test,) = note_history(project, [*CALM, *(28.5, 28.6, 28.4, 28.7, 28.3)])
    (row,) = as_editor.get(reverse("history", args=[project.pk])).context["triage"]["rows"]
    before = Test.objects.get(campaign__name="night 7")
    assert row["confirm_url"] == new_url(project, (before, test))
    assert as_editor.get(row["confirm_url"]).status_code == 200


def test_the_old_version_beside_the_new_one_does_not_enter_the_history(
    as_editor, project, versions, endpoint
):
    arms = [(version, endpoint, "new") for version in versions]
    make_history(project, CALM, tests=arms[1:], begin=nights_ago(20))
    (_, test) = make_history(project, [26.0], tests=arms, begin=nights_ago(20) + timedelta(days=9))
    points = as_editor.get(reverse("history-test", args=[test.pk])).context["named"].history.points
    assert [point.plan_version for point in points] == [2] * 9
