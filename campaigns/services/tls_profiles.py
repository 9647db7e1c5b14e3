"""TLS profiles that a project names: create, change and delete one. Endpoints name a profile, so
what it offers is written once. A run has frozen what it offered, so no change and no deletion
changes what was measured."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from campaigns.domain.audit_events import AuditEvent
from campaigns.domain.edit_conflicts import Content, check_unchanged
from campaigns.domain.errors import InvalidFields, Refused
from campaigns.domain.json_reader import JsonReader
from campaigns.domain.plan.tls_options import OFFERED, TlsOptions, check_profile, read_tls_options
from campaigns.domain.plan.tls_profiles import PROFILES, TlsProfile
from campaigns.domain.typed_text import clean_name
from campaigns.domain.units import counted
from campaigns.models import Endpoint, OwnTlsProfile, Project
from campaigns.permissions import Action, Actor, require
from campaigns.services import audit
from campaigns.services.items import hold

MOST_PROFILES = 50  # of a project
_NAME_TAKEN = {"name": "The project already has a TLS profile with this name. Choose another."}


@transaction.atomic
def create_profile(*, by: Actor, project: Project, name: str, **offers: Any) -> OwnTlsProfile:
    """`offers` as in domain.plan.own_tls_profiles.check_profile. Raises InvalidFields."""
    require(by, Action.EDIT, project)
    hold(project)  # so that two at once do not exceed the limit together
    if project.tls_profiles.count() >= MOST_PROFILES:
        raise Refused(f"{project.name} has {MOST_PROFILES} TLS profiles. Delete one of them first.")
    return _save(OwnTlsProfile(project=project), check_profile(name, **offers))


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
    check_unchanged(opened, stored=content_of(held), wanted=content_of(checked))
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
    return _save(held, checked, endpoints)


def content_of(profile: OwnTlsProfile | TlsProfile) -> Content:
    """What `change_profile` replaces."""
    offers = TlsOptions.of(dict(profile.offers)).to_json()
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
        endpoint.tls = TlsOptions.of(endpoint.tls).resolved(held.value()).chosen()
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


def _save(
    profile: OwnTlsProfile, checked: TlsProfile, endpoints: Sequence[Endpoint] = ()
) -> OwnTlsProfile:
    """With the endpoints that name it."""
    profile.name, profile.offers = checked.name, dict(checked.offers)
    try:
        with transaction.atomic():
            profile.save()
            Endpoint.objects.bulk_update(endpoints, ["tls"])
    except IntegrityError:
        raise InvalidFields(_NAME_TAKEN) from None
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
