"""Create and edit targets. Endpoints are identified by their origin and TLS profile. TLS profiles
that a project names: create, change and delete one. Endpoints name a profile, so what it offers is
written once. A run has frozen what it offered, so no change and no deletion changes what was
measured.

Show that hosts are a project's own: by a file that a worker finds there, or by an approval."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from campaigns.core import audit, queue
from campaigns.core.database import db_now
from campaigns.core.permissions import Action, Actor, require, require_administrator
from campaigns.domain.errors import InvalidFields, InvalidTarget, Refused
from campaigns.domain.plan.addresses import MOST_PORTS, HostCheck, host_key
from campaigns.domain.plan.target import Origin, check_target
from campaigns.domain.plan.tls_options import (
    OFFERED,
    PROFILES,
    TlsOptions,
    TlsProfile,
    check_profile,
    read_tls_options,
)
from campaigns.domain.typed_text import Content, JsonReader, check_unchanged, clean_name, storable
from campaigns.domain.units import counted
from campaigns.items.services import free_name, hold
from campaigns.models import Endpoint, HostClaim, HostPermit, OwnTlsProfile, Project, Target
from campaigns.operations.models import AuditEvent
from campaigns.operations.services.load_control import require_load_on
from campaigns.probes.services.probes import keep_guesses
from campaigns.projects.services import keep_key
from campaigns.targets.queries import why_not_permitted

_NAME_TAKEN = {"name": "The project already has a target with this name. Choose another."}


def create_target(
    *, by: Actor, project: Project, is_kept: bool = True, **description: Any
) -> Target:
    """`description`: name, environment and endpoints. Raises InvalidTarget with a sentence for each
    invalid field. Not `is_kept`: its address is only tried, until `keep_target`."""
    require(by, Action.EDIT, project)
    return _save(by, Target(project=project, is_kept=is_kept), **description)


@transaction.atomic
def edit_target(
    *, by: Actor, target: Target, opened: str | None = None, **description: Any
) -> Target:
    """Replace the description. A missing endpoint is deleted, or archived if it has tests.
    `opened`: what the form was opened with. Raises ChangedMeanwhile."""
    require(by, Action.EDIT, target.project)
    hold(target)
    if target.archived_at:
        raise Refused(f"{target.name} is archived and can no longer be edited.")
    target.is_kept = True
    return _save(by, target, **description, opened=opened)


def keep_target(target: Target) -> None:
    """Something is built on it, so it stays, and lists have it: under another name, if a target
    took its own meanwhile."""
    hold(target)
    if target.is_kept:
        return
    others = set(target.project.targets.filter(is_kept=True).values_list("name", flat=True))
    target.name = free_name(target.name, others)
    target.is_kept = True
    target.save(update_fields=["name", "is_kept"])


def content_of(target: Target) -> Content:
    """What `edit_target` replaces."""
    origins = [each.described() for each in target.endpoints.filter(archived_at=None)]
    return _content(target.name, target.environment, origins)


def _content(name: str, environment: Sequence[Sequence[str]], origins: Sequence[Origin]) -> Content:
    endpoints = [
        [*each.key, each.verify_tls, each.tls.chosen()]
        for each in sorted(origins, key=lambda origin: origin.key)
    ]
    return {"name": name, "endpoints": endpoints, "environment": environment}


@transaction.atomic
def _save(
    by: Actor,
    target: Target,
    name: str,
    environment: Sequence[Sequence[str]],
    endpoints: Sequence[dict[str, Any]],
    opened: str | None = None,
) -> Target:
    # As given, so whatever is no name is left to the check.
    profile_names = ((row.get("tls") or {}).get("profile") for row in endpoints)
    profiles = held_profiles(
        target.project, {name for name in profile_names if isinstance(name, str)}
    )
    description = check_target(name, environment, endpoints, profiles)
    if opened is not None:
        content = _content(description.name, description.environment, description.origins)
        check_unchanged(opened, stored=content_of(target), wanted=content)
    target.name = description.name
    target.environment = [list(fact) for fact in description.environment]
    try:
        with transaction.atomic():
            target.save()
            _keep_only(by, target, description.origins)
    except IntegrityError:
        raise InvalidTarget(_NAME_TAKEN) from None
    return target


def _keep_only(by: Actor, target: Target, origins: Sequence[Origin]) -> None:
    """An archived endpoint that is added again is restored with its history."""
    by_key: dict[tuple, Endpoint] = {}
    for endpoint in target.endpoints.select_for_update().order_by("archived_at", "-pk"):
        by_key.setdefault(endpoint.described().key, endpoint)
    keys = {origin.key for origin in origins}
    for endpoint in target.endpoints.filter(archived_at=None):
        if endpoint.described().key not in keys:
            if endpoint.tests.exists():
                endpoint.archived_at = timezone.now()
                endpoint.save(update_fields=["archived_at"])
            else:
                if endpoint.client_key:
                    _note_key(by, endpoint, AuditEvent.SECRET_DELETED)
                endpoint.delete()
    for index, origin in enumerate(origins):
        endpoint = by_key.get(origin.key) or Endpoint(
            target=target,
            scheme=origin.scheme,
            host=origin.host,
            port=origin.port,
            address=origin.address,
        )
        endpoint.verify_tls = origin.verify_tls
        endpoint.tls = origin.tls.chosen()
        key = endpoint.client_key
        fault = keep_key(endpoint, origin)
        if fault:
            raise InvalidTarget({f"endpoints.{index}.client_key_pem": fault})
        if endpoint.client_key != key:
            deed = AuditEvent.SECRET_STORED if endpoint.client_key else AuditEvent.SECRET_DELETED
            _note_key(by, endpoint, deed)
        endpoint.archived_at = None
        endpoint.save()
    keep_guesses(target)


def _note_key(by: Actor, endpoint: Endpoint, deed: AuditEvent) -> None:
    entry = f"client key of {endpoint} of target {endpoint.target_id}: {endpoint.target}"
    audit.note(by, deed, entry, project=endpoint.target.project)


MOST_PROFILES = 50  # of a project
_PROFILE_NAME_TAKEN = {
    "name": "The project already has a TLS profile with this name. Choose another."
}


@transaction.atomic
def create_profile(*, by: Actor, project: Project, name: str, **offers: Any) -> OwnTlsProfile:
    """`offers` as in domain.plan.own_tls_profiles.check_profile. Raises InvalidFields."""
    require(by, Action.EDIT, project)
    hold(project)  # so that two at once do not exceed the limit together
    if project.tls_profiles.count() >= MOST_PROFILES:
        raise Refused(f"{project.name} has {MOST_PROFILES} TLS profiles. Delete one of them first.")
    return _save_profile(OwnTlsProfile(project=project), check_profile(name, **offers))


@transaction.atomic
def change_profile(
    *, by: Actor, profile: OwnTlsProfile, name: str, opened: str | None = None, **offers: Any
) -> OwnTlsProfile:
    """Campaigns that start from now on offer the new values on every endpoint that names it. A
    new name is written to these endpoints. `opened`: what the form was opened with. Raises
    ChangedMeanwhile, and InvalidFields, also where an endpoint's own options do not go with the new
    values."""
    require(by, Action.EDIT, profile.project)
    row = OwnTlsProfile.objects.select_for_update().filter(pk=profile.pk).first()
    if row is None:
        raise Refused(f"{profile.name} has been deleted.")
    profile_values = check_profile(name, **offers)
    check_unchanged(
        opened, stored=content_of_profile(row), wanted=content_of_profile(profile_values)
    )
    endpoints = list(_naming(row).select_related("target").select_for_update(of=("self",)))
    for each in _in_use(endpoints):
        reader = JsonReader({**each.tls, "profile": profile_values.name})
        read_tls_options(reader, {profile_values.name: profile_values})
        for option, sentence in reader.errors.items():
            where = f"{each.target.name}, {each.origin}"
            fault = f"On {where}, which has options of its own: {sentence}"
            raise InvalidFields({option if option in profile_values.offers else "name": fault})
    for endpoint in endpoints:
        endpoint.tls = {**endpoint.tls, "profile": profile_values.name}
    return _save_profile(row, profile_values, endpoints)


def content_of_profile(profile: OwnTlsProfile | TlsProfile) -> Content:
    """What `change_profile` replaces."""
    offers = TlsOptions(**dict(profile.offers)).to_json()
    return {"name": profile.name, **{name: offers[name] for name in OFFERED}}


@transaction.atomic
def delete_profile(*, by: Actor, profile: OwnTlsProfile) -> None:
    """Refused while an endpoint in use names it. Archived endpoints get what it offers as options
    of their own, beside its name, by which their results are known."""
    require(by, Action.EDIT, profile.project)
    row = OwnTlsProfile.objects.select_for_update().filter(pk=profile.pk).first()
    if row is None:
        return
    naming = list(_naming(row).select_related("target").select_for_update(of=("self",)))
    if places := _in_use(naming):
        where = sorted({f"{each.target.name} ({each.origin})" for each in places})
        more = f" and {len(where) - 3} more" if len(where) > 3 else ""
        users = f"{counted(len(places), 'endpoints')}: {', '.join(where[:3])}{more}"
        raise Refused(f"{row.name} is used by {users}. Choose another profile there first.")
    for endpoint in naming:
        endpoint.tls = TlsOptions(**endpoint.tls).resolved(row.value()).chosen()
    Endpoint.objects.bulk_update(naming, ["tls"])
    label = f"TLS profile {row.pk}: {row.name}"
    audit.note(by, AuditEvent.DELETED, label, project=row.project)
    row.delete()


def held_profiles(project: Project, names: Iterable[str]) -> Mapping[str, TlsProfile]:
    """The project's own profiles of these names, which stay as they are until the transaction that
    writes endpoints with them has ended."""
    own = {spelling for name in names for spelling in (name, clean_name(name))} - set(PROFILES)
    if not own:
        return {}
    profiles = OwnTlsProfile.objects.select_for_update().filter(project=project, name__in=own)
    return {each.name: each.value() for each in profiles.order_by("pk")}


def _save_profile(
    profile: OwnTlsProfile, checked: TlsProfile, endpoints: Sequence[Endpoint] = ()
) -> OwnTlsProfile:
    """With the endpoints that name it."""
    profile.name, profile.offers = checked.name, dict(checked.offers)
    try:
        with transaction.atomic():
            profile.save()
            Endpoint.objects.bulk_update(endpoints, ["tls"])
    except IntegrityError:
        raise InvalidFields(_PROFILE_NAME_TAKEN) from None
    return profile


def _naming(profile: OwnTlsProfile) -> QuerySet[Endpoint]:
    """Those that name the profile, archived ones too."""
    endpoints = Endpoint.objects.filter(
        target__project=profile.project_id, tls__profile=profile.name
    )
    return endpoints.order_by("pk")


def _in_use(endpoints: Iterable[Endpoint]) -> list[Endpoint]:
    """Those that a campaign can be made of."""
    return [each for each in endpoints if not (each.archived_at or each.target.archived_at)]


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
    is_due = Q(asked_at=None) | Q(asked_at__lt=db_now(-CHECK_EVERY_S))
    n_changed = HostClaim.objects.filter(is_due, pk=claim.pk).update(
        asked_at=Now(), asked_by=by.user
    )
    if n_changed:
        queue.enqueue(queue.OWNERSHIP, [claim.pk])
    return bool(n_changed)


def what_to_check(*, claim_id: int) -> tuple[HostClaim, list[Origin]] | None:
    """A claim whose check is not done yet, and where to look for its file, once for each port."""
    claim = HostClaim.objects.filter(_is_unanswered(), pk=claim_id).first()
    if claim is None:
        return None
    endpoints = Endpoint.objects.filter(target__project=claim.project_id, archived_at=None)
    endpoints = endpoints.filter(target__archived_at=None, host__in=(claim.host, f"{claim.host}."))
    origins = {each.port: each.frozen().over_http() for each in endpoints.order_by("port", "pk")}
    return claim, list(origins.values())[:MOST_PORTS]


def _is_unanswered() -> Q:
    return Q(asked_at__isnull=False) & (Q(checked_at=None) | Q(checked_at__lt=F("asked_at")))


@transaction.atomic
def finish_check(*, claim_id: int, asked_at: datetime, seen: HostCheck) -> bool:
    """Store what the worker saw, and a proof where it found the file. Of two answers to one request
    the first counts."""
    rows = HostClaim.objects.filter(_is_unanswered(), pk=claim_id, asked_at=asked_at)
    if not rows.update(checked_at=Now(), places=list(seen.places), faults=list(seen.faults)):
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
        n_changed = HostClaim.objects.filter(pk=claim.pk, approval_asked_at=None).update(
            approval_asked_at=Now(),
            approval_asked_by=by.user.get_username(),
            approval_reason=reason,
            refused_at=None,
        )
        if not n_changed:
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


def _decide(claim: HostClaim, **values) -> None:
    waiting = HostClaim.objects.filter(pk=claim.pk).exclude(approval_asked_at=None)
    if not waiting.update(approval_asked_at=None, **values):
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
    entry = f"{permit}: {reason}"
    audit.note(by, AuditEvent.PERMIT_WITHDRAWN, entry, project=permit.claim.project)


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
