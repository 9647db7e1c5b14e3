"""Editing a draft, a campaign that has not started."""

import pytest

from campaigns.domain.errors import Forbidden, Refused
from campaigns.domain.plan.sweep import Sweep
from campaigns.models import Campaign
from campaigns.services.campaigns import CampaignCell, edit_draft, start_campaign
from campaigns.services.items import archive_items, describe_item
from tests.factories import make_endpoint, make_plan, make_target
from tests.services.engine import create, started


def test_it_measures_something_else_and_stays_the_same_campaign(project, as_alice, as_bob):
    campaign = create(as_alice, project)
    describe_item(by=as_alice, item=campaign, tags=["nightly"])
    cell = CampaignCell(make_plan(project), make_endpoint(make_target(project)), "keep-alive")
    edit_draft(
        by=as_bob,
        campaign=campaign,
        name="larger",
        cells=[cell],
        repeats=7,
        order="listed",
        pause_s=3,
        perf="machine",
        sweep=Sweep("injectors", (1, 2)),
        seed=5,
    )
    found = Campaign.objects.get()
    assert (found.pk, found.created_by, found.tags) == (campaign.pk, as_alice.user, ["nightly"])
    assert (found.name, found.repeats, found.order, found.seed) == ("larger", 7, "listed", 5)
    assert found.perf == "machine"
    tests = found.tests.values_list("plan_version", "connection_mode", "injectors")
    assert list(tests) == [(cell.plan_version.pk, "keep-alive", count) for count in (1, 2)]


def test_once_started_it_is_not_edited(project, as_bob):
    campaign = started(project)
    with pytest.raises(Refused, match="already been started"):
        edit_draft(by=as_bob, campaign=campaign, name="late")
    assert Campaign.objects.get().name == "study"


def test_what_starts_is_the_draft_as_it_was_edited_last(project, as_alice, as_bob):
    """Whoever starts it has read the row before."""
    seen = create(as_alice, project, repeats=2, order="blocks", seed=4)
    cell = CampaignCell(make_plan(project), make_endpoint(make_target(project)), "new")
    fields = {"name": "larger", "order": "listed", "pause_s": 0, "seed": 5}
    draft = Campaign.objects.get(pk=seen.pk)
    edit_draft(by=as_bob, campaign=draft, cells=[cell], repeats=7, **fields)
    start_campaign(by=as_alice, campaign=seen, anyway=True)
    assert seen.runs.count() == seen.repeats == 7
    assert {run.frozen.seed for run in seen.runs.all()} == {5}


def test_one_that_was_archived_meanwhile_does_not_start(project, as_alice):
    seen = create(as_alice, project)
    archive_items(by=as_alice, items=[Campaign.objects.get(pk=seen.pk)])
    with pytest.raises(Refused, match="archived"):
        start_campaign(by=as_alice, campaign=seen, anyway=True)


def test_what_cannot_be_measured_leaves_it_as_it_was(project, as_bob, as_vera):
    campaign = create(as_bob, project)
    with pytest.raises(Refused, match="1 to 50"):
        edit_draft(
            by=as_bob,
            campaign=campaign,
            name="x",
            cells=[],
            repeats=0,
            order="listed",
            pause_s=0,
        )
    with pytest.raises(Forbidden):
        edit_draft(by=as_vera, campaign=campaign)
    assert campaign.tests.count() == 1
