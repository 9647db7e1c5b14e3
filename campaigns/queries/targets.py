"""Reads of targets and endpoints."""

from django.db.models import OuterRef, Prefetch, QuerySet

from campaigns.models import Endpoint, Probe, Project, Run, Target
from campaigns.permissions import Actor
from campaigns.queries.items import ItemFilter, count_of, narrowed


def list_targets(actor: Actor, project: Project, by: ItemFilter) -> QuerySet[Target]:
    """The project's targets that the filters leave, with their endpoints in use."""
    found = with_counts(Target.objects.visible_to(actor).filter(project=project))
    used = Prefetch("endpoints", endpoints_in_use(), to_attr="used_endpoints")
    return narrowed(found.prefetch_related(used), by)


def with_counts(targets: QuerySet[Target]) -> QuerySet[Target]:
    """Each with the number of its finished runs."""
    return targets.annotate(
        n_runs=count_of(Run.objects.filter(target=OuterRef("pk"), state="done"))
    )


def endpoints_in_use():
    return Endpoint.objects.filter(archived_at=None)


def recent_probes(target: Target, limit: int = 8):
    return (
        Probe.objects.filter(endpoint__target=target)
        .select_related("endpoint", "requested_by")
        .order_by("-pk")[:limit]
    )


def archived_endpoints(target: Target):
    return target.endpoints.exclude(archived_at=None)
