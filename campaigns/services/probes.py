"""Trying one request: asked for on a page, done by a worker, kept with every phase timed."""

from typing import Any

from django.conf import settings
from django.utils import timezone

from campaigns import queue
from campaigns.domain import plan as domain_plan
from campaigns.domain.errors import Refused
from campaigns.domain.target import WEBSOCKET_SCHEMES
from campaigns.models import Endpoint, Probe
from campaigns.permissions import Action, Actor, require
from campaigns.services.certificates import chain_facts
from campaigns.services.client_keys import secret_of

PROTOCOL = 1
# Shorter than a plan's: somebody waits in front of the page.
TIMEOUTS = {"connect_s": 5, "tls_s": 5, "total_s": 15}
MAX_SNIPPET = 4000
MAX_HEADERS = 200


def request_probe(*, by: Actor, endpoint: Endpoint, request: dict[str, Any]) -> Probe:
    """Enqueues one attempt. `request` is a plan's step; raises InvalidPlan where it is wrong."""
    require(by, Action.RUN, endpoint.target.project)
    if endpoint.archived_at or endpoint.target.archived_at:
        raise Refused(f"{endpoint} is archived; nothing is sent there any more.")
    if endpoint.scheme in WEBSOCKET_SCHEMES:
        raise Refused(f"{endpoint} speaks WebSocket; try it with a plan of a few connections.")
    probe = Probe.objects.create(
        endpoint=endpoint, request=_clean_step(request), requested_by=by.user
    )
    queue.enqueue(queue.PROBE, [probe.pk])
    return probe


def order_of(probe: Probe) -> dict[str, Any]:
    """The order for the injector program; see docs/injector.md."""
    return {
        "protocol": PROTOCOL,
        "probe": True,
        "step": probe.request,
        "endpoint": probe.endpoint.frozen(),
        "secrets": secret_of(probe.endpoint),
        "connection_mode": "new",
        "timeouts": TIMEOUTS,
        "policy": {"allow": list(settings.ALLOWED_NETWORKS)},
    }


def finish_probe(*, probe_id: int, result: dict[str, Any]) -> None:
    """Keeps what the injector answered. A second answer to the same probe changes nothing."""
    Probe.objects.filter(pk=probe_id, finished_at=None).update(
        finished_at=timezone.now(), result=_kept(result)
    )


def _clean_step(request: dict[str, Any]) -> dict[str, Any]:
    """The step as a plan would store it: one reader for plans and probes."""
    spec = {"steps": [request], "load": {"model": "sequential", "requests": 1}}
    return domain_plan.Plan.from_json(spec).to_json()["steps"][0]


def _kept(result: dict[str, Any]) -> dict[str, Any]:
    """The result in a bounded size, with the certificates read."""
    return _without_nul(
        {
            **result,
            "snippet": str(result.get("snippet") or "")[:MAX_SNIPPET],
            "headers": list(result.get("headers") or [])[:MAX_HEADERS],
            "certificates": chain_facts(list(result.get("certificates_der_b64") or [])),
        }
    )


def _without_nul(value: Any) -> Any:
    """PostgreSQL stores no NUL, and a target may send one anywhere."""
    match value:
        case str():
            return value.replace("\x00", "�")
        case list():
            return [_without_nul(each) for each in value]
        case dict():
            return {_without_nul(key): _without_nul(each) for key, each in value.items()}
    return value
