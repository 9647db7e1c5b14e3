"""The list of campaigns: the next step, filters, what moves."""

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.factories import (
    make_campaign,
    make_run,
    make_test,
)
from tests.queries.measured import measure
from tests.views.campaign_form import new_url, started, text_of

pytestmark = pytest.mark.django_db


def test_an_empty_project_offers_the_one_next_step(as_editor, project):
    page = text_of(as_editor.get(reverse("campaign-list", args=[project.pk])))
    assert "What do you want to measure?" in page
    assert reverse("project-measure", args=[project.pk]) in page


def test_with_target_and_plan_the_next_step_is_a_campaign(as_editor, project, target, version):
    page = text_of(as_editor.get(reverse("campaign-list", args=[project.pk])))
    assert new_url(project) in page


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


def test_a_running_campaign_stands_on_top_with_its_stop(as_editor, project, target, version):
    campaign = started(as_editor, project, target, version)
    page = text_of(as_editor.get(reverse("campaign-list", args=[project.pk])))
    assert "data-moving" in page
    assert reverse("campaign-stop", args=[campaign.pk]) in page


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


def test_a_stranger_finds_no_list(client, charlie, project):
    client.force_login(charlie)
    assert client.get(reverse("campaign-list", args=[project.pk])).status_code == 404
