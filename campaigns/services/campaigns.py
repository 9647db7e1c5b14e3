"""Create, start, stop and repeat campaigns."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.plan.blocks import order_of_runs
from campaigns.domain.plan.frozen_run import FrozenRun
from campaigns.domain.plan.injectors import plan_for, share_fault
from campaigns.domain.plan.plan import ConnectionMode
from campaigns.domain.plan.shards import MAX_INJECTORS
from campaigns.domain.plan.target import TLS_SCHEMES, WEBSOCKET_SCHEMES
from campaigns.domain.stop_reasons import StopReason
from campaigns.live.pokes import poke
from campaigns.models import Campaign, Endpoint, PlanVersion, Project, Run, Shard, Test
from campaigns.permissions import Action, Actor, require
from campaigns.queries.engine import total_slots
from campaigns.services.plan_secrets import require_secret
from campaigns.services.runs import STOPPED_BEFORE, end_queued, lock_runs, request_stop

MAX_REPEATS = 50
MAX_PAUSE_S = 3600
# More would occupy the injector hosts for days and no longer fit on one page.
MAX_RUNS = 2000


@dataclass(frozen=True, slots=True)
class CampaignCell:
    """One plan on one arm with a number of injectors: becomes a test of a campaign."""

    plan_version: PlanVersion
    endpoint: Endpoint
    connection_mode: str
    injectors: int = 1


@transaction.atomic
def create_campaign(
    *,
    by: Actor,
    project: Project,
    name: str,
    cells: list[CampaignCell],
    repeats: int,
    order: str,
    pause_s: float,
    injectors: int = 1,
    sweep: Sequence[int] = (),
    practical_threshold: float = 0.05,
    seed: int | None = None,
) -> Campaign:
    """A draft with its tests. Raises Forbidden, or Refused with what to change.

    With a `sweep`, every cell becomes one test per number of injectors in it.
    """
    require(by, Action.EDIT, project)
    counts = tuple(sweep) or (injectors,)
    cells = [replace(cell, injectors=count) for cell in cells for count in counts]
    values = {"repeats": repeats, "order": order, "pause_s": pause_s}
    return _create(
        by, project, cells, name=name, practical_threshold=practical_threshold, seed=seed, **values
    )


def _create(
    by: Actor,
    project: Project,
    cells: list[CampaignCell],
    *,
    name: str,
    repeats: int,
    order: str,
    pause_s: float,
    practical_threshold: float,
    seed: int | None = None,
) -> Campaign:
    counts = [cell.injectors for cell in cells] or [1]
    _check_numbers(name, repeats, order, pause_s, counts, practical_threshold)
    _check_cells(project, cells, repeats)
    campaign = Campaign.objects.create(
        project=project,
        name=name.strip(),
        order=order,
        repeats=repeats,
        pause_s=pause_s,
        injectors=max(counts),
        practical_threshold=practical_threshold,
        seed=secrets.randbelow(2**31) if seed is None else seed,
        created_by=by.user,
    )
    Test.objects.bulk_create(
        Test(
            campaign=campaign,
            position=position,
            plan_version=cell.plan_version,
            endpoint=cell.endpoint,
            connection_mode=cell.connection_mode,
            injectors=cell.injectors,
        )
        for position, cell in enumerate(cells)
    )
    return campaign


def _check_numbers(name, repeats, order, pause_s, counts, practical_threshold) -> None:
    rules = [
        (0 < len(name.strip()) <= 150, "Give the campaign a name of at most 150 characters."),
        (1 <= repeats <= MAX_REPEATS, f"Repeat 1 to {MAX_REPEATS} times."),
        (order in Campaign.Order.values, f"Choose an order: {', '.join(Campaign.Order.values)}."),
        (0 <= pause_s <= MAX_PAUSE_S, f"Pause 0 to {MAX_PAUSE_S} s between two runs."),
        (
            all(1 <= count <= MAX_INJECTORS for count in counts),
            f"Use 1 to {MAX_INJECTORS} injector processes for each run.",
        ),
        (
            0 <= practical_threshold < 1,
            "The practical threshold must be at least 0 and below 1; 0.05 is 5 %.",
        ),
    ]
    for is_right, sentence in rules:
        if not is_right:
            raise Refused(sentence)


def _check_cells(project: Project, cells: list[CampaignCell], repeats: int) -> None:
    if not cells:
        raise Refused("Choose at least one plan and one endpoint.")
    if len(cells) * repeats > MAX_RUNS:
        raise Refused(
            f"{len(cells)} tests × {repeats} repeats make {len(cells) * repeats} runs; at most "
            f"{MAX_RUNS} are allowed. Split this into two campaigns."
        )
    keys = {
        (cell.plan_version.pk, cell.endpoint.pk, cell.connection_mode, cell.injectors)
        for cell in cells
    }
    if len(keys) < len(cells):
        raise Refused(
            "A plan is listed twice with the same endpoint and connection mode. Remove one."
        )
    for cell in cells:
        _check_cell(project, cell)
        _check_share(cell)


def _check_cell(project: Project, cell: CampaignCell) -> None:
    plan, endpoint = cell.plan_version.plan, cell.endpoint
    if plan.project_id != project.pk or endpoint.target.project_id != project.pk:
        raise Refused("A campaign can only use plans and targets of its own project.")
    if plan.archived_at:
        raise Refused(f"The plan {plan.name} is archived. Choose another.")
    if endpoint.archived_at or endpoint.target.archived_at:
        raise Refused(f"The endpoint {endpoint} is archived. Choose another.")
    if cell.connection_mode not in list(ConnectionMode):
        raise Refused(f"Choose a connection mode: {', '.join(ConnectionMode)}.")
    if cell.connection_mode == ConnectionMode.RESUMED and endpoint.scheme not in TLS_SCHEMES:
        raise Refused(f"{endpoint} has no TLS session to resume. Choose new or keep-alive.")
    _check_protocol(cell)


def _check_protocol(cell: CampaignCell) -> None:
    """Exchanges need WebSocket endpoints, steps need HTTP endpoints."""
    is_exchange = cell.plan_version.value().exchange is not None
    if is_exchange != (cell.endpoint.scheme in WEBSOCKET_SCHEMES):
        wanted = "a ws or wss" if is_exchange else "an http or https"
        raise Refused(f"{cell.plan_version} needs {wanted} endpoint; {cell.endpoint} is not one.")
    if is_exchange and cell.connection_mode == ConnectionMode.KEEP_ALIVE:
        raise Refused("WebSockets cannot be kept alive between attempts. Choose new or resumed.")


def _check_share(cell: CampaignCell) -> None:
    """Every injector must get a share of the connections and requests."""
    fault = share_fault(cell.plan_version.value().load, cell.injectors)
    if fault:
        raise Refused(f"{cell.plan_version} {fault}.")


def _check_slots(cells: list[CampaignCell]) -> None:
    """A run that needs too many slots would expire. With no host yet, pass: one may still start."""
    most, slots = max(cell.injectors for cell in cells), total_slots()
    if 0 < slots < most:
        raise Refused(
            f"A run of this campaign needs {most} injector slots at once, but there are {slots}. "
            "Add slots to a host (BENCHSITE_INJECTOR_SLOTS), start another host, or use fewer "
            "injector processes."
        )


@transaction.atomic
def start_campaign(*, by: Actor, campaign: Campaign) -> None:
    """Queue all runs in order, each with its frozen copy of plan and endpoint. Only once."""
    require(by, Action.RUN, campaign.project)
    if not Campaign.objects.filter(pk=campaign.pk, started_at=None).update(started_at=Now()):
        raise Refused("This campaign has already been started. Repeat it to measure again.")
    related = ("plan_version__plan__project", "endpoint__target__project")
    tests = list(campaign.tests.select_related(*related).order_by("position"))
    cells = [_cell_of(test) for test in tests]
    _check_cells(campaign.project, cells, campaign.repeats)
    _check_slots(cells)
    for cell in cells:
        require_secret(cell.plan_version)
    turns = order_of_runs(
        len(tests),
        campaign.repeats,
        is_random=campaign.order == Campaign.Order.BLOCKS,
        seed=campaign.seed,
    )
    runs = Run.objects.bulk_create(_queued(campaign, tests[turn.test], turn) for turn in turns)
    Shard.objects.bulk_create(
        Shard(run=run, number=number) for run in runs for number in range(run.n_shards)
    )
    campaign.refresh_from_db(fields=["started_at"])
    poke(campaign_id=campaign.pk)


def _queued(campaign: Campaign, test: Test, turn) -> Run:
    return Run(
        campaign=campaign,
        test=test,
        target=test.endpoint.target,
        position=turn.position,
        repeat=turn.repeat,
        n_shards=test.injectors,
        snapshot=_frozen(test, campaign.seed).to_json(),
    )


def _frozen(test: Test, seed: int) -> FrozenRun:
    version, endpoint = test.plan_version, test.endpoint
    return FrozenRun(
        plan_json=plan_for(version.value(), test.injectors).to_json(),
        plan_name=version.plan.name,
        plan_number=version.number,
        endpoint=endpoint.frozen(),
        connection_mode=test.connection_mode,
        target=endpoint.target.name,
        environment=endpoint.target.environment,
        seed=seed,
        allowed_networks=tuple(settings.ALLOWED_NETWORKS),
    )


def _cell_of(test: Test) -> CampaignCell:
    return CampaignCell(test.plan_version, test.endpoint, test.connection_mode, test.injectors)


@transaction.atomic
def stop_campaign(*, by: Actor, campaign: Campaign) -> None:
    """Cancel queued runs and stop the active one; measured results are kept."""
    require(by, Action.STOP, campaign.project)
    under_way = Campaign.objects.filter(pk=campaign.pk, started_at__isnull=False, finished_at=None)
    if not under_way.exists():
        raise Refused("This campaign is not running; there is nothing to stop.")
    under_way.filter(stop_requested_at=None).update(
        stop_requested_at=Now(), stop_requested_by=by.user
    )
    lock_runs(campaign.runs.all())
    end_queued(campaign.runs.all(), Outcome.STOPPED, STOPPED_BEFORE)
    request_stop(campaign.runs.all(), StopReason.USER, by=by.user)
    campaign.refresh_from_db(fields=["stop_requested_at", "stop_requested_by"])
    poke(campaign_id=campaign.pk)


@transaction.atomic
def repeat_campaign(*, by: Actor, campaign: Campaign) -> Campaign:
    """A new draft with the same tests (the same plan versions) and a new random order."""
    related = ("plan_version__plan", "endpoint__target")
    tests = campaign.tests.select_related(*related).order_by("position")
    require(by, Action.EDIT, campaign.project)
    return _create(
        by,
        campaign.project,
        [_cell_of(test) for test in tests],
        name=campaign.name,
        repeats=campaign.repeats,
        order=campaign.order,
        pause_s=campaign.pause_s,
        practical_threshold=campaign.practical_threshold,
    )
