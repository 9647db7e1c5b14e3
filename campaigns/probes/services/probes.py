"""Try one request: requested on a page, sent by the dispatcher, stored with every phase timed. The
queue of single requests: whose turn it is, and what ends without one. Each project has two lanes:
its campaigns' first requests, which come before all others, and what its people try. A lane with
nothing under way gets the next free slot; the longer a lane already holds slots, the more have to
be free for another one. So servers that say nothing never hold all. Before a campaign's first run:
one request for each of its plans and endpoints. Runs may begin once the campaign is open
(`opened_at`): when all of these were answered as their plans expect, or if it keeps going whatever
fails. Otherwise it is on hold (`held_at`), until somebody starts it anyway, tries again or stops
it, or until an hour is over; where the injector was the cause, it tries again by itself. They wait
for their turn as long as it takes (`probe_queue`), so also for as long as load is off."""

import time
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import (
    BooleanField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Window,
)
from django.db.models.functions import Now, RowNumber
from django.utils import timezone

from campaigns.campaigns.models import HELD_FOR
from campaigns.core.database import db_now
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.errors import BenchsiteError, InvalidPlan, Refused
from campaigns.domain.lifecycle import RunState
from campaigns.domain.metrics.certificates import chain_facts
from campaigns.domain.metrics.outcomes import CERTIFICATE_KINDS, CLIENT_KINDS
from campaigns.domain.plan.exchange import OPENING
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import AuthKind
from campaigns.domain.plan.step import BODIES, Redirects
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.domain.plan.typed_request import first_request
from campaigns.engine.queries.injector_hosts import busy_host
from campaigns.engine.services.dispatch import lock_admission
from campaigns.engine.services.endings import stop_by_itself
from campaigns.items.services import hold
from campaigns.live.notify import notify_viewers
from campaigns.models import (
    Campaign,
    Endpoint,
    PlanVersion,
    Probe,
    Project,
    Run,
    Schedule,
    Target,
    Test,
)
from campaigns.operations.queries import LOAD_IS_OFF, why_load_is_off
from campaigns.operations.services.load_control import require_load_on
from campaigns.plans.services import keep_bodies, load_bodies
from campaigns.probes.queries.first_requests import first_requests_of
from campaigns.probes.queries.probes import GIVEN_UP_AFTER, words_of_queue
from campaigns.projects.services import name_origin, require_secret, secret_of, secret_of_plan
from campaigns.targets.queries import networks_elsewhere, networks_for, policy

PROTOCOL = 1
# Shorter than a plan's: a person is waiting for the page.
TIMEOUTS = {"connect_s": 5, "tls_s": 5, "total_s": 15}
_STEP = ("label", "method", "path", "headers", *BODIES, "extract", "checks")
_SPOKEN = ("auth", "http_version", "redirects", "cookies")
MAX_SNIPPET = 4000
MAX_HEADERS = 200
MAX_MESSAGE = 20_000
# An injector that has no answer after so long is ended.
ANSWER_WITHIN_S = 40
# Of those without an answer that people try, so that each still gets its turn in time.
MOST_OF_ACCOUNT, MOST_OF_PROJECT = 50, 60


@transaction.atomic
def request_probe(
    *,
    by: Actor,
    endpoint: Endpoint,
    request: dict[str, Any],
    credentials_of: PlanVersion | None = None,
    is_guess: bool = False,
    http_version: str = "",
    redirects: str = "",
) -> Probe:
    """Enqueue one attempt. Raises InvalidPlan if the request is invalid. `request` is a plan step;
    on a WebSocket endpoint, an exchange's path, headers and subprotocols, and a message or None.
    `credentials_of`: send those of this plan of the project. `is_guess`: nobody named this
    endpoint; it is removed again if nothing answers there."""
    require(by, Action.RUN, endpoint.target.project)
    _hold_endpoints([endpoint])
    _require_room(by, endpoint.target.project)
    is_websocket = endpoint.scheme in WEBSOCKET_SCHEMES
    if is_websocket:
        message = request.get("message")
        values = {name: request[name] for name in OPENING}
        if len(message or "") > MAX_MESSAGE:
            raise InvalidPlan({"message": f"Use at most {MAX_MESSAGE:,} characters."})
        # The handshake as an exchange would store it; the method is always GET.
        spec = {"exchange": values, "load": {"model": "sequential", "requests": 1}}
        opening = Plan.from_json(spec).to_json()["exchange"]
        clean = {"method": "GET", "message": message or None}
        clean |= {name: opening[name] for name in values}
    else:
        # The step as a plan would have it; plans and probes share one reader.
        spec = {"steps": [request], "load": {"model": "sequential", "requests": 1}}
        step = Plan.from_json(spec).steps[0]
        keep_bodies(endpoint.target.project, [step])
        clean = step.to_json()
    if credentials_of is not None:
        clean |= _credentials(by, endpoint, credentials_of)
    if is_guess:
        clean["is_guess"] = True
    clean |= {"http_version": http_version} if http_version else {}
    if not is_websocket and redirects not in ("", Redirects.OFF):
        clean["redirects"] = redirects
    return Probe.objects.create(endpoint=endpoint, request=clean, requested_by=by.user)


@transaction.atomic
def request_first(
    *,
    by: Actor,
    version: PlanVersion,
    endpoint: Endpoint,
    campaign: Campaign | None = None,
    together: int = 1,
) -> Probe:
    """Enqueue the plan's first request to this endpoint, as a run would send it. With a campaign it
    is one of those that the campaign's first run waits for. `together`: how many are enqueued at
    the same time; many have less time each."""
    require(by, Action.RUN, endpoint.target.project)
    _hold_endpoints([endpoint])
    if campaign is None:
        _require_room(by, endpoint.target.project)
    probe = _first_probe(by, version, endpoint, campaign, together)
    probe.save()
    return probe


def _first_probe(
    by: Actor, version: PlanVersion, endpoint: Endpoint, campaign: Campaign | None, together: int
) -> Probe:
    """Not saved yet."""
    request = first_request(version.value(), together, epoch_ns=time.time_ns())
    request |= _credentials(by, endpoint, version)
    return Probe(
        plan_version=version,
        campaign=campaign,
        endpoint=endpoint,
        request=request,
        requested_by=by.user,
    )


def _hold_endpoints(endpoints: Sequence[Endpoint]) -> None:
    """Until the transaction ends, because a guess goes by itself when nothing answers there."""
    rows = Endpoint.objects.filter(pk__in=[each.pk for each in endpoints]).order_by("pk")
    there = set(rows.select_for_update(no_key=True).values_list("pk", flat=True))
    for endpoint in endpoints:
        if endpoint.pk not in there:
            raise Refused(f"{endpoint} was removed meanwhile. Add it to its target again.")
        if endpoint.archived_at or endpoint.target.archived_at:
            raise Refused(f"{endpoint} is archived. Requests can no longer be sent to it.")


def _require_room(by: Actor, project: Project) -> None:
    """Refuse one more request that somebody tries, while load is off or too many wait."""
    require_load_on()
    hold(project)  # so that two at once do not exceed the limit together
    open_probes = Probe.objects.filter(campaign=None, finished_at=None)
    for n_waiting, most, whose in (
        (open_probes.filter(requested_by=by.user), MOST_OF_ACCOUNT, "of yours"),
        (
            open_probes.filter(endpoint__target__project=project),
            MOST_OF_PROJECT,
            f"of {project.name}",
        ),
    ):
        if n_waiting.count() >= most:
            raise Refused(
                f"{most} test requests {whose} wait for a reply. Send the next one when one of "
                "them is answered."
            )


def _credentials(by: Actor, endpoint: Endpoint, version: PlanVersion) -> dict[str, Any]:
    """What the probe keeps of the plan's credentials: never the secret. Raises Refused if that may
    not be sent to this endpoint."""
    if version.plan.project_id != endpoint.target.project_id:
        raise Refused("A request can only use a plan of its own project.")
    auth = version.value().to_json()["auth"]
    if auth["kind"] == AuthKind.NONE:
        return {}
    name_origin(by=by, version=version, endpoint=endpoint)
    return {"auth": auth, "plan": version.plan_id}


def order_of(probe: Probe) -> dict[str, Any]:
    """The order for the injector program; see docs/injector.md."""
    place = probe.endpoint.target.project_id, probe.endpoint.host
    allowed, follows = networks_for(*place), probe.request.get("redirects") == Redirects.ALL
    request = probe.request
    values = {name: request[name] for name in _SPOKEN if name in request}
    if probe.endpoint.scheme not in WEBSOCKET_SCHEMES:
        values["step"] = {name: request[name] for name in _STEP if name in request}
    else:
        values["exchange"] = {name: request[name] for name in OPENING}
        values["exchange"] |= request.get("exchange", {})
        values["message"] = request["message"]
    return {
        "protocol": PROTOCOL,
        "probe": True,
        **values,
        **load_bodies(probe.endpoint.target.project_id, probe.request),
        "endpoint": probe.endpoint.frozen().to_order(),
        "secrets": {
            **secret_of(probe.endpoint),
            **secret_of_plan(probe.request.get("plan"), probe.endpoint),
        },
        "connection_mode": "new",
        "timeouts": probe.request.get("timeouts", TIMEOUTS),
        "policy": policy(allowed, networks_elsewhere(*place, allowed) if follows else None),
    }


def claim_probe(*, probe_id: int) -> Probe | None:
    """The probe, for whoever claims it first; None for all others."""
    waiting = Probe.objects.filter(pk=probe_id, finished_at=None, claimed_at=None)
    if not waiting.update(claimed_at=Now()):
        return None
    return Probe.objects.select_related("endpoint__target").get(pk=probe_id)


def finish_probe(*, probe_id: int, result: dict[str, Any]) -> bool:
    """Store the injector's result. A second result for the same probe changes nothing."""
    n_kept = Probe.objects.filter(pk=probe_id, finished_at=None).update(
        # The result, limited in size, with the certificates parsed.
        finished_at=timezone.now(),
        result=_without_nul(
            {
                **result,
                "snippet": str(result.get("snippet") or "")[:MAX_SNIPPET],
                "headers": list(result.get("headers") or [])[:MAX_HEADERS],
                "certificates": chain_facts(list(result.get("certificates_der_b64") or [])),
            }
        ),
    )
    if not n_kept:
        return False
    # A certificate that nobody vouches for is an answer, too.
    if not result.get("status") and result.get("error") not in CERTIFICATE_KINDS:
        _forget_guess(probe_id)
    for campaign in Campaign.objects.filter(first_requests=probe_id).values_list("pk", flat=True):
        notify_viewers(campaign_id=campaign)
    return True


def keep_guesses(target: Target) -> None:
    """Somebody has named the target's endpoints: none goes because nothing answers there."""
    for probe in Probe.objects.filter(endpoint__target=target, request__is_guess=True):
        del probe.request["is_guess"]
        probe.save(update_fields=["request"])


@transaction.atomic
def _forget_guess(probe_id: int) -> None:
    """Remove an endpoint that nobody named, unless somebody has named or used it meanwhile."""
    rows = Endpoint.objects.filter(probes=probe_id, probes__request__is_guess=True)
    # Whoever tries or saves the target holds it, and whoever uses the endpoint that: what they did
    # is there now, or begins after this.
    targets = Target.objects.filter(endpoints__in=rows.values("pk"))
    list(targets.select_for_update(of=("self",), no_key=True).values_list("pk"))
    list(rows.select_for_update(of=("self",)).order_by("pk").values_list("pk"))
    rows.filter(tests=None).exclude(probes__in=_with_names()).delete()


def is_only_guessed(endpoint: Endpoint) -> bool:
    """Whether nobody has named or used it."""
    rows = Endpoint.objects.filter(pk=endpoint.pk, tests=None, probes__isnull=False)
    return rows.exclude(probes__in=_with_names()).exists()


def _with_names() -> QuerySet[Probe]:
    return Probe.objects.exclude(request__has_key="is_guess")


def _without_nul(value: Any) -> Any:
    """PostgreSQL cannot store NUL, and a target may send it anywhere."""
    match value:
        case str():
            return value.replace("\x00", "�")
        case list():
            return [_without_nul(each) for each in value]
        case dict():
            return {_without_nul(key): _without_nul(each) for key, each in value.items()}
    return value


# Each slot is an injector process of some 40 MB. A lane that is alone gets 8 (`AT_ONCE`).
SLOTS, RESERVED = 20, 4
# Later there is no time for an answer within GIVEN_UP_AFTER. Nobody expects it any more, either.
SENT_WITHIN_S = GIVEN_UP_AFTER.total_seconds() - ANSWER_WITHIN_S
_STORED_WITHIN_S = 10
_RETRIED_AFTER_S = 60
_DIED = "The dispatcher stopped before it had an answer. Try again."
_LATE = "Not sent within {:.0f} s: {} Try again."
_STOPPED = "The campaign was stopped before the reply was there."


class Lane(NamedTuple):
    project: int
    is_first: bool


def claim_in_turn(*, busy: Collection[Probe], most: int = SLOTS) -> list[Probe]:
    """Claim up to `most` requests whose turn it is; `busy` are those that have a slot already.
    None while load is off."""
    if most <= 0 or len(busy) >= SLOTS or not (waiting := _waiting()):
        return []
    with transaction.atomic():
        # Whoever switches load off holds this lock too: nothing is claimed after that.
        lock_admission()
        if why_load_is_off():
            return []
        n_busy = Counter(
            Lane(each.endpoint.target.project_id, each.campaign_id is not None) for each in busy
        )
        pks_to_claim: list[int] = []
        free = SLOTS - n_busy.total()
        while len(pks_to_claim) < most:
            # One that holds some leaves others free.
            able = [
                lane
                for lane, pks in waiting.items()
                if pks and free > (n_busy[lane] + RESERVED if n_busy[lane] else 0)
            ]
            if not able:
                break
            lane = min(able, key=lambda each: (not each.is_first, n_busy[each], waiting[each][0]))
            pks_to_claim.append(waiting[lane].popleft())
            n_busy[lane] += 1
            free -= 1
        return [probe_now for pk in pks_to_claim if (probe_now := claim_probe(probe_id=pk))]


# Each first request is a process: those of 1,000 campaigns would delay the schedules that start
# them, and are delayed for this long at most.
_STARTS_FIRST_S = 20


def _waiting() -> dict[Lane, deque[int]]:
    """The oldest of each lane, as many as there are slots. First requests wait for schedules that
    are due."""
    is_first = Q(campaign__isnull=False)
    due = Schedule.objects.filter(next_at__range=(db_now(-_STARTS_FIRST_S), db_now()))
    in_time = (is_first & ~Exists(due)) | Q(campaign=None, requested_at__gt=db_now(-SENT_WITHIN_S))
    project = F("endpoint__target__project")
    place = Window(RowNumber(), partition_by=[project, is_first], order_by="pk")
    waiting = Probe.objects.filter(in_time, finished_at=None, claimed_at=None)
    heads = waiting.annotate(place=place).filter(place__lte=SLOTS).order_by("pk")
    lanes: dict[Lane, deque[int]] = defaultdict(deque)
    for pk, project_id, campaign in heads.values_list("pk", project, "campaign"):
        lanes[Lane(project_id, campaign is not None)].append(pk)
    return lanes


def unwanted(*, asked: Collection[int]) -> dict[int, dict[str, Any]]:
    """Of the requests under way those to end, each with its result: nobody waits for it any more,
    or load was switched off. Then campaigns that go on, as while load is drained, get theirs."""
    still_open = Probe.objects.filter(pk__in=asked, finished_at=None)
    pks = dict(still_open.values_list("pk", "campaign__stop_requested_at"))
    ends = {pk: _ended(_STOPPED) for pk in asked if pks.get(pk, True)}
    if why_load_is_off():
        singles = still_open.filter(campaign=None).values_list("pk", flat=True)
        ends |= {pk: _ended(LOAD_IS_OFF) for pk in singles}
    return ends


def died() -> dict[str, Any]:
    """The result of one under way when the dispatcher ended."""
    return _ended(_DIED)


def expire_probes() -> int:
    """Give overdue requests a result that says why; returns their number. A campaign's first
    requests wait for their turn as long as it takes; one that was being sent when the dispatcher
    died waits for no more than what a living one needs."""
    unfinished = Probe.objects.filter(finished_at=None)
    overdue = unfinished.filter(claimed_at__lt=db_now(-ANSWER_WITHIN_S - _STORED_WITHIN_S))
    ends = {pk: died() for pk in overdue.values_list("pk", flat=True)}
    unsent = unfinished.filter(campaign=None, claimed_at=None)
    if why_load_is_off():
        ends |= {pk: _unsent(LOAD_IS_OFF) for pk in unsent.values_list("pk", flat=True)}
    else:
        late = unsent.filter(requested_at__lte=db_now(-SENT_WITHIN_S))
        for probe in late.select_related("endpoint__target"):
            ends[probe.pk] = _unsent(_LATE.format(SENT_WITHIN_S, words_of_queue(probe)))
    return sum(finish_probe(probe_id=pk, result=result) for pk, result in ends.items())


def _unsent(why: str) -> dict[str, Any]:
    return {"type": "probe", "error": "client_other", "detail": why, "not_sent": True}


def _ended(why: str) -> dict[str, Any]:
    return {"type": "probe", "error": "client_other", "detail": why, "ended": True}


MAX_TRIED = 50


def send_first_requests(*, by: Actor, tests: Mapping[Campaign, Sequence[Test]]) -> None:
    """Enqueue one for each plan version and endpoint of each campaign of a project; modes and
    injectors make no difference. In its caller's transaction."""
    require(by, Action.RUN, next(iter(tests)).project)
    cells = [
        {(each.plan_version_id, each.endpoint_id): each for each in own}.values()
        for own in tests.values()
    ]
    _hold_endpoints([test.endpoint for own in cells for test in own])
    Probe.objects.bulk_create(
        _first_probe(by, test.plan_version, test.endpoint, test.campaign, len(own))
        for own in cells
        for test in own
    )


@transaction.atomic
def try_cells(*, by: Actor, cells: Sequence[tuple[PlanVersion, Endpoint]]) -> None:
    """Enqueue the same for cells of a campaign that does not exist yet. Raises Refused."""
    if not cells:
        raise Refused("Tick at least one cell to try.")
    if len(cells) > MAX_TRIED:
        raise Refused(f"At most {MAX_TRIED} plans and endpoints can be tried at once. Untick some.")
    for version, endpoint in cells:
        require_secret(by=by, version=version, endpoint=endpoint)
        request_first(by=by, version=version, endpoint=endpoint, together=len(cells))


@transaction.atomic
def settle_campaign(*, campaign_id: int) -> bool:
    """Open the campaign or hold it, once all its requests came back; whether it did. One that waits
    for quiet injector hosts opens when they are, or when it has waited long enough."""
    campaign = _waiting_campaigns().filter(pk=campaign_id, held_at=None).select_for_update().first()
    if campaign is None:
        return False
    responses = first_requests_of(campaign)
    if responses.waiting:
        return False
    is_open = campaign.keeps_going or not responses.wrong
    waits = _waiting_campaigns().filter(pk=campaign_id, quiet_by__gt=db_now())
    if is_open and campaign.quiet_by and busy_host() and waits.exists():
        return False
    _waiting_campaigns().filter(pk=campaign_id).update(
        **{"opened_at" if is_open else "held_at": Now()}
    )
    notify_viewers(campaign_id=campaign_id)
    return True


def settle_campaigns() -> int:
    """The same for all that have their answers, should the worker of the last one have died."""
    unanswered = Probe.objects.filter(campaign=OuterRef("pk"), finished_at=None)
    ready = _waiting_campaigns().filter(~Exists(unanswered), held_at=None)
    return sum(settle_campaign(campaign_id=pk) for pk in list(ready.values_list("pk", flat=True)))


def decide_held_campaigns() -> int:
    """Stop those that nobody has decided about for an hour. In the first hour of a campaign send
    again, each minute, what failed in the injector: neither target nor plan has anything to mend.
    Returns how many campaigns these were."""
    an_hour_s = HELD_FOR.total_seconds()
    is_forgotten = Q(held_at__lt=db_now(-an_hour_s))
    is_retried = Q(
        held_at__lt=db_now(-_RETRIED_AFTER_S),
        started_at__gt=db_now(-an_hour_s),
        first_requests__result__error__in=CLIENT_KINDS,
    )
    waiting = _waiting_campaigns().filter(is_forgotten | is_retried).select_related("created_by")
    waiting = waiting.annotate(
        is_forgotten=ExpressionWrapper(is_forgotten, BooleanField())
    ).distinct()
    n_decided = 0
    for campaign in waiting:
        if campaign.is_forgotten:
            failure = first_requests_of(campaign).failure
            words = f"Not started. {failure}. Nobody started it within an hour."
            n_decided += stop_by_itself(campaign, words)
        elif first_requests_of(campaign).are_injectors:
            # Whoever made it may have lost the right to; then it waits for somebody else.
            with suppress(BenchsiteError):
                n_decided += send_again(by=Actor(user=campaign.created_by), campaign=campaign)
    return n_decided


@transaction.atomic
def start_anyway(*, by: Actor, campaign: Campaign) -> None:
    """Let the runs begin, whatever came back. Raises Forbidden or Refused."""
    require(by, Action.RUN, campaign.project)
    if not _waiting_campaigns().filter(pk=campaign.pk).update(opened_at=Now(), held_at=None):
        raise Refused("This campaign does not wait for its first requests.")
    forget_unsent(campaign)
    notify_viewers(campaign_id=campaign.pk)


@transaction.atomic
def try_again(*, by: Actor, campaign: Campaign) -> None:
    """Send what failed once more, with the endpoints as they are now, which the runs then use too.
    Raises Forbidden or Refused."""
    require(by, Action.RUN, campaign.project)
    if not send_again(by=by, campaign=campaign):
        raise Refused("This campaign isn't paused.")
    # Nothing has run yet, so an accepted certificate, say, is part of the runs to come.
    runs = list(campaign.runs.filter(state=RunState.QUEUED).select_related("test__endpoint"))
    endpoints = {run.test.endpoint_id: run.test.endpoint for run in runs}
    frozen = {pk: endpoint.frozen().to_json() for pk, endpoint in endpoints.items()}
    for run in runs:
        run.snapshot |= {"endpoint": frozen[run.test.endpoint_id]}
    Run.objects.bulk_update(runs, ["snapshot"], batch_size=200)
    notify_viewers(campaign_id=campaign.pk)


@transaction.atomic
def send_again(*, by: Actor, campaign: Campaign) -> bool:
    """Send what failed once more, if the campaign is on hold; whether it was."""
    campaigns = _waiting_campaigns().filter(pk=campaign.pk, held_at__isnull=False)
    if not campaigns.select_for_update().exists():
        return False
    campaigns.update(held_at=None)
    failed = [each.probe for each in first_requests_of(campaign).wrong]
    values = {"by": by, "campaign": campaign, "together": len(failed)}
    for probe in failed:
        campaign.first_requests.filter(pk=probe.pk).update(campaign=None)
        request_first(version=probe.plan_version, endpoint=probe.endpoint, **values)
    return True


def forget_unsent(campaign: Campaign) -> None:
    """Take back the requests that no worker has picked up yet."""
    campaign.first_requests.filter(claimed_at=None, finished_at=None).delete()


def _waiting_campaigns():
    """The started campaigns whose runs may not begin yet."""
    return Campaign.objects.filter(
        started_at__isnull=False, opened_at=None, stop_requested_at=None, finished_at=None
    )
