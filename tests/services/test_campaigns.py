from collections import Counter

import pytest

from campaigns.domain.errors import Forbidden, Refused
from campaigns.models import Campaign, PlanVersion
from campaigns.services import dispatch
from campaigns.services.blocks import cell_of
from campaigns.services.campaigns import (
    CampaignCell,
    edit_draft,
    repeat_campaign,
    start_campaign,
    stop_all_of_project,
    stop_campaign,
)
from tests.factories import make_endpoint, make_plan, make_project, make_target
from tests.services.engine import create, draft, host, owner_of, running, started
from tests.values import plan_spec


def test_a_draft_has_its_tests_in_the_order_of_the_cells(project, as_bob):
    target = make_target(project)
    cells = [
        CampaignCell(make_plan(project), make_endpoint(target, scheme), mode)
        for scheme, mode in [("http", "new"), ("https", "resumed")]
    ]
    campaign = create(as_bob, project, cells=cells)
    assert campaign.state == "draft"
    assert campaign.created_by == as_bob.user
    assert [
        CampaignCell(test.plan_version, test.endpoint, test.connection_mode)
        for test in campaign.tests.all()
    ] == cells
    assert not campaign.runs.exists()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": "  "}, "name"),
        ({"name": "x" * 151}, "150"),
        ({"repeats": 0}, "1 to 50"),
        ({"repeats": 51}, "1 to 50"),
        ({"order": "backwards"}, "blocks, listed"),
        ({"pause_s": -1}, "Pause 0 to"),
        ({"injectors": 65}, "1 to 64"),
        ({"practical_threshold": 1.5}, "5 %"),
        ({"perf": "everything"}, "processes, machine"),
        ({"cells": []}, "at least one plan"),
    ],
)
def test_it_refuses_wrong_numbers_with_what_would_be_right(project, as_bob, fields, words):
    with pytest.raises(Refused, match=words):
        create(as_bob, project, **fields)
    assert not Campaign.objects.exists()


def test_it_refuses_the_same_cell_twice(project, as_bob):
    cell = CampaignCell(make_plan(project), make_endpoint(make_target(project)), "new")
    with pytest.raises(Refused, match="twice"):
        create(as_bob, project, cells=[cell, cell])


def test_it_refuses_what_belongs_to_another_project(project, as_bob):
    other = make_project(owner=as_bob.user)
    cells = [CampaignCell(make_plan(project), make_endpoint(make_target(other)), "new")]
    with pytest.raises(Refused, match="its own project"):
        create(as_bob, project, cells=cells)


def test_it_refuses_to_resume_tls_sessions_over_plain_http(project, as_bob):
    cells = [CampaignCell(make_plan(project), make_endpoint(make_target(project)), "resumed")]
    with pytest.raises(Refused, match="no TLS session"):
        create(as_bob, project, cells=cells)


@pytest.mark.parametrize(
    "load",
    [{"model": "closed", "connections": 1, "duration_s": 5}],
)
def test_it_refuses_more_injectors_than_the_load_can_be_shared_by(project, as_bob, load):
    version = make_plan(project, spec=plan_spec(**load))
    cells = [CampaignCell(version, make_endpoint(make_target(project)), "new")]
    with pytest.raises(Refused, match=r"one injector|too few"):
        create(as_bob, project, cells=cells, injectors=2)


def test_it_refuses_more_runs_than_a_campaign_can_have(project, as_bob):
    endpoint = make_endpoint(make_target(project))
    cells = [CampaignCell(make_plan(project), endpoint, "new") for _ in range(41)]
    with pytest.raises(Refused, match="2050 runs"):
        create(as_bob, project, cells=cells, repeats=50)


def test_starting_queues_every_run_of_every_block_with_its_shards(project):
    campaign = started(project, n_tests=3, repeats=4, injectors=2, order="blocks", seed=7)
    runs = list(campaign.runs.order_by("position"))
    assert [run.position for run in runs] == list(range(1, 13))
    assert [run.repeat for run in runs] == [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3
    for block in range(4):
        assert len({run.test_id for run in runs[block * 3 : block * 3 + 3]}) == 3
    assert {run.shards.count() for run in runs} == {2}
    assert {run.state for run in runs} == {"queued"}
    assert campaign.state == "running"


def test_a_campaign_starts_once(project):
    campaign = started(project)
    with pytest.raises(Refused, match="Repeat it"):
        start_campaign(by=owner_of(project), campaign=campaign)
    assert campaign.runs.count() == 1


def test_a_run_keeps_what_it_was_started_with_whatever_is_edited_later(project, settings):
    settings.ALLOWED_NETWORKS = ["10.1.0.0/16"]
    campaign = started(project)
    run = campaign.runs.get()
    before = run.snapshot
    plan, endpoint = run.test.plan_version.plan, run.test.endpoint
    PlanVersion.objects.create(
        plan=plan, number=2, spec=plan_spec(model="over", requests=1, over_s=1)
    )
    plan.name = "renamed"
    plan.save()
    endpoint.host = "10.9.9.9"
    endpoint.save()
    settings.ALLOWED_NETWORKS = ["0.0.0.0/0"]
    run.refresh_from_db()
    assert run.snapshot == before
    assert before["endpoint"]["host"] != endpoint.host
    assert before["plan_number"] == 1
    assert before["policy"] == {"allow": ["10.1.0.0/16"]}
    assert set(before) == {
        "plan",
        "plan_name",
        "plan_number",
        "endpoint",
        "connection_mode",
        "target",
        "environment",
        "seed",
        "policy",
    }


def test_starting_refuses_an_endpoint_that_was_archived_meanwhile(project, as_bob):
    campaign = draft(project)
    endpoint = campaign.tests.get().endpoint
    endpoint.archived_at = campaign.created_at
    endpoint.save()
    with pytest.raises(Refused, match="archived"):
        start_campaign(by=as_bob, campaign=campaign)
    campaign.refresh_from_db()
    assert campaign.state == "draft"
    assert not campaign.runs.exists()


def test_stopping_ends_what_waits_and_asks_what_runs(project, as_bob):
    host(slots=1)
    campaign = started(project, n_tests=3)
    dispatch.admit_runs()
    stop_campaign(by=as_bob, campaign=campaign)
    first, *rest = campaign.runs.order_by("position")
    assert (first.state, first.stop_requested, first.stop_requested_by) == (
        "preparing",
        "user",
        as_bob.user,
    )
    assert {(run.state, run.outcome, run.reason) for run in rest} == {
        ("done", "stopped", "Stopped before it started.")
    }
    assert Counter(run.shards.get().state for run in rest) == {"cancelled": 2}
    assert campaign.state == "stopping"


def test_an_owner_stops_all_load_of_the_project_and_of_no_other(project, as_alice, as_bob):
    host(slots=2)
    mine = [started(project), started(project)]
    other = started(make_project("Another", owner=as_bob.user))
    dispatch.admit_runs()
    assert stop_all_of_project(by=as_alice, project=project) == 2
    for campaign in mine:
        campaign.refresh_from_db()
        assert campaign.stop_requested_by == as_alice.user
        assert all(run.is_done or run.stop_requested for run in campaign.runs.all())
    other.refresh_from_db()
    assert other.stop_requested_at is None
    with pytest.raises(Forbidden):
        stop_all_of_project(by=as_bob, project=project)


def test_a_campaign_that_is_stopped_twice_stays_stopped_by_the_first(project, as_alice, as_bob):
    run, _ = running(project)
    stop_campaign(by=as_bob, campaign=run.campaign)
    stop_campaign(by=as_alice, campaign=run.campaign)
    run.refresh_from_db()
    assert run.stop_requested_by == as_bob.user
    assert run.campaign.stop_requested_by == as_bob.user


def test_a_repeat_is_a_draft_with_the_same_cells_and_plan_versions(project, as_bob):
    first = draft(project, n_tests=2, repeats=3, pause_s=4, order="blocks")
    version = first.tests.first().plan_version
    PlanVersion.objects.create(plan=version.plan, number=2, spec=version.spec)
    again = repeat_campaign(by=as_bob, campaign=first)
    assert again.state == "draft"
    assert (again.repeats, again.pause_s, again.order) == (3, 4, "blocks")
    cells = ("plan_version", "endpoint", "connection_mode")
    assert list(again.tests.values_list(*cells)) == list(first.tests.values_list(*cells))


def test_a_repeat_of_a_draft_is_of_the_draft_as_it_was_edited_last(project, as_bob):
    seen = draft(project, repeats=2, order="blocks")
    fields = {"name": "larger", "order": "listed", "pause_s": 4}
    (cell,) = map(cell_of, seen.tests.all())
    draft_now = Campaign.objects.get(pk=seen.pk)
    edit_draft(by=as_bob, campaign=draft_now, cells=[cell], repeats=7, **fields)
    again = repeat_campaign(by=as_bob, campaign=seen)
    assert (again.name, again.repeats, again.order) == ("larger", 7, "listed")


@pytest.mark.parametrize(
    ("scheme", "mode", "words"),
    [
        ("http", "sometimes", "Choose a connection mode: new, keep-alive, resumed"),
        ("ws", "keep-alive", "WebSockets cannot be kept alive"),
    ],
)
def test_it_refuses_a_connection_mode_that_there_is_not(project, as_bob, scheme, mode, words):
    load = {"model": "sequential", "requests": 1}
    spec = {"load": load, "exchange": {}} if scheme == "ws" else {"load": load}
    version = make_plan(project, spec=plan_spec() if scheme == "http" else spec)
    endpoint = make_endpoint(make_target(project), scheme, port=8085)
    with pytest.raises(Refused, match=words):
        create(as_bob, project, cells=[CampaignCell(version, endpoint, mode)])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["endpoint", "target", "plan"])
def test_it_refuses_what_was_deleted_since_it_was_chosen(project, as_bob, kind):
    endpoint, version = make_endpoint(make_target(project)), make_plan(project)
    cells = [CampaignCell(version, endpoint, "new")]
    chosen = {"endpoint": endpoint, "target": endpoint.target, "plan": version.plan}
    type(chosen[kind]).objects.filter(pk=chosen[kind].pk).delete()
    with pytest.raises(Refused, match="was deleted meanwhile"):
        create(as_bob, project, cells=cells)
    assert not Campaign.objects.exists()
