"""Show that hosts are a project's own: by a file that a worker finds there, or by an approval."""

import secrets
from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from campaigns.core import audit, queue
from campaigns.core.dbtime import db_now
from campaigns.core.permissions import Action, Actor, require, require_administrator
from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.errors import Refused
from campaigns.domain.plan.addresses import MOST_PORTS, HostCheck, host_key
from campaigns.domain.plan.target import Origin
from campaigns.domain.typed_text import storable
from campaigns.items.services import hold
from campaigns.models import Endpoint, HostClaim, HostPermit, Project, Target
from campaigns.operations.services.load_control import require_load_on
from campaigns.targets.queries import why_not_permitted
from campaigns.targets.services.targets import keep_target

MOST_CLAIMS = 200  # of a project
# A check is a request to somebody's server: one of a host in this time, and so many of a project.
CHECK_EVERY_S = 10
MOST_CHECKS_PER_MIN = 20
MAX_REASON = 300


def require_permitted(endpoints: Iterable[Endpoint]) -> None:
    """Raises Refused, with what to do, for an endpoint that load may not go to."""
    for endpoint in {each.pk: each for each in endpoints}.values():
        if why := why_not_permitted(endpoint):
            raise Refused(why)


@transaction.atomic
def claim_host(*, by: Actor, target: Target, host: str) -> HostClaim:
    """The project's claim on a host of this target, with its token; made when it is not there."""
    require(by, Action.EDIT, target.project)
    if not settings.PROOF_DAYS:
        raise Refused(
            "Proofs are not used here: load goes only to networks that the installation lists."
        )
    in_use = target.endpoints.filter(archived_at=None).values_list("host", flat=True)
    if target.archived_at or host_key(host) not in map(host_key, in_use):
        raise Refused(f"{host} is no host of {target.name}. Choose one of its endpoints.")
    keep_target(target)
    hold(target.project)  # so that two at once do not exceed the limit together
    claims = HostClaim.objects.filter(project=target.project)
    if claims.count() >= MOST_CLAIMS and not claims.filter(host=host_key(host)).exists():
        raise Refused(f"This project has tokens for {MOST_CLAIMS} hosts, and cannot have more.")
    claim, _ = HostClaim.objects.get_or_create(
        project=target.project, host=host_key(host), defaults={"token": secrets.token_urlsafe(32)}
    )
    return claim


@transaction.atomic
def check_host(*, by: Actor, claim: HostClaim) -> None:
    """Have a worker look for the file, and look up what the name stands for. Raises Refused when
    that was asked for a moment ago."""
    _require_right(by, claim.project)
    require_load_on()
    hold(claim.project)  # as for its claims
    of_project = HostClaim.objects.filter(project=claim.project, asked_at__gt=db_now(-60))
    if of_project.count() >= MOST_CHECKS_PER_MIN:
        raise Refused("This project has had many hosts checked. Try again in a minute.")
    if not _ask_worker(by, claim):
        raise Refused(f"A check was asked for a moment ago. Try again in {CHECK_EVERY_S} s.")


def _ask_worker(by: Actor, claim: HostClaim) -> bool:
    """Whether the last check was long enough ago for another."""
    rested = Q(asked_at=None) | Q(asked_at__lt=db_now(-CHECK_EVERY_S))
    asked = HostClaim.objects.filter(rested, pk=claim.pk).update(asked_at=Now(), asked_by=by.user)
    if asked:
        queue.enqueue(queue.OWNERSHIP, [claim.pk])
    return bool(asked)


def what_to_check(*, claim_id: int) -> tuple[HostClaim, list[Origin]] | None:
    """A claim whose check is not done yet, and where to look for its file, once for each port."""
    claim = HostClaim.objects.filter(_is_unanswered(), pk=claim_id).first()
    if claim is None:
        return None
    used = Endpoint.objects.filter(target__project=claim.project_id, archived_at=None)
    used = used.filter(target__archived_at=None, host__in=(claim.host, f"{claim.host}."))
    origins = {each.port: each.frozen().over_http() for each in used.order_by("port", "pk")}
    return claim, list(origins.values())[:MOST_PORTS]


def _is_unanswered() -> Q:
    return Q(asked_at__isnull=False) & (Q(checked_at=None) | Q(checked_at__lt=F("asked_at")))


@transaction.atomic
def finish_check(*, claim_id: int, asked_at: datetime, seen: HostCheck) -> bool:
    """Store what the worker saw, and a proof where it found the file. Of two answers to one request
    the first counts."""
    unanswered = HostClaim.objects.filter(_is_unanswered(), pk=claim_id, asked_at=asked_at)
    if not unanswered.update(checked_at=Now(), places=list(seen.places), faults=list(seen.faults)):
        return False
    claim = HostClaim.objects.select_related("project", "asked_by").get(pk=claim_id)
    if seen.proven:
        by = Actor(user=claim.asked_by)
        _give(claim, HostPermit.Kind.PROOF, by, places=list(seen.proven))
        audit.note(
            by, AuditEvent.HOST_PROVEN, _places_text(claim.host, seen.proven), project=claim.project
        )
    return True


def ask_approval(*, by: Actor, claim: HostClaim, reason: str) -> None:
    """Put the host on the administrators' list, and have its addresses looked up for them."""
    require(by, Action.EDIT, claim.project)
    if not (reason := storable(reason)[:MAX_REASON]):
        raise Refused("Enter why load may go there, such as who agreed.")
    with transaction.atomic():
        asked = HostClaim.objects.filter(pk=claim.pk, approval_asked_at=None).update(
            approval_asked_at=Now(),
            approval_asked_by=by.user.get_username(),
            approval_reason=reason,
            refused_at=None,
        )
        if not asked:
            raise Refused(f"{claim.host} is on the administrators' list already.")
        audit.note(by, AuditEvent.APPROVAL_ASKED, claim.host, project=claim.project)
    _ask_worker(by, claim)


@transaction.atomic
def approve(*, by: Actor, claim: HostClaim, seen: list[str], reason: str) -> None:
    """Permit the places that the administrator has `seen`. Raises Refused for others than now."""
    require_administrator(by)
    claim = HostClaim.objects.select_for_update(of=("self",)).get(pk=claim.pk)
    if not claim.places:
        raise Refused(f"No address of {claim.host} is known yet. Look it up, then approve it.")
    if claim.places != seen:
        raise Refused(f"{claim.host} has other addresses now. Look at them, then approve it.")
    _decide(claim, refused_at=None)
    reason = storable(reason)[:MAX_REASON]
    _give(claim, HostPermit.Kind.APPROVAL, by, places=claim.places, reason=reason)
    audit.note(by, AuditEvent.HOST_APPROVED, _places_text(claim.host, seen), project=claim.project)


@transaction.atomic
def refuse(*, by: Actor, claim: HostClaim, reason: str) -> None:
    """Take the host off the list, with a reason that its project reads."""
    require_administrator(by)
    if not (reason := storable(reason)[:MAX_REASON]):
        raise Refused("Say why, so that the project knows what to do.")
    claim = HostClaim.objects.select_for_update(of=("self",)).get(pk=claim.pk)
    _decide(claim, refused_at=Now(), refused_by=by.user.get_username(), refusal=reason)
    audit.note(by, AuditEvent.HOST_REFUSED, f"{claim.host}: {reason}", project=claim.project)


def _decide(claim: HostClaim, **said) -> None:
    waiting = HostClaim.objects.filter(pk=claim.pk).exclude(approval_asked_at=None)
    if not waiting.update(approval_asked_at=None, **said):
        raise Refused(f"{claim.host} no longer waits: another administrator has answered.")


@transaction.atomic
def withdraw(*, by: Actor, permit: HostPermit, reason: str) -> None:
    """The next run needs another one. The project's editors may do this, and administrators."""
    _require_right(by, permit.claim.project)
    if not (reason := storable(reason)[:MAX_REASON]):
        raise Refused("Say why it is withdrawn.")
    current = HostPermit.objects.filter(pk=permit.pk, withdrawn_at=None)
    if not _end(current, by, reason):
        raise Refused("It was withdrawn before.")
    told = f"{permit}: {reason}"
    audit.note(by, AuditEvent.PERMIT_WITHDRAWN, told, project=permit.claim.project)


def _require_right(by: Actor, project: Project) -> None:
    if not by.is_administrator:
        require(by, Action.EDIT, project)


def _give(claim: HostClaim, kind: str, by: Actor, **fields) -> None:
    """In place of the one before it."""
    HostClaim.objects.select_for_update().get(pk=claim.pk)
    _end(claim.permits.filter(kind=kind, withdrawn_at=None), by, f"A newer {kind} replaced it.")
    HostPermit.objects.create(claim=claim, kind=kind, given_by=_name(by), **fields)


def _end(permits, by: Actor, reason: str) -> int:
    return permits.update(withdrawn_at=Now(), withdrawn_by=_name(by), withdrawal=reason)


def _name(by: Actor) -> str:
    return by.user.get_username() if by.user else ""


def _places_text(host: str, places: Iterable[str]) -> str:
    return f"{host}: {', '.join(places)}"
