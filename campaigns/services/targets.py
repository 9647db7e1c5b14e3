"""Create and edit targets. Endpoints are identified by their origin and TLS profile."""

from collections.abc import Sequence
from itertools import chain, count
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.edit_conflicts import Content, check_unchanged
from campaigns.domain.errors import InvalidTarget, Refused
from campaigns.domain.plan.target import Origin, check_target
from campaigns.models import Endpoint, Project, Target
from campaigns.permissions import Action, Actor, require
from campaigns.services import audit
from campaigns.services.items import hold
from campaigns.services.probes import keep_guesses
from campaigns.services.tls_profiles import held_profiles
from campaigns.services.vault import keep_key

_NAME_TAKEN = {"name": "The project already has a target with this name. Choose another."}


def create_target(
    *,
    by: Actor,
    project: Project,
    name: str,
    environment: Sequence[Sequence[str]],
    endpoints: Sequence[dict[str, Any]],
    is_kept: bool = True,
) -> Target:
    """Raises InvalidTarget with a sentence for each invalid field. Not `is_kept`: its address is
    only tried, until `keep_target`."""
    require(by, Action.EDIT, project)
    return _save(by, Target(project=project, is_kept=is_kept), name, environment, endpoints)


@transaction.atomic
def edit_target(
    *,
    by: Actor,
    target: Target,
    name: str,
    environment: Sequence[Sequence[str]],
    endpoints: Sequence[dict[str, Any]],
    opened: str | None = None,
) -> Target:
    """Replace the description. A missing endpoint is deleted, or archived if it has tests.
    `opened`: what the form was opened with. Raises ChangedMeanwhile."""
    require(by, Action.EDIT, target.project)
    hold(target)
    if target.archived_at:
        raise Refused(f"{target.name} is archived and can no longer be edited.")
    target.is_kept = True
    return _save(by, target, name, environment, endpoints, opened)


def keep_target(target: Target) -> None:
    """Something is built on it, so it stays, and lists have it: under another name, if a target
    took its own meanwhile."""
    hold(target)
    if target.is_kept:
        return
    others = set(target.project.targets.filter(is_kept=True).values_list("name", flat=True))
    names = chain([target.name], (f"{target.name[:90]} ({number})" for number in count(2)))
    target.name = next(name for name in names if name not in others)
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
    named = ((row.get("tls") or {}).get("profile") for row in endpoints)
    profiles = held_profiles(target.project, {name for name in named if isinstance(name, str)})
    description = check_target(name, environment, endpoints, profiles)
    if opened is not None:
        wanted = _content(description.name, description.environment, description.origins)
        check_unchanged(opened, stored=content_of(target), wanted=wanted)
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
    known: dict[tuple, Endpoint] = {}
    for endpoint in target.endpoints.select_for_update().order_by("archived_at", "-pk"):
        known.setdefault(endpoint.described().key, endpoint)
    wanted = {origin.key for origin in origins}
    for endpoint in target.endpoints.filter(archived_at=None):
        if endpoint.described().key not in wanted:
            if endpoint.tests.exists():
                endpoint.archived_at = timezone.now()
                endpoint.save(update_fields=["archived_at"])
            else:
                if endpoint.client_key:
                    _note_key(by, endpoint, AuditEvent.SECRET_DELETED)
                endpoint.delete()
    for index, origin in enumerate(origins):
        endpoint = known.get(origin.key) or Endpoint(
            target=target, scheme=origin.scheme, host=origin.host, port=origin.port
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
    told = f"client key of {endpoint} of target {endpoint.target_id}: {endpoint.target}"
    audit.note(by, deed, told, project=endpoint.target.project)
