"""Try one request: requested on a page, sent by the dispatcher, stored with every phase timed."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from campaigns.domain.errors import InvalidPlan, Refused
from campaigns.domain.measured.certificates import chain_facts
from campaigns.domain.measured.outcomes import CERTIFICATE_KINDS
from campaigns.domain.plan.first_request import first_request
from campaigns.domain.plan.plan import Plan
from campaigns.domain.plan.session import AuthKind
from campaigns.domain.plan.target import WEBSOCKET_SCHEMES
from campaigns.live.notify import notify_viewers
from campaigns.models import Campaign, Endpoint, PlanVersion, Probe, Project, Target
from campaigns.permissions import Action, Actor, require
from campaigns.queries.ownership import networks_for
from campaigns.services.items import hold
from campaigns.services.load_control import require_load_on
from campaigns.services.own_services import policy
from campaigns.services.plan_secrets import name_origin, secret_of_plan
from campaigns.services.vault import secret_of

PROTOCOL = 1
# Shorter than a plan's: a person is waiting for the page.
TIMEOUTS = {"connect_s": 5, "tls_s": 5, "total_s": 15}
_STEP = ("label", "method", "path", "headers", "body", "extract")
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
) -> Probe:
    """Enqueue one attempt. Raises InvalidPlan if the request is invalid.

    `request` is a plan step; on a WebSocket endpoint, an exchange's path, headers and subprotocols,
    and a message or None. `credentials_of`: send those of this plan of the project. `is_guess`:
    nobody named this endpoint; it is removed again if nothing answers there.
    """
    _require_endpoint(by, endpoint)
    _require_room(by, endpoint.target.project)
    is_websocket = endpoint.scheme in WEBSOCKET_SCHEMES
    cleaned = _clean_opening(request) if is_websocket else _clean_step(request)
    if credentials_of is not None:
        cleaned |= _credentials(by, endpoint, credentials_of)
    if is_guess:
        cleaned["is_guess"] = True
    return Probe.objects.create(endpoint=endpoint, request=cleaned, requested_by=by.user)


@transaction.atomic
def request_first(
    *,
    by: Actor,
    version: PlanVersion,
    endpoint: Endpoint,
    campaign: Campaign | None = None,
    together: int = 1,
) -> Probe:
    """Enqueue the plan's first request to this endpoint, as a run would send it.

    With a campaign it is one of those that the campaign's first run waits for. `together`: how many
    are enqueued at the same time; many have less time each.
    """
    _require_endpoint(by, endpoint)
    if campaign is None:
        _require_room(by, endpoint.target.project)
    request = first_request(version.value(), together) | _credentials(by, endpoint, version)
    return Probe.objects.create(
        plan_version=version,
        campaign=campaign,
        endpoint=endpoint,
        request=request,
        requested_by=by.user,
    )


def _require_endpoint(by: Actor, endpoint: Endpoint) -> None:
    require(by, Action.RUN, endpoint.target.project)
    # Held, because a guess goes by itself when nothing answers there.
    if not Endpoint.objects.select_for_update(no_key=True).filter(pk=endpoint.pk).exists():
        raise Refused(f"{endpoint} was removed meanwhile. Add it to its target again.")
    if endpoint.archived_at or endpoint.target.archived_at:
        raise Refused(f"{endpoint} is archived. Requests can no longer be sent to it.")


def _require_room(by: Actor, project: Project) -> None:
    """Refuse one more request that somebody tries, while load is off or too many wait."""
    require_load_on()
    hold(project)  # so that two at once do not exceed the limit together
    unanswered = Probe.objects.filter(campaign=None, finished_at=None)
    for found, most, whose in (
        (unanswered.filter(requested_by=by.user), MOST_OF_ACCOUNT, "of yours"),
        (
            unanswered.filter(endpoint__target__project=project),
            MOST_OF_PROJECT,
            f"of {project.name}",
        ),
    ):
        if found.count() >= most:
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
    return {
        "protocol": PROTOCOL,
        "probe": True,
        **_what_is_tried(probe),
        "endpoint": probe.endpoint.frozen().to_order(),
        "secrets": {
            **secret_of(probe.endpoint),
            **secret_of_plan(probe.request.get("plan"), probe.endpoint),
        },
        "connection_mode": "new",
        "timeouts": probe.request.get("timeouts", TIMEOUTS),
        "policy": policy(networks_for(probe.endpoint.target.project_id, probe.endpoint.host)),
    }


def _what_is_tried(probe: Probe) -> dict[str, Any]:
    request = probe.request
    given = {name: request[name] for name in ("auth", "http_version") if name in request}
    if probe.endpoint.scheme not in WEBSOCKET_SCHEMES:
        return {"step": {name: request[name] for name in _STEP if name in request}, **given}
    exchange = {name: request[name] for name in ("path", "headers", "subprotocols")}
    return {"exchange": exchange, "message": request["message"], **given}


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
    guessed = Endpoint.objects.filter(probes=probe_id, probes__request__is_guess=True)
    # Whoever tries or saves the target holds it, and whoever uses the endpoint that: what they did
    # is there now, or begins after this.
    targets = Target.objects.filter(endpoints__in=guessed.values("pk"))
    list(targets.select_for_update(of=("self",), no_key=True).values_list("pk"))
    list(guessed.select_for_update(of=("self",)).order_by("pk").values_list("pk"))
    guessed.filter(tests=None).exclude(probes__in=_named()).delete()


def is_only_guessed(endpoint: Endpoint) -> bool:
    """Whether nobody has named or used it."""
    guessed = Endpoint.objects.filter(pk=endpoint.pk, tests=None, probes__isnull=False)
    return guessed.exclude(probes__in=_named()).exists()


def _named() -> QuerySet[Probe]:
    return Probe.objects.exclude(request__has_key="is_guess")


def _clean_step(request: dict[str, Any]) -> dict[str, Any]:
    """The step as a plan would store it; plans and probes share one reader."""
    spec = {"steps": [request], "load": {"model": "sequential", "requests": 1}}
    return Plan.from_json(spec).to_json()["steps"][0]


def _clean_opening(request: dict[str, Any]) -> dict[str, Any]:
    """The handshake as an exchange would store it, and the message; the method is always GET."""
    message = request.get("message")
    asked = {name: request[name] for name in ("path", "headers", "subprotocols")}
    if len(message or "") > MAX_MESSAGE:
        raise InvalidPlan({"message": f"Use at most {MAX_MESSAGE:,} characters."})
    spec = {"exchange": asked, "load": {"model": "sequential", "requests": 1}}
    cleaned = Plan.from_json(spec).to_json()["exchange"]
    return {"method": "GET", **{name: cleaned[name] for name in asked}, "message": message or None}


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
