"""Campaigns: drafts and their edits, sweeps, studies, starts, stops and repeats."""

from collections import Counter

import pytest

from campaigns.campaigns.queries.cells import CampaignCell, cell_of
from campaigns.campaigns.services.campaigns import (
    create_file_set_study,
    create_machine_study,
    edit_draft,
    repeat_campaign,
    start_campaign,
    stop_all_of_project,
    stop_campaign,
)
from campaigns.domain.errors import Forbidden, Refused
from campaigns.domain.plan.sweep import Sweep
from campaigns.engine.services import dispatch
from campaigns.items.services import archive_items, describe_item
from campaigns.models import Campaign, PlanVersion
from tests.engine.scenes import create, draft, host, running, started
from tests.factories import make_endpoint, make_plan, make_project, make_target
from tests.values import plan_spec

pytestmark = pytest.mark.django_db


def test_a_draft_has_its_tests_in_the_order_of_the_cells(project, as_bob):
    target = make_target(project)
    cells = [
        CampaignCell(make_plan(project), make_endpoint(target, scheme), mode)
        for scheme, mode in [("http", "new"), ("https", "resumed")]
    ]
    campaign = create(as_bob, project, cells=cells)
    assert campaign.state == "draft"
    assert campaign.created_by == as_bob.user
    assert [cell_of(test) for test in campaign.tests.all()] == cells
    assert not campaign.runs.exists()


def test_it_refuses_wrong_numbers_with_what_would_be_right(project, as_bob):
    for fields, words in [
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
    ]:
        with pytest.raises(Refused, match=words):
            create(as_bob, project, **fields)
        assert not Campaign.objects.exists()


def cell_for(project, *, load=None, scheme="http", mode="new", exchange=False, at=None):
    spec = plan_spec(**load or {}) if not exchange else {"load": load, "exchange": {}}
    endpoint = make_endpoint(make_target(at or project), scheme, port=8085)
    return CampaignCell(make_plan(project, spec=spec), endpoint, mode)


ONCE = {"model": "sequential", "requests": 1}
ONE_BY_ONE = {"model": "closed", "connections": 1, "duration_s": 5}


@pytest.mark.parametrize(
    ("cell", "fields", "words"),
    [
        ({"mode": "resumed"}, {}, "no TLS session"),
        ({"mode": "sometimes"}, {}, "Choose a connection mode: new, keep-alive, resumed"),
        (
            {"load": ONCE, "exchange": True, "scheme": "ws", "mode": "keep-alive"},
            {},
            "WebSockets cannot be kept alive",
        ),
        ({"load": ONE_BY_ONE}, {"injectors": 2}, "one injector|too few"),
    ],
)
def test_it_refuses_what_no_injector_could_do(project, as_bob, cell, fields, words):
    with pytest.raises(Refused, match=words):
        create(as_bob, project, cells=[cell_for(project, **cell)], **fields)


def test_it_refuses_one_cell_twice_too_many_and_those_of_another_project(project, as_bob):
    cell = cell_for(project)
    with pytest.raises(Refused, match="twice"):
        create(as_bob, project, cells=[cell, cell])
    foreign = cell_for(project, at=make_project(owner=as_bob.user))
    with pytest.raises(Refused, match="its own project"):
        create(as_bob, project, cells=[foreign])
    many = [CampaignCell(make_plan(project), cell.endpoint, "new") for _ in range(41)]
    with pytest.raises(Refused, match="2050 runs"):
        create(as_bob, project, cells=many, repeats=50)


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


def test_a_run_keeps_what_it_was_started_with_whatever_is_edited_later(project, settings):
    settings.ALLOWED_NETWORKS = ["10.1.0.0/16"]
    run = started(project).runs.get()
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
    stale = draft(project, repeats=2, order="blocks")
    fields = {"name": "larger", "order": "listed", "pause_s": 4}
    (cell,) = map(cell_of, stale.tests.all())
    draft_now = Campaign.objects.get(pk=stale.pk)
    edit_draft(by=as_bob, campaign=draft_now, cells=[cell], repeats=7, **fields)
    again = repeat_campaign(by=as_bob, campaign=stale)
    assert (again.name, again.repeats, again.order) == ("larger", 7, "listed")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", ["endpoint", "target", "plan"])
def test_it_refuses_what_was_deleted_since_it_was_chosen(project, as_bob, kind):
    endpoint, version = make_endpoint(make_target(project)), make_plan(project)
    cells = [CampaignCell(version, endpoint, "new")]
    rows = {"endpoint": endpoint, "target": endpoint.target, "plan": version.plan}
    type(rows[kind]).objects.filter(pk=rows[kind].pk).delete()
    with pytest.raises(Refused, match="was deleted meanwhile"):
        create(as_bob, project, cells=cells)
    assert not Campaign.objects.exists()


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
    row = Campaign.objects.get()
    assert (row.pk, row.created_by, row.tags) == (campaign.pk, as_alice.user, ["nightly"])
    assert (row.name, row.repeats, row.order, row.seed) == ("larger", 7, "listed", 5)
    assert row.perf == "machine"
    tests = row.tests.values_list("plan_version", "connection_mode", "injectors")
    assert list(tests) == [(cell.plan_version.pk, "keep-alive", count) for count in (1, 2)]


def test_once_started_it_is_not_edited(project, as_bob):
    campaign = started(project)
    with pytest.raises(Refused, match="already been started"):
        edit_draft(by=as_bob, campaign=campaign, name="late")
    assert Campaign.objects.get().name == "study"


def test_what_starts_is_the_draft_as_it_was_edited_last(project, as_alice, as_bob):
    """Whoever starts it has read the row before."""
    stale = create(as_alice, project, repeats=2, order="blocks", seed=4)
    cell = CampaignCell(make_plan(project), make_endpoint(make_target(project)), "new")
    fields = {"name": "larger", "order": "listed", "pause_s": 0, "seed": 5}
    draft = Campaign.objects.get(pk=stale.pk)
    edit_draft(by=as_bob, campaign=draft, cells=[cell], repeats=7, **fields)
    start_campaign(by=as_alice, campaign=stale, anyway=True)
    assert stale.runs.count() == stale.repeats == 7
    assert {run.frozen.seed for run in stale.runs.all()} == {5}


def test_one_that_was_archived_meanwhile_does_not_start(project, as_alice):
    stale = create(as_alice, project)
    archive_items(by=as_alice, items=[Campaign.objects.get(pk=stale.pk)])
    with pytest.raises(Refused, match="archived"):
        start_campaign(by=as_alice, campaign=stale, anyway=True)


def test_what_cannot_be_measured_leaves_it_as_it_was(project, as_bob, as_vera):
    campaign = create(as_bob, project)
    with pytest.raises(Refused, match="1 to 50"):
        edit_draft(
            by=as_bob, campaign=campaign, name="x", cells=[], repeats=0, order="listed", pause_s=0
        )
    with pytest.raises(Forbidden):
        edit_draft(by=as_vera, campaign=campaign)
    assert campaign.tests.count() == 1


def of_injectors(*counts):
    return Sweep("injectors", counts)


def sequential_of_each(project):
    spec = plan_spec(model="sequential", requests=5000, per_injector=True)
    return CampaignCell(make_plan(project, spec=spec), make_endpoint(make_target(project)), "new")


def test_a_sweep_has_a_test_for_each_number_of_injectors(project, as_bob):
    campaign = create(
        as_bob, project, cells=[sequential_of_each(project)], sweep=of_injectors(1, 2, 12)
    )
    assert list(campaign.tests.values_list("position", "injectors")) == [(0, 1), (1, 2), (2, 12)]
    assert campaign.injectors == 12


def test_each_run_of_a_sweep_has_its_shards_and_the_load_of_all_of_them(project, as_bob):
    cells = [sequential_of_each(project)]
    campaign = create(
        as_bob, project, cells=cells, sweep=of_injectors(1, 3), repeats=1, order="listed"
    )
    start_campaign(by=as_bob, campaign=campaign)
    alone, three = campaign.runs.order_by("position")
    loads = [run.snapshot["plan"]["load"] for run in (alone, three)]
    assert [load["requests"] for load in loads] == [5000, 15_000]
    assert (loads[1]["model"], loads[1]["connections"]) == ("closed", 3)
    assert [run.shards.count() for run in (alone, three)] == [1, 3]


def test_each_run_of_a_sweep_sends_the_plan_with_one_number_replaced(project, as_bob):
    version = make_plan(project, spec=plan_spec(model="open", rate_per_s=10, duration_s=5))
    cell = CampaignCell(version, make_endpoint(make_target(project)), "new")
    rates = Sweep("rate_per_s", (100, 250.5))
    campaign = create(as_bob, project, cells=[cell], sweep=rates, repeats=1, order="listed")
    again = repeat_campaign(by=as_bob, campaign=campaign)
    start_campaign(by=as_bob, campaign=again)
    runs = again.runs.order_by("position")
    assert [run.snapshot["plan"]["load"]["rate_per_s"] for run in runs] == [100, 250.5]
    assert [run.frozen.plan.load.rate_per_s for run in runs] == [100, 250.5]
    assert [run.frozen.swept for run in runs] == [
        "rate of 100 requests/s",
        "rate of 250.5 requests/s",
    ]
    assert version.plan.versions.count() == 1, "the plan itself has not changed"


def test_a_sweep_of_values_that_the_plan_cannot_have_is_refused(project, as_bob):
    cells = [sequential_of_each(project)]
    with pytest.raises(Refused, match="cannot be measured at a rate of 100 requests/s"):
        create(as_bob, project, cells=cells, sweep=Sweep("rate_per_s", (100, 200)))
    with pytest.raises(Refused, match="at most 20 values"):
        create(as_bob, project, cells=cells, sweep=Sweep("requests", tuple(range(1, 22))))
    with pytest.raises(Refused, match="listed twice"):
        create(as_bob, project, cells=cells, sweep=Sweep("requests", (7, 7)))


def test_starting_refuses_more_injectors_than_there_are_and_says_what_to_do(project, as_bob):
    host(slots=2)
    campaign = create(
        as_bob, project, cells=[sequential_of_each(project)], sweep=of_injectors(1, 12)
    )
    with pytest.raises(Refused, match="needs 12 injector slots at once, but there are 2"):
        start_campaign(by=as_bob, campaign=campaign)
    campaign.refresh_from_db()
    assert campaign.state == "draft"


def server_at(project, name, *addresses):
    target = make_target(project, name)
    for address in addresses:
        make_endpoint(target, host=address)
    return target


def cells_of(campaign):
    tests = campaign.tests.select_related("plan_version__plan", "endpoint__target")
    return [(test.plan_version.plan.name, test.endpoint.target.name) for test in tests]


def test_each_server_gets_every_file_set_of_its_place_five_times(project, as_bob):
    targets = [
        server_at(project, "apache", "127.0.0.1", "10.1.2.3"),
        server_at(project, "nginx", "::1"),
    ]
    draft = create_file_set_study(by=as_bob, project=project, targets=targets)
    assert (draft.state, draft.repeats, draft.order) == ("draft", 5, "blocks")
    assert cells_of(draft) == [
        *(("L1", "apache"), ("L1", "nginx"), ("L2", "apache"), ("L2", "nginx")),
        *(("L3", "apache"), ("L3", "nginx")),
        *(("R1", "apache"), ("R2", "apache"), ("R3", "apache")),
    ]
    assert {test.connection_mode for test in draft.tests.all()} == {"new"}


def test_plans_and_the_draft_are_made_once(project, as_bob):
    targets = [server_at(project, name, "10.1.2.3") for name in ("apache", "nginx")]
    study = {"by": as_bob, "project": project, "targets": targets}
    first, again = (create_file_set_study(**study) for _ in range(2))
    assert again == first
    start_campaign(by=as_bob, campaign=first, anyway=True)
    assert create_file_set_study(**study) != first
    names = project.plans.order_by("name").values_list("name", flat=True)
    assert list(names) == ["R1", "R2", "R3"]


def test_it_compares_at_least_two_servers_over_http(project, as_bob):
    alone, bare = server_at(project, "apache", "10.1.2.3"), server_at(project, "bare")
    with pytest.raises(Refused, match="2 to 8 targets"):
        create_file_set_study(by=as_bob, project=project, targets=[alone])
    with pytest.raises(Refused, match="bare has no HTTP endpoint"):
        create_file_set_study(by=as_bob, project=project, targets=[alone, bare])
    assert not project.plans.exists()


def test_with_the_machine_one_server_gets_them_for_as_long_as_in_the_study(project, as_bob):
    shop = server_at(project, "shop", "127.0.0.1")
    for _ in range(2):
        draft = create_machine_study(by=as_bob, project=project, target=shop)
    assert (draft.state, draft.repeats, draft.order) == ("draft", 5, "blocks")
    names = ["L1 for 5 s", "L2 for 25 s", "L3 for 5 s"]
    assert cells_of(draft) == [(name, "shop") for name in names]
    plans = [test.plan_version.value() for test in draft.tests.order_by("position")]
    assert [plan.load.duration_s for plan in plans] == [5, 25, 5]
    assert [plan.load.requests for plan in plans] == [None] * 3
    assert [len(plan.steps) for plan in plans] == [1, 5, 5]
