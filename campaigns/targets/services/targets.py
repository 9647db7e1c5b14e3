"""Create and edit targets. Endpoints are identified by their origin and TLS profile. TLS profiles
that a project names: create, change and delete one. Endpoints name a profile, so what it offers is
written once. A run has frozen what it offered, so no change and no deletion changes what was
measured."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from campaigns.core import audit
from campaigns.core.permissions import Action, Actor, require
from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.edit_conflicts import Content, check_unchanged
from campaigns.domain.errors import InvalidFields, InvalidTarget, Refused
from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.target import Origin, check_target
from campaigns.domain.plan.tls_options import (
    OFFERED,
    PROFILES,
    TlsOptions,
    TlsProfile,
    check_profile,
    read_tls_options,
)
from campaigns.domain.typed_text import clean_name
from campaigns.domain.units import counted
from campaigns.items.services import hold
from campaigns.models import Endpoint, OwnTlsProfile, Project, Target
from campaigns.probes.services.probes import keep_guesses
from campaigns.projects.services.vault import keep_key

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
    told = f"client key of {endpoint} of target {endpoint.target_id}: {endpoint.target}"
    audit.note(by, deed, told, project=endpoint.target.project)


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
    held = OwnTlsProfile.objects.select_for_update().filter(pk=profile.pk).first()
    if held is None:
        raise Refused(f"{profile.name} has been deleted.")
    checked = check_profile(name, **offers)
    check_unchanged(opened, stored=content_of_profile(held), wanted=content_of_profile(checked))
    endpoints = list(_naming(held).select_related("target").select_for_update(of=("self",)))
    for each in _in_use(endpoints):
        reader = JsonReader({**each.tls, "profile": checked.name})
        read_tls_options(reader, {checked.name: checked})
        for option, sentence in reader.errors.items():
            where = f"{each.target.name}, {each.origin}"
            told = f"On {where}, which has options of its own: {sentence}"
            raise InvalidFields({option if option in checked.offers else "name": told})
    for endpoint in endpoints:
        endpoint.tls = {**endpoint.tls, "profile": checked.name}
    return _save_profile(held, checked, endpoints)


def content_of_profile(profile: OwnTlsProfile | TlsProfile) -> Content:
    """What `change_profile` replaces."""
    offers = TlsOptions(**dict(profile.offers)).to_json()
    return {"name": profile.name, **{name: offers[name] for name in OFFERED}}


@transaction.atomic
def delete_profile(*, by: Actor, profile: OwnTlsProfile) -> None:
    """Refused while an endpoint in use names it. Archived endpoints get what it offers as options
    of their own, beside its name, by which their results are known."""
    require(by, Action.EDIT, profile.project)
    held = OwnTlsProfile.objects.select_for_update().filter(pk=profile.pk).first()
    if held is None:
        return
    naming = list(_naming(held).select_related("target").select_for_update(of=("self",)))
    if used := _in_use(naming):
        raise Refused(_used_by(held, used))
    for endpoint in naming:
        endpoint.tls = TlsOptions(**endpoint.tls).resolved(held.value()).chosen()
    Endpoint.objects.bulk_update(naming, ["tls"])
    label = f"TLS profile {held.pk}: {held.name}"
    audit.note(by, AuditEvent.DELETED, label, project=held.project)
    held.delete()


def held_profiles(project: Project, names: Iterable[str]) -> Mapping[str, TlsProfile]:
    """The project's own profiles of these names, which stay as they are until the transaction that
    writes endpoints with them has ended."""
    own = {spelling for name in names for spelling in (name, clean_name(name))} - set(PROFILES)
    if not own:
        return {}
    held = OwnTlsProfile.objects.select_for_update().filter(project=project, name__in=own)
    return {each.name: each.value() for each in held.order_by("pk")}


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
    named = Endpoint.objects.filter(target__project=profile.project_id, tls__profile=profile.name)
    return named.order_by("pk")


def _in_use(endpoints: Iterable[Endpoint]) -> list[Endpoint]:
    """Those that a campaign can be made of."""
    return [each for each in endpoints if not (each.archived_at or each.target.archived_at)]


def _used_by(profile: OwnTlsProfile, used: list[Endpoint]) -> str:
    where = sorted({f"{each.target.name} ({each.origin})" for each in used})
    more = f" and {len(where) - 3} more" if len(where) > 3 else ""
    users = f"{counted(len(used), 'endpoints')}: {', '.join(where[:3])}{more}"
    return f"{profile.name} is used by {users}. Choose another profile there first."
