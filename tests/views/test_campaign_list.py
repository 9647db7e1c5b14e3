"""The list of campaigns: filters, what moves, statements."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from campaigns.domain.lifecycle import RunState
from campaigns.domain.units import figure
from campaigns.models import Campaign
from campaigns.views.campaigns import UNDER_WAY_SHOWN
from tests.factories import make_campaign, make_run, make_test
from tests.queries.measured import measure
from tests.queues import make_queue
from tests.views.pages import text_of

pytestmark = pytest.mark.django_db


def test_the_list_can_be_narrowed_by_name_state_target_and_time(
    as_editor, project, target, version
):
    endpoint = target.endpoints.first()
    make_test(make_campaign(project, "Nightly"), version, endpoint=endpoint)
    make_test(make_campaign(project, "Other"))

    def listed(**query):
        page = as_editor.get(reverse("campaign-list", args=[project.pk]), query).context["page"]
        return {campaign.name for campaign in page}

    assert listed(name="night") == {"Nightly"}
    assert listed(name="checkout") == {"Nightly"}
    assert listed(target=target.pk) == {"Nightly"}
    assert listed(state="draft", since="1") == {"Nightly", "Other"}
    assert listed(state="running") == set()
    assert listed(state="nonsense", target="x", since="9") == {"Nightly", "Other"}


def test_a_list_says_of_each_whether_it_may_be_believed(as_editor, project):
    ended = timezone.now()
    for name, fields in (("fine", {}), ("stopped", {"stop_requested_at": ended})):
        campaign = make_campaign(project, name, started_at=ended, finished_at=ended, **fields)
        measure(make_run(make_test(campaign)), 10_000, n=200)
    make_campaign(project, "later")
    page = as_editor.get(reverse("campaign-list", args=[project.pk])).context["page"]
    assert {each.name: (each.badge.state, each.badge.word) for each in page} == {
        "fine": ("complete", "Complete"),
        "stopped": ("stopped", "Stopped"),
        "later": ("draft", "Draft"),
    }


def test_a_draft_has_no_p95_of_an_earlier_campaign(as_editor, project, target, version):
    endpoint = target.endpoints.first()
    earlier = make_campaign(project, started_at=timezone.now())
    draft = make_campaign(project)
    for campaign in (earlier, draft):
        make_test(campaign, version, endpoint=endpoint)
    run = measure(make_run(earlier.tests.get()), 10_000, n=200)
    page = as_editor.get(reverse("campaign-list", args=[project.pk])).context["page"]
    said = {each.pk: each.p95 for each in page}
    assert said == {earlier.pk: figure(run.p95_us / 1000), draft.pk: "–"}


def test_the_first_campaigns_under_way_are_shown_and_the_others_counted(as_editor, project):
    make_queue(project, UNDER_WAY_SHOWN + 3, state=RunState.PREPARING)
    address = reverse("campaign-list", args=[project.pk])
    shown = as_editor.get(address)
    assert [each.current.campaign_id for each in shown.context["running"]] == [
        *Campaign.objects.order_by("pk").values_list("pk", flat=True)[:UNDER_WAY_SHOWN]
    ]
    assert '<a href="?view=running">3 more' in text_of(shown)
    assert as_editor.get(address, {"view": "running"}).context["page"].count == UNDER_WAY_SHOWN + 3


def test_those_with_a_run_under_way_come_before_those_that_wait(as_editor, project):
    make_queue(project, UNDER_WAY_SHOWN)
    (active,) = make_queue(project, 1, state=RunState.PREPARING)
    shown = as_editor.get(reverse("campaign-list", args=[project.pk]))
    first, second = shown.context["running"][:2]
    assert (first.pk, first.current) == (active.campaign_id, active)
    assert second.current is None


def statements(client, project) -> int:
    with CaptureQueriesContext(connection) as seen:
        assert client.get(reverse("campaign-list", args=[project.pk])).status_code == 200
    return len(seen)
