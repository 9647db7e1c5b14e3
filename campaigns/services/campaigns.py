"""Making, starting, stopping and repeating campaigns."""

import secrets
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from campaigns.domain.blocks import order_of_runs
from campaigns.domain.errors import Refused
from campaigns.domain.lifecycle import Outcome
from campaigns.domain.plan import ConnectionMode, Model, late_start_fault
from campaigns.domain.target import TLS_SCHEMES, WEBSOCKET_SCHEMES
from campaigns.live.pokes import poke
from campaigns.models import Campaign, Endpoint, PlanVersion, Project, Run, Shard, Test
from campaigns.permissions import Action, Actor, require
from campaigns.services.plan_secrets import require_secret
from campaigns.services.runs import STOPPED_BEFORE, end_queued, lock_runs, request_stop

MAX_REPEATS = 50
MAX_INJECTORS = 64
MAX_PAUSE_S = 3600
# More would hold a team's injectors for days; it is also what a page can still show.
MAX_RUNS = 2000


@dataclass(frozen=True, slots=True)
class Cell:
    """One plan on one arm: what becomes a test of a campaign."""

    plan_version: PlanVersion
    endpoint: Endpoint
    connection_mode: str


@transaction.atomic
def create_campaign(
    *,
    by: Actor,
    project: Project,
    name: str,
    cells: list[Cell],
    repeats: int,
    order: str,
    pause_s: float,
    injectors: int = 1,
    practical_threshold: float = 0.05,
    seed: int | None = None,
) -> Campaign:
    """A draft with its tests. Raises Forbidden, or Refused with what would be right."""
    require(by, Action.EDIT, project)
    _check_numbers(name, repeats, order, pause_s, injectors, practical_threshold)
    _check_cells(project, cells, repeats, injectors)
    campaign = Campaign.objects.create(
        project=project,
        name=name.strip(),
        order=order,
        repeats=repeats,
        pause_s=pause_s,
        injectors=injectors,
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
        )
        for position, cell in enumerate(cells)
    )
    return campaign


def _check_numbers(name, repeats, order, pause_s, injectors, practical_threshold) -> None:
    rules = [
        (0 < len(name.strip()) <= 150, "Give the campaign a name of at most 150 characters."),
        (1 <= repeats <= MAX_REPEATS, f"Repeat 1 to {MAX_REPEATS} times."),
        (order in Campaign.Order.values, f"Choose an order: {', '.join(Campaign.Order.values)}."),
        (0 <= pause_s <= MAX_PAUSE_S, f"Pause 0 to {MAX_PAUSE_S} s between two runs."),
        (1 <= injectors <= MAX_INJECTORS, f"Use 1 to {MAX_INJECTORS} injectors for each run."),
        (0 <= practical_threshold < 1, "Write the practical threshold as 0 up to below 1 (5 %)."),
    ]
    for is_right, sentence in rules:
        if not is_right:
            raise Refused(sentence)


def _check_cells(project: Project, cells: list[Cell], repeats: int, injectors: int) -> None:
    if not cells:
        raise Refused("Choose at least one plan and one endpoint.")
    if len(cells) * repeats > MAX_RUNS:
        raise Refused(
            f"{len(cells)} tests × {repeats} repeats are {len(cells) * repeats} runs; "
            f"at most {MAX_RUNS}. Make two campaigns."
        )
    keys = {(cell.plan_version.pk, cell.endpoint.pk, cell.connection_mode) for cell in cells}
    if len(keys) < len(cells):
        raise Refused("The same plan on the same endpoint and connection mode is listed twice.")
    for cell in cells:
        _check_cell(project, cell)
        _check_share(cell, injectors)


def _check_cell(project: Project, cell: Cell) -> None:
    plan, endpoint = cell.plan_version.plan, cell.endpoint
    if plan.project_id != project.pk or endpoint.target.project_id != project.pk:
        raise Refused("A campaign uses plans and targets of its own project only.")
    if plan.archived_at:
        raise Refused(f"The plan {plan.name} is archived. Choose another.")
    if endpoint.archived_at or endpoint.target.archived_at:
        raise Refused(f"The endpoint {endpoint} is archived. Choose another.")
    if cell.connection_mode not in list(ConnectionMode):
        raise Refused(f"Choose a connection mode: {', '.join(ConnectionMode)}.")
    if cell.connection_mode == ConnectionMode.RESUMED and endpoint.scheme not in TLS_SCHEMES:
        raise Refused(f"{endpoint} has no TLS session to resume. Choose new or keep-alive.")
    _check_protocol(cell)


def _check_protocol(cell: Cell) -> None:
    """An exchange is for WebSocket endpoints, steps are for HTTP."""
    is_exchange = cell.plan_version.value().exchange is not None
    if is_exchange != (cell.endpoint.scheme in WEBSOCKET_SCHEMES):
        wanted = "a ws or wss" if is_exchange else "an http or https"
        raise Refused(f"{cell.plan_version} needs {wanted} endpoint, which {cell.endpoint} is not.")
    if is_exchange and cell.connection_mode == ConnectionMode.KEEP_ALIVE:
        raise Refused("A WebSocket is opened anew each time. Choose new connections, or resumed.")


def _check_share(cell: Cell, injectors: int) -> None:
    """Each injector gets a part of the connections and requests, so there must be enough."""
    load = cell.plan_version.value().load
    if load.model == Model.SEQUENTIAL and injectors > 1:
        raise Refused(f"{cell.plan_version} sends one request after the other: use one injector.")
    for count, noun in ((load.connections, "connections"), (load.requests, "requests")):
        if count is not None and count < injectors:
            raise Refused(f"{cell.plan_version} has {count} {noun}: too few for {injectors}.")
    fault = late_start_fault(load, injectors)
    if fault:
        raise Refused(f"{cell.plan_version}: {fault}. Use fewer injectors or a longer load.")


@transaction.atomic
def start_campaign(*, by: Actor, campaign: Campaign) -> None:
    """Queue all runs in their order, each with its frozen copy of what it will do. Once only."""
    require(by, Action.RUN, campaign.project)
    if not Campaign.objects.filter(pk=campaign.pk, started_at=None).update(started_at=Now()):
        raise Refused("This campaign was started before. Repeat it to measure again.")
    related = ("plan_version__plan__project", "endpoint__target__project")
    tests = list(campaign.tests.select_related(*related).order_by("position"))
    cells = [Cell(test.plan_version, test.endpoint, test.connection_mode) for test in tests]
    _check_cells(campaign.project, cells, campaign.repeats, campaign.injectors)
    for cell in cells:
        require_secret(cell.plan_version)
    turns = order_of_runs(
        len(tests),
        campaign.repeats,
        is_random=campaign.order == Campaign.Order.BLOCKS,
        seed=campaign.seed,
    )
    runs = Run.objects.bulk_create(_queued(campaign, tests[turn.test], turn) for turn in turns)
    numbers = range(campaign.injectors)
    Shard.objects.bulk_create(Shard(run=run, number=number) for run in runs for number in numbers)
    campaign.refresh_from_db(fields=["started_at"])
    poke(campaign_id=campaign.pk)


def _queued(campaign: Campaign, test: Test, turn) -> Run:
    return Run(
        campaign=campaign,
        test=test,
        target=test.endpoint.target,
        position=turn.position,
        repeat=turn.repeat,
        n_shards=campaign.injectors,
        snapshot=_snapshot(test, campaign.seed),
    )


def _snapshot(test: Test, seed: int) -> dict:
    """All that decides what is sent, copied: later edits change no run."""
    version, endpoint = test.plan_version, test.endpoint
    return {
        "plan": version.value().to_json(),
        "plan_name": version.plan.name,
        "plan_number": version.number,
        "endpoint": endpoint.frozen(),
        "connection_mode": test.connection_mode,
        "target": endpoint.target.name,
        "environment": endpoint.target.environment,
        "seed": seed,
        "policy": {"allow": list(settings.ALLOWED_NETWORKS)},
    }


@transaction.atomic
def stop_campaign(*, by: Actor, campaign: Campaign) -> None:
    """End the runs that wait and stop the one under way; what was measured is kept."""
    require(by, Action.STOP, campaign.project)
    under_way = Campaign.objects.filter(pk=campaign.pk, started_at__isnull=False, finished_at=None)
    if not under_way.exists():
        raise Refused("This campaign is not running; there is nothing to stop.")
    under_way.filter(stop_requested_at=None).update(
        stop_requested_at=Now(), stop_requested_by=by.user
    )
    lock_runs(campaign.runs.all())
    end_queued(campaign.runs.all(), Outcome.STOPPED, STOPPED_BEFORE)
    request_stop(campaign.runs.all(), "user", by=by.user)
    campaign.refresh_from_db(fields=["stop_requested_at", "stop_requested_by"])
    poke(campaign_id=campaign.pk)


def repeat_campaign(*, by: Actor, campaign: Campaign) -> Campaign:
    """A new draft with the same tests (the same plan versions) and a new random order."""
    related = ("plan_version__plan", "endpoint__target")
    tests = campaign.tests.select_related(*related).order_by("position")
    return create_campaign(
        by=by,
        project=campaign.project,
        name=campaign.name,
        cells=[Cell(test.plan_version, test.endpoint, test.connection_mode) for test in tests],
        repeats=campaign.repeats,
        order=campaign.order,
        pause_s=campaign.pause_s,
        injectors=campaign.injectors,
        practical_threshold=campaign.practical_threshold,
    )
