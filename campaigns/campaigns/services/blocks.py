"""Queue the blocks of a campaign: at its start, and later more at its end; and what must hold of
their cells before."""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.db.models import Q

from campaigns.campaigns.queries.campaigns import archived_part, why_archived
from campaigns.campaigns.queries.cells import (
    MAX_REPEATS,
    CampaignCell,
    arms_by_plan,
    cell_of,
    estimates_of_runs,
    watched_cells,
)
from campaigns.compare.queries.arm_pairs import measured_tests, pairs_in_turns, pairs_of
from campaigns.core import audit
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.errors import Refused
from campaigns.domain.plan.addresses import written_addresses
from campaigns.domain.plan.arrivals import share_fault
from campaigns.domain.plan.estimates import TestEstimate
from campaigns.domain.plan.frozen_run import FrozenRun, without_parts
from campaigns.domain.plan.plan import ConnectionMode, Plan
from campaigns.domain.plan.target import TLS_SCHEMES, WEBSOCKET_SCHEMES
from campaigns.domain.plan.turns import (
    ALONE_RUNS,
    Turn,
    TurnsOrder,
    order_of_runs,
    plan_alone,
    plan_in_turns,
    turns_limit_s,
)
from campaigns.domain.units import counted
from campaigns.engine.queries.injector_hosts import live_hosts_now
from campaigns.ladder.queries import ladder_pairs
from campaigns.live.notify import notify_viewers
from campaigns.models import Campaign, Project, Run, Shard, Test
from campaigns.operations.models import AuditEvent
from campaigns.operations.queries import why_never
from campaigns.operations.services.caps import plan_use, require_room_for_runs
from campaigns.projects.services import require_secret
from campaigns.targets.queries import networks_for
from campaigns.targets.services import require_permitted

_LEAST_THRESHOLD = 0.001  # arms side by side are never alike to the last digit


def queue_blocks(
    *, by: Actor, campaigns: Sequence[Campaign], after: int = 0
) -> dict[Campaign, list[Test]]:
    """Queue the runs of all blocks after this one of campaigns of one project, each with its frozen
    copy of plan and endpoint; returns their tests by position. The order goes on as drawn from the
    campaign's seed. Raises Refused if one cannot be measured."""
    project = campaigns[0].project
    # Nobody archives their targets until their runs are stored.
    relations = ("plan_version__plan__project", "endpoint__target__project")
    rows = Test.objects.filter(campaign__in=campaigns).select_related(*relations)
    rows_under_lock = rows.select_for_update(of=("endpoint__target",), no_key=True)
    tests: dict[Campaign, list[Test]] = {campaign: [] for campaign in campaigns}
    by_number = {campaign.pk: campaign for campaign in campaigns}
    for test in sorted(
        rows_under_lock.order_by("endpoint__target"), key=lambda test: test.position
    ):
        test.campaign = by_number[test.campaign_id]
        tests[test.campaign].append(test)
    estimates, blocks = {}, {}
    for campaign, own in tests.items():
        if refusal := why_archived(campaign, own):
            raise Refused(refusal)
        cells = [cell_of(test) for test in own]
        check_cells(project, cells, campaign.repeats)
        for cell in cells:
            require_secret(by=by, version=cell.plan_version, endpoint=cell.endpoint)
        estimates |= estimates_of_runs(campaign, own)
        blocks |= dict.fromkeys((test.pk for test in own), campaign.repeats - after)
    every = [test for own in tests.values() for test in own]
    check_slots(project, every)
    require_permitted(test.endpoint for test in every)
    require_room_for_runs(project, every, estimates, blocks)
    new = [run for campaign, own in tests.items() for run in _new_runs(campaign, own, after)]
    store_runs(project, new, estimates)
    return tests


def store_runs(project: Project, new: Sequence[Run], estimates: Mapping[int, TestEstimate]) -> None:
    """With their shards and what they are going to use; `estimates` by test."""
    # Leaders have their numbers before what follows them is stored.
    runs = Run.objects.bulk_create(run for run in new if run.leader is None)
    runs += Run.objects.bulk_create(run for run in new if run.leader is not None)
    Shard.objects.bulk_create(
        Shard(run=run, number=number) for run in runs for number in range(run.n_shards)
    )
    plan_use(project, runs, estimates)


def _new_runs(campaign: Campaign, tests: Sequence[Test], after: int) -> list[Run]:
    """Not stored yet."""
    if campaign.order == Campaign.Order.SIDE_BY_SIDE:
        return _runs_side_by_side(campaign, tests, after)
    is_random = campaign.order == Campaign.Order.BLOCKS
    turns = order_of_runs(len(tests), campaign.repeats, is_random=is_random, seed=campaign.seed)
    snapshots = [snapshot_of(test, test.plan().for_injectors(test.injectors)) for test in tests]
    return [
        queued_run(tests[turn.test], turn, snapshots[turn.test])
        for turn in turns
        if turn.repeat > after
    ]


def _runs_side_by_side(campaign: Campaign, tests: Sequence[Test], after: int) -> list[Run]:
    """Of each pass and plan a leader, and behind it the runs that its injector sends as well. The
    order of the plans is drawn; that of the arms is in each round."""
    groups, alone_cells = (
        list(arms_by_plan(tests).values()),
        watched_cells(tests, campaign.perf_scope),
    )
    turns = order_of_runs(len(groups), campaign.repeats, is_random=True, seed=campaign.seed)
    snapshots = {}
    for group in groups:
        limit_s = turns_limit_s(group[0].plan(), len(group), campaign.limit_s, group[0].injectors)
        settings = {"limit_s": limit_s, "until_settled": campaign.until_settled}
        threshold = max(campaign.practical_threshold, _LEAST_THRESHOLD)
        # (candidate, baseline), by place, of the pairs that the campaign's page will show.
        places = {test.pk: place for place, test in enumerate(group)}
        arms = measured_tests(group, [])
        pairs = ladder_pairs(arms) or pairs_of(arms, None) or pairs_in_turns(arms)
        settings |= {
            "threshold": threshold,
            "pairs": [tuple(places[arm.test.pk] for arm in reversed(list(pair))) for pair in pairs],
        }
        for test in group:
            plan, in_turns = test.plan().for_injectors(test.injectors), None
            if len(group) > 1:
                plan, in_turns = plan_in_turns(plan, len(group), limit_s), TurnsOrder(**settings)
            if test in alone_cells:
                # The runs that are sent alone keep or break these.
                rules = tuple(each for each in plan.thresholds if not each.is_of_machine)
                plan = replace(plan, thresholds=rules)
            snapshots[test.pk] = snapshot_of(test, plan, in_turns)
    leaders, followers = [], []
    for turn in turns:
        for place, test in enumerate(groups[turn.test]):
            position = len(leaders) + len(followers) + 1
            run = queued_run(test, replace(turn, position=position), snapshots[test.pk])
            if place:
                run.leader = leaders[-1]
            (followers if place else leaders).append(run)
    n_before, alone = len(leaders) + len(followers), []
    if alone_cells and not after:
        turns = order_of_runs(len(alone_cells), ALONE_RUNS, is_random=True, seed=campaign.seed)
        for turn in turns:
            test = alone_cells[turn.test]
            turn = replace(turn, position=n_before + turn.position)
            plan = plan_alone(test.plan().for_injectors(test.injectors))
            alone.append(queued_run(test, turn, snapshot_of(test, plan)))
            alone[-1].is_alone = True
    return [run for run in (*leaders, *followers, *alone) if run.repeat > after]


@transaction.atomic
def add_blocks(
    *, by: Actor, campaign: Campaign, after: int, blocks: int = 1, more_s: float | None = None
) -> None:
    """Add whole blocks, each with a run of every test; a campaign that was done runs again. They
    count beside the blocks that are there and replace none. `after` is the number of blocks that
    the user has seen, so that a second click adds nothing. `more_s`: of arms side by side, how long
    each of these passes is measured, to the end; as the campaign says by default. Raises Forbidden
    or Refused."""
    require(by, Action.RUN, campaign.project)
    if not 1 <= blocks <= MAX_REPEATS - after:
        raise Refused(
            f"A campaign has at most {MAX_REPEATS} blocks. This one has {after}, so add 1 to "
            f"{MAX_REPEATS - after}."
            if after < MAX_REPEATS
            else f"This campaign has {MAX_REPEATS} blocks, and no campaign can have more."
        )
    if more_s is not None and campaign.order != Campaign.Order.SIDE_BY_SIDE:
        raise Refused("Blocks take as long as their plans say. Leave more_s out.")
    if hasattr(campaign, "search"):
        raise Refused("A search makes its trials itself. Search again instead of adding blocks.")
    is_going = Q(started_at__isnull=False, stop_requested_at=None) | Q(finished_at__isnull=False)
    # The row's own conditions stay outside the subquery: after a wait for another click, PostgreSQL
    # looks at them again, and at a subquery never.
    rows = Campaign.objects.filter(pk__in=Campaign.objects.outside_trash().filter(pk=campaign.pk))
    n_rows = rows.filter(is_going, repeats=after).update(
        repeats=after + blocks,
        held_at=None,
        finished_at=None,
        stop_requested_at=None,
        stop_requested_by=None,
        stop_reason="",
    )
    campaign.refresh_from_db()
    if not n_rows:
        if campaign.deleted_at:
            raise Refused(f"{campaign.name} has been deleted.")
        if campaign.state == "draft":
            raise Refused(
                "This campaign has not been started. Change its repeats, or start it first."
            )
        if campaign.state == "stopping":
            raise Refused("This campaign is being stopped. Add blocks when it is done.")
        raise Refused(
            f"This campaign has {counted(campaign.repeats, 'blocks')}, not {after}. Read its "
            "answer before you add more."
        )
    longer = copy(campaign)
    if more_s is not None:
        longer.limit_s, longer.until_settled = more_s, False
    queue_blocks(by=by, campaigns=[longer], after=after)
    label = f"{audit.label_of(campaign)}, {counted(blocks, 'blocks')}"
    audit.note(by, AuditEvent.BLOCKS_ADDED, label, project=campaign.project)
    notify_viewers(campaign_id=campaign.pk)


def queued_run(test: Test, turn: Turn, snapshot: dict[str, Any]) -> Run:
    """Not saved yet; `snapshot` is of `snapshot_of`."""
    return Run(
        campaign=test.campaign,
        test=test,
        target=test.endpoint.target,
        machines=written_addresses(test.endpoint.dialled),
        position=turn.position,
        repeat=turn.repeat,
        n_shards=test.injectors,
        snapshot=snapshot,
    )


def snapshot_of(test: Test, plan: Plan, turns: TurnsOrder | None = None) -> dict[str, Any]:
    """What determines the runs of a test that send this plan, as each of them stores it. `turns`:
    those of arms side by side."""
    version, endpoint = test.plan_version, test.endpoint
    frozen = FrozenRun(
        plan_json=without_parts(plan.to_json(), version.spec, version.pk),
        plan_name=version.plan.name,
        plan_number=version.number,
        swept=test.swept_words,
        endpoint=endpoint.frozen(),
        connection_mode=test.connection_mode,
        target=endpoint.target.name,
        environment=endpoint.target.environment,
        seed=test.campaign.seed,
        allowed_networks=tuple(networks_for(endpoint.target.project_id, endpoint.host)),
        turns=turns,
    )
    return frozen.to_json()


# More would occupy the injector hosts for days and no longer fit on one page.
MAX_RUNS = 2000


def check_cells(project: Project, cells: list[CampaignCell], repeats: int) -> None:
    """Raises Refused, with what to change, for cells that cannot be measured."""
    if not cells:
        raise Refused("Choose at least one plan and one endpoint.")
    if len(cells) * repeats > MAX_RUNS:
        raise Refused(
            f"{len(cells)} tests × {repeats} repeats make {len(cells) * repeats} runs; at most "
            f"{MAX_RUNS} are allowed. Split this into two campaigns."
        )
    if len(set(cells)) < len(cells):
        raise Refused(
            "A plan is listed twice with the same endpoint and connection mode. Remove one."
        )
    for cell in cells:
        plan, endpoint = cell.plan_version.plan, cell.endpoint
        if plan.project_id != project.pk or endpoint.target.project_id != project.pk:
            raise Refused("A campaign can only use plans and targets of its own project.")
        if refusal := archived_part(plan, endpoint):
            raise Refused(refusal)
        if cell.connection_mode not in list(ConnectionMode):
            raise Refused(f"Choose a connection mode: {', '.join(ConnectionMode)}.")
        if cell.connection_mode == ConnectionMode.RESUMED and endpoint.scheme not in TLS_SCHEMES:
            raise Refused(f"{endpoint} has no TLS session to resume. Choose new or keep-alive.")
        # Exchanges need WebSocket endpoints, steps need HTTP endpoints.
        is_exchange = cell.plan_version.value().exchange is not None
        if is_exchange != (endpoint.scheme in WEBSOCKET_SCHEMES):
            schemes = "a ws or wss" if is_exchange else "an http or https"
            raise Refused(f"{cell.plan_version} needs {schemes} endpoint; {endpoint} is not one.")
        if is_exchange and cell.connection_mode == ConnectionMode.KEEP_ALIVE:
            raise Refused(
                "WebSockets cannot be kept alive between attempts. Choose new or resumed."
            )
        # Every injector must get a share of the connections and requests.
        fault = share_fault(cell.plan().load, cell.injectors)
        if fault:
            raise Refused(f"{cell.plan_version} {fault}.")


def check_slots(project: Project, cells: Iterable[CampaignCell | Test]) -> None:
    """A run that needs too many slots would expire. With no host yet, pass: one may still start."""
    most, hosts = max(cell.injectors for cell in cells), live_hosts_now()
    if 0 < hosts.slots < most:
        raise Refused(
            f"A run of this campaign needs {most} injector slots at once, but there are "
            f"{hosts.slots}. Add slots to a host (BENCHSITE_INJECTOR_SLOTS), start another host, "
            "or use fewer injector processes."
        )
    if why := why_never(project, hosts, most):
        raise Refused(why)
