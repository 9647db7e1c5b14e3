"""Reads of the TLS profiles that a project named."""

from collections.abc import Mapping
from dataclasses import dataclass

from campaigns.domain.plan.own_tls_profiles import command_options
from campaigns.models import Endpoint, OwnTlsProfile, Project
from campaigns.permissions import Actor


@dataclass(frozen=True, slots=True)
class UsedProfile:
    """A profile with the endpoints in use that name it."""

    profile: OwnTlsProfile
    endpoints: tuple[Endpoint, ...]

    @property
    def options(self) -> str:
        """What it offers, for the command line; "" where it sets nothing."""
        return command_options(self.profile.offers)


def list_profiles(actor: Actor, project: Project) -> list[UsedProfile]:
    """The project's own profiles, by name."""
    found = OwnTlsProfile.objects.visible_to(actor).filter(project=project)
    used = endpoints_by_profile(project)
    return [UsedProfile(each, used.get(each.name, ())) for each in found]


def endpoints_by_profile(project: Project) -> Mapping[str, tuple[Endpoint, ...]]:
    """Those in use, by the name of their profile; without those of the standard one."""
    endpoints = Endpoint.objects.filter(
        target__project=project,
        target__archived_at=None,
        archived_at=None,
        tls__has_key="profile",
    )
    found: dict[str, tuple[Endpoint, ...]] = {}
    for each in endpoints.select_related("target").order_by("target__name", "pk"):
        name = each.tls["profile"]
        found[name] = (*found.get(name, ()), each)
    return found
