"""Reads of targets, endpoints and TLS profiles."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Case, OuterRef, Prefetch, Q, QuerySet, When

from campaigns.domain.plan.tls_options import command_options
from campaigns.models import Endpoint, OwnTlsProfile, Probe, Project, Run, Target
from campaigns.models.dbtime import db_now
from campaigns.permissions import Actor
from campaigns.queries.items import ItemFilter, count_of, narrowed


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
        target__project=project, target__archived_at=None, archived_at=None, tls__has_key="profile"
    )
    found: dict[str, tuple[Endpoint, ...]] = {}
    for each in endpoints.select_related("target").order_by("target__name", "pk"):
        name = each.tls["profile"]
        found[name] = (*found.get(name, ()), each)
    return found


# An agent that the site answers reports every 2 s.
HEARD_S = 20
# A worker that lives answers a check in a second or two.
ASKED_S = 30


def list_targets(actor: Actor, project: Project, by: ItemFilter) -> QuerySet[Target]:
    """The project's targets that the filters leave, with their endpoints in use."""
    found = with_counts(Target.objects.visible_to(actor).filter(project=project, is_kept=True))
    used = Prefetch(
        "endpoints", Endpoint.objects.filter(archived_at=None), to_attr="used_endpoints"
    )
    return narrowed(found.prefetch_related(used), by)


def with_counts(targets: QuerySet[Target]) -> QuerySet[Target]:
    """Each with the number of its finished runs."""
    return targets.annotate(
        n_runs=count_of(Run.objects.filter(target=OuterRef("pk"), state="done"))
    )


def recent_probes(target: Target):
    return (
        Probe.objects.filter(endpoint__target=target)
        .select_related("endpoint", "requested_by")
        .order_by("-pk")[:8]
    )


def archived_endpoints(target: Target):
    return target.endpoints.exclude(archived_at=None)


def is_watched(target: Target) -> bool:
    """Whether its next run is told what its machine does: an agent reports at this moment, or it
    has an exporter that is not known to tell nothing."""
    is_heard = live_agents(target).filter(is_heard=True).exists()
    return is_heard or target.exporters.filter(problem="").exists()


def live_agents(target: Target):
    """Those that are not revoked, each with whether it `is_heard`: it reports every few seconds."""
    heard = Q(heard_at__gt=db_now(-HEARD_S))
    return target.agents.filter(revoked_at=None).annotate(
        is_heard=Case(When(heard, then=True), default=False)
    )


def exporters_of(target: Target):
    """Each with whether it `is_asked`: a worker is about to answer what it offers."""
    asked = Q(asked_at__gt=db_now(-ASKED_S))
    return target.exporters.annotate(is_asked=Case(When(asked, then=True), default=False))
