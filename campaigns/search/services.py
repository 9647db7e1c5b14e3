"""Search for a capacity: start one, and let each trial follow from those before it. The trials
decide: `advance_searches` reads them, asks the rule, and queues the next run, or stores how it
ended with its answer. All in one transaction under the campaign's lock, with the number of trials
as the key (one run for each test and repeat), so that it may be interrupted or done twice."""

from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet

from campaigns.campaigns.queries.cells import CampaignCell
from campaigns.campaigns.queries.checks import unreported_rule
from campaigns.campaigns.services.blocks import check_slots, queued_run, snapshot_of, store_runs
from campaigns.campaigns.services.campaigns import create_campaign, start_campaigns
from campaigns.core.database import db_now
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.analysis.capacity import CapacityAnswer, Ending, NextTrial
from campaigns.domain.errors import BenchsiteError, InvalidFields, InvalidPlan
from campaigns.domain.lifecycle import Outcome, RunState
from campaigns.domain.plan.estimates import estimate_test
from campaigns.domain.plan.load import MAX_RATE_PER_S
from campaigns.domain.plan.plan import MAX_WARM_UP_S, ConnectionMode, Plan
from campaigns.domain.plan.presets import PAUSE_S, trial_plan
from campaigns.domain.plan.threshold import parse_rule
from campaigns.domain.plan.turns import Turn
from campaigns.engine.services.endings import end_queued, lock_runs, stop_by_itself
from campaigns.live.notify import notify_viewers
from campaigns.models import Campaign, Project, Run, Search, Test
from campaigns.operations.queries import most_requests_per_s
from campaigns.operations.services.caps import require_room_for_load
from campaigns.probes.queries.first_requests import first_requests_of
from campaigns.probes.services.probes import send_again, send_first_requests
from campaigns.projects.services import require_secret
from campaigns.search import queries
from campaigns.targets.services import require_permitted

SHORTEST_TRIAL_S, LONGEST_TRIAL_S = 5.0, 600.0
LONGEST_SEARCH_S = 12 * 3600
_SILENT = "The target did not answer within {:g} s after the last trial."
_LATE = "It waited for other runs until the search's time was over."
_LONGEST_RUN_S = LONGEST_TRIAL_S + MAX_WARM_UP_S
_NO_OBJECTIVE = (
    "Say what must be kept, such as p95 < 300 ms: neither the search nor its plan has a rule."
)
_UNTOLD = (
    "No agent or exporter reported what {} needs in the last trial, so no rate can be judged "
    "by it. Check the agent or exporter on the target's page, then search again."
)


@transaction.atomic
def start_search(
    *,
    by: Actor,
    project: Project,
    name: str,
    cell: CampaignCell,
    start_per_s: float,
    limit_per_s: float,
    objective: Sequence[str] = (),
    trial_s: float = 20.0,
    longest_s: float = 3600.0,
    seed: int | None = None,
    when_quiet: bool = False,
) -> Campaign:
    """Search for the highest rate at which the objective is kept. Raises Forbidden, Refused, or
    InvalidFields by the names of these arguments. `limit_per_s` is never exceeded. `objective`:
    rules such as p95 < 300 ms; the plan's by default. `trial_s`: the measured part of a trial.
    `longest_s` after the first trial began no other begins. `when_quiet`: as of
    `start_campaign`."""
    require(by, Action.EDIT, project)  # who may edit may also start
    plan = plan_of_search(
        cell.plan_version.value(), start_per_s, limit_per_s, objective, trial_s, longest_s
    )
    if not plan.thresholds:
        raise InvalidFields({"objective": _NO_OBJECTIVE})
    # A rule about the target's machine is never kept while nobody tells what the machine does.
    if untold := unreported_rule(cell.endpoint.target, plan.thresholds):
        raise InvalidFields({"objective": untold})
    campaign = create_campaign(
        by=by,
        project=project,
        name=name,
        cells=[cell],
        repeats=1,
        order=Campaign.Order.LISTED,
        pause_s=PAUSE_S,
        seed=seed,
    )
    check_slots(project, [cell])
    require_secret(by=by, version=cell.plan_version, endpoint=cell.endpoint)
    require_permitted([cell.endpoint])
    search = Search.objects.create(
        campaign=campaign,
        start_per_s=start_per_s,
        limit_per_s=limit_per_s,
        trial_s=trial_s,
        longest_s=longest_s,
    )
    start_campaigns(
        by=by,
        campaigns=[campaign],
        when_quiet=when_quiet,
        queue=lambda **_: _queue(search, queries.action_of(search), plan),
    )
    campaign.refresh_from_db()
    return campaign


def plan_of_search(
    plan: Plan,
    start_per_s: float,
    limit_per_s: float,
    objective: Sequence[str],
    trial_s: float,
    longest_s: float,
) -> Plan:
    """As the first trial sends it; it may still lack an objective. Raises InvalidFields by the
    arguments of `start_search`."""
    try:
        rules = [parse_rule(each) for each in objective]
    except ValueError as fault:
        raise InvalidFields({"objective": str(fault)}) from None
    _check(start_per_s, limit_per_s, trial_s, longest_s)
    try:
        return trial_plan(plan, start_per_s, trial_s, rules)
    except InvalidPlan as invalid:
        errors = invalid.errors
    fault = " ".join(map(str, errors.values()))
    if all(name.startswith("thresholds") for name in errors):
        raise InvalidFields({"objective": fault})
    raise InvalidFields({"cell": f"This plan cannot be sent at a rate: {fault}"})


def _check(start_per_s: float, limit_per_s: float, trial_s: float, longest_s: float) -> None:
    """Raises InvalidFields, by the arguments of `start_search`."""
    most = min(most_requests_per_s() or MAX_RATE_PER_S, MAX_RATE_PER_S)
    rules = [
        (
            "start_per_s",
            0 < start_per_s <= limit_per_s,
            "Start above 0 requests/s, and not above the limit.",
        ),
        (
            "limit_per_s",
            limit_per_s <= most,
            f"The installation allows at most {most:,g} requests/s. Lower the limit.",
        ),
        (
            "trial_s",
            SHORTEST_TRIAL_S <= trial_s <= LONGEST_TRIAL_S,
            f"A trial takes {SHORTEST_TRIAL_S:g} to {LONGEST_TRIAL_S:g} s.",
        ),
        (
            "longest_s",
            trial_s <= longest_s <= LONGEST_SEARCH_S,
            "Let the search last one trial to 12 hours.",
        ),
    ]
    faults = {name: sentence for name, is_right, sentence in rules if not is_right}
    if faults:
        raise InvalidFields(faults)


def _queue(search: Search, trial: NextTrial, plan: Plan) -> dict[Campaign, list[Test]]:
    """`plan`: as the first trial sends it, with the objective."""
    campaign = search.campaign
    relations = ("plan_version__plan", "endpoint__target__project")
    test = campaign.tests.select_related(*relations).get()
    test.campaign = campaign
    plan_of_trial = trial_plan(plan, trial.rate_per_s, search.trial_s)
    mode = ConnectionMode(test.connection_mode)
    estimate = estimate_test(plan_of_trial, mode, campaign.pause_s, test.injectors)
    require_room_for_load(campaign.project, [estimate])
    run = queued_run(test, Turn(trial.number, trial.number, 0), snapshot_of(test, plan_of_trial))
    store_runs(campaign.project, [run], {test.pk: estimate})
    return {campaign: [test]}


# --- the dispatcher's rules ----------------------------------------------------------------------
def advance_searches() -> int:
    """Go on with every search that has no run to come; how many did."""
    idle = _going_on().exclude(campaign__runs__in=Run.objects.exclude(state=RunState.DONE))
    return sum(advance_search(campaign_id=pk) for pk in idle.values_list("pk", flat=True))


@transaction.atomic
def advance_search(*, campaign_id: int) -> bool:
    """Queue the trial that follows from the others, or store how it ended; whether it did."""
    campaign = Campaign.objects.select_for_update(no_key=True).get(pk=campaign_id)
    search = _going_on().select_related("campaign").filter(pk=campaign_id).first()
    if search is None or campaign.runs.exclude(state=RunState.DONE).exists():
        return False
    # Once, after the first trial: while that waited for others its time did not run.
    if search.deadline is None:
        began = search.campaign.runs.get(repeat=1).t0
        lasts = timedelta(seconds=search.longest_s)
        deadline = began + lasts if began else db_now(search.longest_s)
        Search.objects.filter(pk=search.pk).update(deadline=deadline)
        search.refresh_from_db(fields=["deadline"])
    from_outside = search.campaign.runs.filter(outcome__in=queries.FROM_OUTSIDE)
    is_stopped = search.campaign.stop_requested_at or from_outside.exists()
    # To go on would not help where nobody told what the objective needs.
    if not is_stopped and (untold := queries.unreported_rules(search)):
        is_stopped = stop_by_itself(campaign, _UNTOLD.format(" and ".join(untold)))
    action = queries.action_of(search, Ending.STOPPED if is_stopped else None)
    if isinstance(action, NextTrial) and _would_be_late(search):
        action = queries.action_of(search, Ending.DEADLINE)
    if isinstance(action, CapacityAnswer):
        _end(search, action.ending)
    else:
        _go_on(search, action)
    notify_viewers(campaign_id=campaign_id)
    return True


def _end(search: Search, ending: Ending) -> None:
    """Store how it ended with its answer, once: what is known of it never changes after."""
    report = queries.replayed_report(search, ending)
    answer = queries.to_store(report, queries.limiter_of_search(report))
    Search.objects.filter(pk=search.pk, ending=None).update(ending=ending, answer=answer)


def _go_on(search: Search, trial: NextTrial) -> None:
    """Queue the trial; a search that may not measure any more is stopped, and says why."""
    campaign = search.campaign
    try:
        with transaction.atomic():
            tests = _queue(search, trial, campaign.runs.get(repeat=1).frozen.plan)
            Campaign.objects.filter(pk=campaign.pk).update(repeats=trial.number)
            if trial.after_drain:
                # The next trial begins when the first request is answered again as the plan
                # expects.
                Campaign.objects.filter(pk=campaign.pk).update(
                    opened_at=None, held_at=None, quiet_by=None
                )
                campaign.first_requests.update(campaign=None)
                send_first_requests(by=Actor(user=campaign.created_by), tests=tests)
    except BenchsiteError as refusal:
        stop_by_itself(campaign, str(refusal))
        _end(search, Ending.STOPPED)


def _would_be_late(search: Search) -> bool:
    warm_up_s = search.campaign.tests.get().plan_version.value().warm_up_s
    lasts_s = search.trial_s + warm_up_s
    return Search.objects.filter(pk=search.pk, deadline__lt=db_now(lasts_s)).exists()


def end_late_searches() -> int:
    """End searches whose next trial has waited for others for so long that it could not end in time
    any more; how many did."""
    near = _going_on().filter(
        campaign__runs__state=RunState.QUEUED, deadline__lt=db_now(_LONGEST_RUN_S)
    )
    return sum(map(_end_late, near.select_related("campaign")))


@transaction.atomic
def _end_late(search: Search) -> bool:
    campaign = Campaign.objects.select_for_update(no_key=True).get(pk=search.pk)
    if not _would_be_late(search):
        return False
    lock_runs(campaign.runs.all())
    has_ended = bool(end_queued(campaign.runs.all(), Outcome.EXPIRED, _LATE))
    if has_ended:
        _end(search, Ending.DEADLINE)
    return has_ended


def ask_silent_targets() -> int:
    """Ask targets again that did not answer after a trial; after a minute the search ends."""
    return sum(_ask_again(search) for search in _waiting().select_related("campaign__created_by"))


def _ask_again(search: Search) -> bool:
    campaign = search.campaign
    recent = campaign.runs.filter(ended_at__gt=db_now(-queries.SILENT_AFTER_S))
    # An injector that fails says nothing about the target; the search's own time ends this.
    if not recent.exists() and not first_requests_of(campaign).are_injectors:
        return _end_silent(search, _SILENT.format(queries.SILENT_AFTER_S))
    try:
        send_again(by=Actor(user=campaign.created_by), campaign=campaign)
    except BenchsiteError as error:
        return _end_silent(search, str(error))
    return True


@transaction.atomic
def _end_silent(search: Search, reason: str) -> bool:
    """Unless somebody has started it anyway meanwhile; whether it ended."""
    Campaign.objects.select_for_update(no_key=True).get(pk=search.pk)
    has_stopped = _waiting().filter(pk=search.pk).exists() and stop_by_itself(
        search.campaign, reason
    )
    if has_stopped:
        _end(search, Ending.SILENT)
    return has_stopped


def _waiting() -> QuerySet[Search]:
    """Those whose target did not answer after a trial, and that nobody has started anyway."""
    return _going_on().filter(
        campaign__repeats__gt=1, campaign__held_at__isnull=False, campaign__opened_at=None
    )


def _going_on() -> QuerySet[Search]:
    return Search.objects.filter(
        ending=None, campaign__started_at__isnull=False, campaign__finished_at=None
    )
