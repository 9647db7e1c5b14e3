"""Create, start, stop and repeat campaigns, with the reference that a campaign may send along. A
whole study as a draft: the file sets of the Uniserve study on several targets, or on one with what
its machine does meanwhile."""

import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models.functions import Now

from campaigns.campaigns.models import UNDER_WAY
from campaigns.campaigns.queries.cells import (
    CELL_FIELDS,
    MAX_REPEATS,
    CampaignCell,
    cell_of,
    cells_of_sweep,
    why_in_blocks,
)
from campaigns.campaigns.queries.references import (
    reference_endpoint,
    reference_version,
    why_no_reference,
)
from campaigns.campaigns.services.blocks import check_cells, queue_blocks
from campaigns.core import audit
from campaigns.core.database import db_now, text_faults
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.caps import CAMPAIGNS
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.lifecycle import Outcome, StopReason
from campaigns.domain.metrics.profiles import PerfOf
from campaigns.domain.plan.addresses import is_local
from campaigns.domain.plan.load import MAX_INJECTORS
from campaigns.domain.plan.plan import (
    REFERENCE_MODE,
    REFERENCE_NAME,
    REFERENCE_PLAN,
    ConnectionMode,
)
from campaigns.domain.plan.presets import FILE_SET_REPEATS, file_sets, lasting_file_sets
from campaigns.domain.plan.sweep import Sweep
from campaigns.domain.plan.turns import LIMIT_S, LONGEST_LIMIT_S, USUAL_BLOCKS
from campaigns.domain.typed_text import (
    REFERENCE_TAG,
    Content,
    check_unchanged,
    clean_name,
    storable,
)
from campaigns.engine.services.endings import (
    STOPPED_BEFORE,
    StopCall,
    call,
    end_queued,
    lock_runs,
    request_stop,
)
from campaigns.items.services import free_name, hold
from campaigns.live.notify import notify_viewers
from campaigns.models import Campaign, Project, SavedPlan, Target, Test
from campaigns.notes.services import add_note
from campaigns.operations.models import AuditEvent
from campaigns.operations.services.caps import require_room
from campaigns.plans.services import create_plan, plan_of_spec
from campaigns.probes.services.probes import forget_unsent, send_first_requests, start_anyway
from campaigns.targets.services import create_target, keep_target


@transaction.atomic
def reference_cell(*, by: Actor, project: Project) -> CampaignCell:
    """What the project measures as its reference. Target and plan are made once; whoever comes at
    the same time waits and finds them. Raises Forbidden, or Refused with what to do."""
    require(by, Action.EDIT, project)
    if why := why_no_reference():
        raise Refused(why)
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    endpoint, version = reference_endpoint(project), reference_version(project)
    if endpoint is None:
        target = create_target(
            by=by,
            project=project,
            name=free_name(REFERENCE_NAME, project.targets.values_list("name", flat=True)),
            environment=[],
            endpoints=[settings.REFERENCE_TARGET],
        )
        Target.objects.filter(pk=target.pk).update(tags=[REFERENCE_TAG])
        endpoint = target.endpoints.select_related("target").get()
    if version is None:
        version = create_plan(
            by=by,
            project=project,
            name=free_name(REFERENCE_NAME, project.plans.values_list("name", flat=True)),
            spec=REFERENCE_PLAN.to_json(),
        )
        SavedPlan.objects.filter(pk=version.plan_id).update(tags=[REFERENCE_TAG])
    return CampaignCell(version, endpoint, REFERENCE_MODE)


MAX_PAUSE_S = 3600
QUIET_WITHIN_S = 1800
# What the form of a draft says, beside its tests.
_EDITED = ["name", "order", "repeats", "pause_s", "injectors", "practical_threshold"]
_EDITED += ["keeps_going", "perf", "profile", "seed", "limit_s", "until_settled"]
# Not what a repeated campaign takes over: the cells have the one, and the other is random.
_DRAWN_ANEW = {"injectors", "seed"}


@transaction.atomic
def create_campaign(
    *,
    by: Actor,
    project: Project,
    name: str,
    cells: list[CampaignCell],
    repeats: int | None = None,
    order: str = "",
    pause_s: float = 2.0,
    injectors: int = 1,
    sweep: Sweep | None = None,
    practical_threshold: float = 0.05,
    seed: int | None = None,
    keeps_going: bool = False,
    perf: str = "",
    profile: bool = False,
    reference: bool = False,
    limit_s: float | None = None,
    until_settled: bool = True,
    is_more: bool = True,
) -> Campaign:
    """A draft with its tests. Raises Forbidden, or Refused with what to change. With a `sweep`,
    every cell becomes one test for each of its values. `order`: "" for side by side where all loads
    allow it, else blocks; `repeats`: None for one pass side by side, or five blocks. `limit_s` and
    `until_settled`: as of `plan.turns.TurnsOrder`. `keeps_going`: make all runs even if
    everything fails in one. `perf`: a PerfOf, what the targets' agents count; `profile`: record
    where the CPU time goes, too. `reference`: measure the installation's own target in each block
    as well. Not `is_more`: it takes another campaign's place."""
    require(by, Action.EDIT, project)
    if is_more:
        require_room(project, {CAMPAIGNS: 1})
    cells = cells_of_sweep(cells, injectors, sweep)
    if reference and (own := reference_cell(by=by, project=project)) not in cells:
        cells.append(own)
    values = {"pause_s": pause_s, "keeps_going": keeps_going, "perf": perf, "limit_s": limit_s}
    values |= {"practical_threshold": practical_threshold, "until_settled": until_settled}
    values |= {"profile": profile}
    (campaign,) = _create(_draft(by, project, cells, name, repeats, order, seed, **values))
    return campaign


SOURCE = ("commit", "branch", "link")


@transaction.atomic
def describe_source(*, by: Actor, campaign: Campaign, note: str = "", **source: str) -> None:
    """Store what the campaign measures, by the names of SOURCE, and its first note. Raises
    Forbidden, InvalidFields."""
    require(by, Action.EDIT, campaign.project)
    values = {name: storable(text) for name, text in source.items()}
    if faults := text_faults(Campaign, values):
        raise InvalidFields(faults)
    if values:
        Campaign.objects.filter(pk=campaign.pk).update(**values)
    if note.strip():
        add_note(by=by, of=campaign, text=note)


@transaction.atomic
def edit_draft(
    *, by: Actor, campaign: Campaign, opened: str | None = None, **values: Any
) -> Campaign:
    """Replace what a draft will measure by the `values` of `create_campaign`; its number, tags and
    maker stay. `opened`: what the form was opened with. Raises Forbidden, ChangedMeanwhile, and
    Refused once it was started."""
    require(by, Action.EDIT, campaign.project)
    drafts = Campaign.objects.outside_trash().filter(pk=campaign.pk, started_at=None)
    drafts = drafts.select_for_update(of=("self",))
    draft = drafts.first()
    if draft is None:
        raise Refused("This campaign has already been started. Run it again with these changes.")
    new_draft = create_campaign(by=by, project=campaign.project, is_more=False, **values)
    check_unchanged(opened, stored=content_of(draft), wanted=content_of(new_draft))
    for name in _EDITED:
        setattr(draft, name, getattr(new_draft, name))
    draft.save(update_fields=_EDITED)
    draft.tests.all().delete()
    new_draft.tests.update(campaign=draft)
    new_draft.delete()
    return draft


def content_of(draft: Campaign) -> Content:
    """What `edit_draft` replaces."""
    tests = sorted([*row] for row in draft.tests.values_list(*CELL_FIELDS))
    return {**{name: getattr(draft, name) for name in _EDITED}, "tests": tests}


def _create(*campaigns: tuple[Campaign, list[CampaignCell]]) -> list[Campaign]:
    """Store these drafts of one project."""
    cells = [cell for _, own in campaigns for cell in own]
    for target in {cell.endpoint.target_id: cell.endpoint.target for cell in cells}.values():
        if not target.is_kept:
            keep_target(target)
    drafts = Campaign.objects.bulk_create(campaign for campaign, _ in campaigns)
    Test.objects.bulk_create(
        Test(
            campaign=campaign,
            position=position,
            **{each: getattr(cell, each) for each in CELL_FIELDS},
        )
        for campaign, own in campaigns
        for position, cell in enumerate(own)
    )
    # Now, and not when the draft is stored; nobody can delete it from here on until then.
    try:
        connection.check_constraints()
    except IntegrityError:
        raise Refused(
            "A plan or an endpoint of this campaign was deleted meanwhile. Choose others."
        ) from None
    return drafts


def _draft(
    by: Actor,
    project: Project,
    cells: list[CampaignCell],
    name: str,
    repeats: int | None,
    order: str,
    seed: int | None = None,
    **values: Any,
) -> tuple[Campaign, list[CampaignCell]]:
    """Not stored yet. Raises Refused."""
    counts = [cell.injectors for cell in cells] or [1]
    limit_s, perf = values["limit_s"], values["perf"]
    why = why_in_blocks(cells, limit_s) if order in {"", Campaign.Order.SIDE_BY_SIDE} else ""
    if why and order:
        raise Refused(f"{why} Choose counterbalanced blocks.")
    order = order or (Campaign.Order.BLOCKS if why else Campaign.Order.SIDE_BY_SIDE)
    if repeats is None:
        repeats = 1 if order == Campaign.Order.SIDE_BY_SIDE else USUAL_BLOCKS
    _check_numbers(name, repeats, order, counts, **values)
    if perf not in list(PerfOf):
        raise Refused("perf stat counts processes, machine, or nothing.")
    check_cells(project, cells, repeats)
    campaign = Campaign(
        project=project,
        name=clean_name(name),
        order=order,
        repeats=repeats,
        injectors=max(counts),
        **values,
        seed=secrets.randbelow(2**31) if seed is None else seed,
        created_by=by.user,
    )
    return campaign, cells


def _check_numbers(
    name, repeats, order, counts, *, pause_s, practical_threshold, limit_s, **_others
) -> None:
    rules = [
        (0 < len(clean_name(name)) <= 150, "Give the campaign a name of at most 150 characters."),
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
        (
            1 <= (limit_s or LIMIT_S) <= LONGEST_LIMIT_S,
            f"Measure for 1 to {LONGEST_LIMIT_S} s side by side.",
        ),
    ]
    for is_right, sentence in rules:
        if not is_right:
            raise Refused(sentence)


@transaction.atomic
def start_campaign(
    *, by: Actor, campaign: Campaign, anyway: bool = False, when_quiet: bool = False
) -> None:
    """Queue all runs, only once, and send the first requests. `anyway`: do not wait for these, or
    no longer. `when_quiet`: the first run also waits for quiet injector hosts, for QUIET_WITHIN_S
    at most. Raises Forbidden or Refused."""
    project = campaign.project
    require(by, Action.RUN, project)
    if anyway and when_quiet:
        raise Refused("Start it anyway, or when the machine is quiet.")
    if anyway and campaign.is_before_first_run:
        start_anyway(by=by, campaign=campaign)
        return
    start_campaigns(by=by, campaigns=[campaign], when_quiet=when_quiet, anyway=anyway)
    campaign.refresh_from_db()
    campaign.project = project


def start_campaigns(
    *,
    by: Actor,
    campaigns: Sequence[Campaign],
    when_quiet: bool = False,
    anyway: bool = False,
    queue: Callable[..., dict[Campaign, list[Test]]] = queue_blocks,
) -> None:
    """Start drafts of one project, in its caller's transaction: all of them or, with Forbidden or
    Refused, none. `queue`: what queues their runs and returns the tests that begin."""
    project = campaigns[0].project
    require(by, Action.RUN, project)
    hold(project)  # so that nobody deletes it meanwhile
    numbers = [campaign.pk for campaign in campaigns]
    start = {"started_at": Now(), "quiet_by": db_now(QUIET_WITHIN_S) if when_quiet else None}
    start |= {"opened_at": Now()} if anyway else {}
    # Without a join, so that of two at once one updates nothing.
    drafts = Campaign.objects.filter(pk__in=numbers, started_at=None, deleted_at=None)
    if drafts.update(**start) < len(campaigns):
        for campaign in campaigns:
            hold(campaign)  # which refuses one that is gone
        raise Refused("This campaign has already been started. Repeat it to measure again.")
    # As they are now: somebody may have edited or archived a draft since its row was read.
    rows = list(Campaign.objects.filter(pk__in=numbers).order_by("pk"))
    for campaign in rows:
        campaign.project = project
    tests = queue(by=by, campaigns=rows)
    labels = map(audit.label_of, rows)
    audit.note_each(by, AuditEvent.CAMPAIGN_STARTED, labels, project=project)
    if not anyway:
        send_first_requests(by=by, tests=tests)
    for number in numbers:
        notify_viewers(campaign_id=number)


def stop_campaign(*, by: Actor, campaign: Campaign) -> None:
    """Cancel queued runs and stop the active one; measured results are kept."""
    require(by, Action.STOP, campaign.project)
    call(StopCall(StopReason.USER, campaign=campaign.pk))
    _store_stop(by, campaign)


def stop_all_of_project(*, by: Actor, project: Project) -> int:
    """Stop every campaign of the project that is under way; their number. All are called before
    the first is stored, so that their load ends together."""
    require(by, Action.ADMINISTER, project)
    under_way = list(project.campaigns.filter(UNDER_WAY))
    call(*(StopCall(StopReason.USER, campaign=campaign.pk) for campaign in under_way))
    for campaign in under_way:
        with suppress(Refused):  # it has ended meanwhile
            _store_stop(by, campaign)
    return len(under_way)


@transaction.atomic
def _store_stop(by: Actor, campaign: Campaign) -> None:
    under_way = Campaign.objects.filter(UNDER_WAY, pk=campaign.pk)
    if not under_way.exists():
        raise Refused("This campaign isn't running.")
    request = {"stop_requested_at": Now(), "stop_requested_by": by.user}
    if under_way.filter(stop_requested_at=None).update(**request):
        audit.note(
            by, AuditEvent.CAMPAIGN_STOPPED, audit.label_of(campaign), project=campaign.project
        )
    lock_runs(campaign.runs.all())
    forget_unsent(campaign)
    end_queued(campaign.runs.all(), Outcome.STOPPED, STOPPED_BEFORE)
    request_stop(campaign.runs.all(), StopReason.USER, by=by.user)
    campaign.refresh_from_db(fields=["stop_requested_at", "stop_requested_by"])
    notify_viewers(campaign_id=campaign.pk)


def repeat_campaign(*, by: Actor, campaign: Campaign) -> Campaign:
    """As `repeat_campaigns`, with the same name."""
    (again,) = repeat_campaigns(by=by, project=campaign.project, campaigns=[campaign])
    return again


@transaction.atomic
def repeat_campaigns(
    *, by: Actor, project: Project, campaigns: Sequence[Campaign], names: Sequence[str] = ()
) -> list[Campaign]:
    """A new draft of each, in their order, with the same tests (the same plan versions) and a new
    random order; with the same names unless others are given. Raises Forbidden or Refused."""
    require(by, Action.EDIT, project)
    originals = Campaign.objects.outside_trash().select_for_update(of=("self",), no_key=True)
    numbers = {campaign.pk for campaign in campaigns}
    originals = {
        row.pk: row
        for row in originals.select_related("search").filter(pk__in=numbers).order_by("pk")
    }
    for campaign in campaigns:
        if campaign.pk not in originals:
            raise Refused(f"{campaign.name} has been deleted.")
        if hasattr(originals[campaign.pk], "search"):
            raise Refused("A search is started anew: choose Search again on its page.")
    cells: dict[int, list[CampaignCell]] = {number: [] for number in numbers}
    relations = ("plan_version__plan", "endpoint__target")
    tests = Test.objects.filter(campaign__in=numbers).select_related(*relations)
    for test in tests.order_by("position"):
        cells[test.campaign_id].append(cell_of(test))
    require_room(project, {CAMPAIGNS: len(campaigns)})
    drafts = []
    for campaign, name in zip(campaigns, names or [None] * len(campaigns), strict=True):
        original = originals[campaign.pk]
        values = {each: getattr(original, each) for each in _EDITED if each not in _DRAWN_ANEW}
        values |= {"name": name or original.name}
        drafts.append(_draft(by, project, list(cells[campaign.pk]), **values))
    return _create(*drafts)


@transaction.atomic
def look_at_campaigns(*, by: Actor, campaigns: Sequence[Campaign]) -> None:
    """Say that somebody has looked at what went wrong in these; what is not finished stays as it
    is. Runs that are added later need a look of their own. Raises Forbidden."""
    for project in {campaign.project for campaign in campaigns}:
        require(by, Action.EDIT, project)
    over = Campaign.objects.filter(finished_at__isnull=False)
    over.filter(pk__in=[campaign.pk for campaign in campaigns]).update(
        looked_at=Now(), looked_by=by.user
    )


MOST_TARGETS = 8


@transaction.atomic
def create_file_set_study(*, by: Actor, project: Project, targets: Sequence[Target]) -> Campaign:
    """A draft of these targets: L1 to L3 on their HTTP endpoints on the injectors' own host, R1 to
    R3 on those elsewhere, each on new connections. Raises Forbidden or Refused."""
    require(by, Action.EDIT, project)
    if not 2 <= len(targets) <= MOST_TARGETS:
        raise Refused(f"Tick 2 to {MOST_TARGETS} targets to compare.")
    cells = [cell for target in targets for cell in _cells(by, project, target, file_sets)]
    names = ", ".join(target.name for target in targets)
    return _study(by, project, f"File sets: {names}", cells)


@transaction.atomic
def create_machine_study(*, by: Actor, project: Project, target: Target) -> Campaign:
    """A draft of L1 to L3, or R1 to R3, on one target, for as long as they took in the study: an
    agent samples once a second. Raises Forbidden or Refused."""
    require(by, Action.EDIT, project)
    cells = _cells(by, project, target, lasting_file_sets)
    return _study(by, project, f"File sets and machine: {target.name}", cells)


def _study(by: Actor, project: Project, name: str, cells: Sequence[CampaignCell]) -> Campaign:
    """The actor's draft of it, where it is as the study made it."""
    name, cells = name[:150], sorted(cells, key=lambda cell: cell.plan_version.plan.name)
    mine = Campaign.objects.outside_trash().filter(created_by=by.user, project=project, name=name)
    for draft in mine.filter(started_at=None, archived_at=None):
        tests = draft.tests.select_related("plan_version__plan", "endpoint__target")
        if [cell_of(test) for test in tests.order_by("position")] == cells:
            return draft
    return create_campaign(
        by=by,
        project=project,
        name=name,
        cells=cells,
        repeats=FILE_SET_REPEATS,
        order=Campaign.Order.BLOCKS,
        pause_s=2,
    )


def _cells(
    by: Actor, project: Project, target: Target, sets: Callable[..., dict[str, dict[str, Any]]]
) -> list[CampaignCell]:
    endpoints = list(target.endpoints.filter(archived_at=None, scheme="http").order_by("pk"))
    if not endpoints:
        raise Refused(f"{target.name} has no HTTP endpoint. Add one, or untick it.")
    near = [each for each in endpoints if is_local(each.host)]
    far = [each for each in endpoints if not is_local(each.host)]
    candidates = [*((True, each) for each in near[:1]), *((False, each) for each in far[:1])]
    return [
        CampaignCell(plan_of_spec(by, project, name, spec), endpoint, ConnectionMode.NEW)
        for local, endpoint in candidates
        for name, spec in sets(local=local).items()
    ]
